"""The statistics of datasets (the traceability thesis, table 4.1), and checks of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from redraft.evaluators.base import statements_of
from redraft.evaluators.reference.questions import evenly_spread
from redraft.evaluators.statistics import measures
from redraft.lab.experiments.data.read import DataContents, datasets_of_form
from redraft.lab.experiments.experiment import Row, table
from redraft.report.tables import Report, Table, figure, mean, number, plain
from redraft.text.tokens import Tokenizer, tokenizer_named
from redraft.text.words import count, has_words

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
_MAX_SHOWN = 100


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
    settings = {"files": [contents.path for contents in found], "sample": sample, "tokenizer": tokenizer.name}
    return Report("data", "Statistics of sets", tuple(about), settings, (statistics,), items, tuple(lines))


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


@table(
    "files",
    "Contents of the files",
    "The fields of the first entry tell the form; sets lists those that are published in it. Known: whether the SHA-256"
    " is that of a published file.",
    ("file", "form", "sets", "documents", "summaries", "unreadable", "odd", "bytes", "known", "SHA-256"),
    lambda found: f"Based on {sum(len(one.examples) + len(one.troubles) for one in found)} entries.",
)
def _files(found: Sequence[DataContents]) -> Iterator[Row]:
    for contents in found:
        sets = datasets_of_form(contents.form)
        known = [name for dataset in sets for name, told in dataset.checksums.items() if told == contents.sha256]
        same = [
            f"{dataset.name} {name}"
            for dataset in sets
            for name, n in dataset.published.items()
            if n == len(contents.examples)
        ]
        said = f"the same as {known[0]}" if known else f"as many as {', '.join(same)}" if same else None
        counts = (
            len(contents.examples),
            len(list(contents.summaries())),
            len(contents.troubles),
            len(contents.oddities),
            contents.bytes,
        )
        yield (
            contents.path,
            contents.form or None,
            ", ".join(dataset.name for dataset in sets) or None,
            *counts,
            said,
            contents.sha256,
        )


def check(found: Sequence[DataContents]) -> Report:
    """Return a report of what the files hold, what cannot be read, and what is odd."""
    unreadable = _list_of("unreadable", "Unreadable entries", found, [contents.troubles for contents in found])
    odd = _list_of("oddities", "Oddities, which may be intended", found, [contents.oddities for contents in found])
    about = [f"{plain(contents.path)}: {_line(contents)}" for contents in found]
    lines = [*about[:9], *([f"and {len(found) - 9} more files"] if len(found) > 9 else [])]
    settings = {"files": [contents.path for contents in found]}
    tables = (_files(found), unreadable, odd)
    return Report("data-check", "File check", tuple(about), settings, tables, [], tuple(lines))


def _line(one: DataContents) -> str:
    summaries = len(list(one.summaries()))
    return (
        f"{count(len(one.examples), 'document')}, {count(summaries, 'summary')},"
        f" {count(len(one.troubles), 'entry')} that cannot be read, {count(len(one.oddities), 'oddity')};"
        f" form: {one.form or 'not known'}"
    )


def _list_of(name: str, title: str, found: Sequence[DataContents], lists: Sequence[Sequence[Any]]) -> Table:
    rows = [
        (contents.path, each.place, each.message) for contents, some in zip(found, lists, strict=True) for each in some
    ]
    left = len(rows) - _MAX_SHOWN
    basis = f"Based on {len(rows)} of them" + (f"; the first {_MAX_SHOWN} are shown." if left > 0 else ".")
    caption = "Each with its place in the file."
    return Table(name, title, caption, basis, ("file", "place", "what"), tuple(rows[:_MAX_SHOWN]))
