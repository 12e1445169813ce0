"""The statistics of datasets (the traceability thesis, table 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from redraft.evaluators.base import statements_of
from redraft.evaluators.reference.questions import evenly_spread
from redraft.evaluators.statistics import measures
from redraft.lab.experiments.data.read import DataContents
from redraft.lab.experiments.legacy import Row, table
from redraft.report.tables import Report, figure, mean, number, plain
from redraft.text.tokens import Tokenizer, tokenizer_named
from redraft.text.words import has_words

VOCABULARY = "cl100k_base"
_FIGURES: tuple[tuple[str, Callable[[dict[str, Any]], Any]], ...] = (
    ("CRT", lambda one: one["compression"]["tokens"]),
    ("CRS", lambda one: one["compression"]["sentences"]),
    ("EC", lambda one: one["extractive"]["coverage"]),
    ("ED", lambda one: one["extractive"]["density"]),
    ("redundancy", lambda one: one["redundancy"]),
    ("uniformity", lambda one: one["uniformity"]),
    ("words of a document", lambda one: one["source"]["words"]),
    ("words of a summary", lambda one: one["summary"]["words"]),
    ("tokens of a document", lambda one: one["source"]["tokens"]),
    ("tokens of a summary", lambda one: one["summary"]["tokens"]),
)
_NAMES = tuple(name for name, _ in _FIGURES)


@table(
    "statistics",
    "Statistics of sets (the traceability thesis, table 4.1)",
    "Means over summaries, each compared with its document: CRT and CRS are how many times longer the document is, in"
    " tokens and in sentences; EC and ED are the share of the summary that is copied, and the mean length of what is"
    " copied, for each of its words; redundancy is how alike its sentences are, uniformity how evenly the content of"
    " the summary is spread over the document.",
    ("file", "form", "documents", "summaries", *_NAMES),
    lambda found, items, tokenizer: (
        f"Based on {len(items)} summaries of {len({(item['file'], item['place']) for item in items})} of"
        f" {sum(len(one.examples) for one in found)} documents. Tokens are counted by {tokenizer.name}."
    ),
)
def _statistics(found: Sequence[DataContents], items: Sequence[dict[str, Any]], _: Tokenizer) -> Iterator[Row]:
    for contents in found:
        own = [item for item in items if item["file"] == contents.path]
        documents = len({item["place"] for item in own})
        yield (
            contents.path,
            contents.form,
            documents,
            len(own),
            *(mean([item[name] for item in own]) for name in _NAMES),
        )


@table(
    "unreadable",
    "Entries that cannot be read",
    "Each with its place in the file.",
    ("file", "place", "what"),
    lambda found: f"Based on {sum(len(one.examples) + len(one.troubles) for one in found)} entries.",
)
def _unreadable(found: Sequence[DataContents]) -> Iterator[Row]:
    for contents in found:
        yield from ((contents.path, problem.place, problem.message) for problem in contents.troubles)


def description(found: Sequence[DataContents], sample: int | None) -> Report:
    """Return table 4.1 of some files, over all their documents or an evenly spread sample of each file."""
    tokenizer = tokenizer_named(VOCABULARY)
    items = [item for contents in found for item in _measured(contents, sample, tokenizer)]
    statistics = _statistics(found, items, tokenizer)
    about = [f"{plain(contents.path)}: {contents.form or 'unknown form'}" for contents in found]
    lines = [
        f"{plain(str(record['file']))}: {record['summaries']} summaries, CRT {figure(number(record['CRT']))},"
        f" uniformity {figure(number(record['uniformity']))}"
        for record in statistics.records[:8]
    ]
    troubles = _unreadable(found)
    settings = {"files": [contents.path for contents in found], "sample": sample, "tokenizer": tokenizer.name}
    return Report("data", "Statistics of sets", tuple(about), settings, (statistics, troubles), items, tuple(lines))


def _measured(one: DataContents, sample: int | None, tokenizer: Tokenizer) -> Iterator[dict[str, Any]]:
    for example in evenly_spread(one.examples, sample or len(one.examples)):
        if not has_words(example.text):
            continue
        long = tokenizer.count(example.text)
        for place, summary in enumerate(example.summaries, 1):
            texts = [statement.sentence for statement in statements_of(summary.text)]
            if not texts:
                continue
            said = measures(example.text, summary.text, texts, (long, tokenizer.count(summary.text)))
            head = {"file": one.path, "place": example.place, "id": example.id, "summary": place}
            yield {**head, **{name: read(said) for name, read in _FIGURES}}
