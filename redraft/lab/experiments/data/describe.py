"""The statistics of datasets (the traceability thesis, table 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from redraft.evaluators.base import statements_of
from redraft.evaluators.reference.questions import evenly_spread
from redraft.evaluators.statistics import measures
from redraft.lab.experiments.data.read import DataContents
from redraft.lab.experiments.frames import as_table, frame_of
from redraft.report.tables import Report, figure, mean, number, plain
from redraft.text.tokens import Tokenizer, tokenizer_named
from redraft.text.words import has_words

VOCABULARY = "cl100k_base"
_FIGURES: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "CRT": lambda measured: measured["compression"]["tokens"],
    "CRS": lambda measured: measured["compression"]["sentences"],
    "EC": lambda measured: measured["extractive"]["coverage"],
    "ED": lambda measured: measured["extractive"]["density"],
    "redundancy": lambda measured: measured["redundancy"],
    "uniformity": lambda measured: measured["uniformity"],
    "words of a document": lambda measured: measured["source"]["words"],
    "words of a summary": lambda measured: measured["summary"]["words"],
    "tokens of a document": lambda measured: measured["source"]["tokens"],
    "tokens of a summary": lambda measured: measured["summary"]["tokens"],
}


def _statistics(contents: DataContents, items: Sequence[dict[str, Any]]) -> dict[str, object]:
    """Return the means over the summaries of a file."""
    of_file = [item for item in items if item["file"] == contents.path]
    counts = {"documents": len({item["place"] for item in of_file}), "summaries": len(of_file)}
    means = {name: mean([item[name] for item in of_file]) for name in _FIGURES}
    return {"file": contents.path, "form": contents.form, **counts, **means}


def description(files: Sequence[DataContents], sample: int | None) -> Report:
    """Return table 4.1 of some files, over all their documents or an evenly spread sample of each file."""
    tokenizer = tokenizer_named(VOCABULARY)
    items = [item for contents in files for item in _measured(contents, sample, tokenizer)]
    read = sum(len(contents_of_file.examples) for contents_of_file in files)
    measured = len({(item["file"], item["place"]) for item in items})
    basis = f"Based on {len(items)} summaries of {measured} of {read} documents."
    frame = frame_of([_statistics(contents, items) for contents in files])
    statistics = as_table("data", "statistics", frame, basis, tokenizer=tokenizer.name)
    problems = frame_of(
        [
            {"file": contents.path, "place": problem.place, "what": problem.message}
            for contents in files
            for problem in contents.troubles
        ],
        ("file", "place", "what"),
    )
    entries = f"Based on {read + len(problems)} entries."
    about = [f"{plain(contents.path)}: {contents.form or 'unknown form'}" for contents in files]
    lines = [
        f"{plain(str(record['file']))}: {record['summaries']} summaries, CRT {figure(number(record['CRT']))},"
        f" uniformity {figure(number(record['uniformity']))}"
        for record in statistics.records[:8]
    ]
    troubles = as_table("data", "unreadable", problems, entries)
    settings = {"files": [contents.path for contents in files], "sample": sample, "tokenizer": tokenizer.name}
    return Report("data", "Statistics of sets", tuple(about), settings, (statistics, troubles), items, tuple(lines))


def _measured(contents: DataContents, sample: int | None, tokenizer: Tokenizer) -> Iterator[dict[str, Any]]:
    for example in evenly_spread(contents.examples, sample or len(contents.examples)):
        if not has_words(example.text):
            continue
        long = tokenizer.count(example.text)
        for place, summary in enumerate(example.summaries, 1):
            texts = [statement.sentence for statement in statements_of(summary.text)]
            if not texts:
                continue
            measured = measures(example.text, summary.text, texts, (long, tokenizer.count(summary.text)))
            head = {"file": contents.path, "place": example.place, "id": example.id, "summary": place}
            yield {**head, **{name: read(measured) for name, read in _FIGURES.items()}}
