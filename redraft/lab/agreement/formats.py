"""The annotation formats of public datasets (LongSumEval's among them), and JSON Lines for your own, as data.

A format says what the columns of its file are called. Where a file is more than a table, a function splits an entry
into rows, or makes a row with the columns `sentences`, `labels`, `votes` and `people` (the figures by field).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from redraft.domain import content_id
from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import sentences_of
from redraft.lab.agreement.annotations import (
    MARKS,
    entries_of,
    lists_every_sentence,
    marked_sentences,
    match_to_sentences,
)
from redraft.lab.agreement.people import (
    Dataset,
    FileEntry,
    FileProblem,
    HumanItem,
    Library,
    UnreadableError,
    as_object,
    list_at,
    number,
    optional_text,
    read_entries,
    read_texts_by_id,
    text_at,
)
from redraft.lab.declared import declared
from redraft.report.tables import mean
from redraft.text.sanitizer import clean, one_line

Row = Mapping[str, Any]
LABEL = "label"
_OWN, _RATED_BY_SEVERAL = "jsonl", "tldr"


@dataclass(frozen=True, slots=True)
class Format:
    """An annotation format, as `formats.toml` declares it, and the title under which its figures are reported."""

    name: str
    title: str
    fields: Mapping[str, float]
    """What people rated, with the rating of a summary without errors; 0 if they were asked something else."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns of the document, its source, the summary, its system and an id, by these names, where others."""
    figures: Mapping[str, str] = field(default_factory=dict)
    """The columns of people's figures by field. Default: those of the same name."""
    only: Sequence[str] = ()
    """A column and its value in the rows that belong to the set."""
    beside: Sequence[str] = ()
    lacking: str = "it has no annotations"
    """What is said of a row without figures."""

    def read(self, path: str, documents: str | None = None) -> Dataset:
        """Return all items of a file with their documents; what cannot be read is reported and skipped."""
        place = Path(path).expanduser()
        neighbours = (place.with_name(name.format(stem=place.name.partition(".")[0])) for name in self.beside)
        neighbour = next((str(file) for file in neighbours if file != place and file.is_file()), None)
        library = read_texts_by_id(documents or neighbour)
        items: list[HumanItem] = []
        problems: list[FileProblem] = []
        for row in self._rows(path):
            try:
                if isinstance(row, FileProblem):
                    problems.append(row)
                elif not self.only or text_at(as_object(row.content), self.only[0]).casefold() == self.only[1]:
                    items.append(self._item(row, library))
            except UnreadableError as error:
                problems.append(FileProblem(row.place, str(error)))
        if not items:
            first = f": {problems[0].place}: {problems[0].message}" if problems else ""
            raise UsageError(
                f"nothing in it can be read as {self.name}{first}",
                place=path,
                hint="name its format with --format; `redraft help agree with` lists them",
            )
        fields = dict(self.fields)
        if self.name == _OWN:
            # A field that only has 0 and 1 says whether a summary is right.
            names = dict.fromkeys(name for item in items for name in item.people)
            fields = {name: float({item.people.get(name, 0.0) for item in items} <= {0.0, 1.0}) for name in names}
        items = _merged(items) if self.name == _RATED_BY_SEVERAL else items
        return Dataset(f"{self.title} ({one_line(place.name)})", fields, tuple(items), tuple(problems))

    def _rows(self, path: str) -> Iterator[FileEntry | FileProblem]:
        for entry in read_entries(path):
            if isinstance(entry, FileProblem) or self.name not in _PARTS:
                yield entry
                continue
            try:
                yield from _PARTS[self.name](FileEntry(entry.place, as_object(entry.content)))
            except UnreadableError as error:
                yield FileProblem(entry.place, str(error))

    def _item(self, entry: FileEntry, library: Library) -> HumanItem:
        """Return the item of a row; raise if it has no summary, no figures, or no document."""
        content = as_object(entry.content)
        row = _flat(_ROWS[self.name](content, library) if self.name in _ROWS else content)
        sentences, votes = tuple(row.get("sentences") or ()), row.get("votes") or ()
        if sentences and not all(votes):
            raise UnreadableError("one of the sentences has no vote")
        labels = tuple(row.get("labels") or ([2 * sum(vote) > len(vote) for vote in votes] if sentences else ()))
        if len(labels) != len(sentences):
            raise UnreadableError(f"there are {len(labels)} labels for {len(sentences)} sentences")
        values = {name: number(row.get(self.figures.get(name, name))) for name in self.fields}
        figures = row.get("people") or {name: value for name, value in values.items() if value is not None}
        if not figures and (given_labels := [label for label in labels if label is not None]):
            figures = {next(iter(self.fields)): fmean(given_labels)}
        if not figures:
            raise UnreadableError(self.lacking)
        columns = {name: (name,) for name in ("document", "source", "summary", "system")} | dict(self.columns)
        document, source = (optional_text(row, *columns[name]) for name in ("document", "source"))
        source = clean(source).strip()
        if source in library:
            document, source = document or source, library[source]
        # The ids of GovReport have a beginning that its documents' own file may lack.
        source = source or library.get(document) or library.get(document.removeprefix("ID_"), "")
        if not source and document:
            missing = f"the document {one_line(document, 60)!r} is missing"
            raise UnreadableError(f"{missing}: name a file or a folder with --documents")
        source = source or text_at(row, *columns["source"])
        return HumanItem(
            id=f"{entry.place} {optional_text(row, *columns.get('id', columns['system']))}".strip(),
            document=document or content_id(source)[:12],
            summary=" ".join(sentences) or text_at(row, *columns["summary"]),
            people=figures,
            source=source,
            system=optional_text(row, *columns["system"]),
            sentences=sentences,
            labels=labels,
            votes=votes,
        )


def _flat(content: Row, before: str = "") -> dict[str, Any]:
    """Return an object with its inner objects' values by their path, but for the figures of people."""
    flat: dict[str, Any] = {}
    for name, value in content.items():
        inner = isinstance(value, Mapping) and name != "people"
        flat |= _flat(value, f"{before}{name}.") if inner else {f"{before}{name}": value}
    return flat


def _merged(items: Sequence[HumanItem]) -> list[HumanItem]:
    """Return each summary once, with the means of all its ratings, and the ratings themselves."""
    of_summary: dict[tuple[str, str, str], list[HumanItem]] = {}
    for item in items:
        of_summary.setdefault((item.document, item.system, item.summary), []).append(item)
    merged: list[HumanItem] = []
    for same in of_summary.values():
        ratings: dict[str, list[float]] = {}
        for item in same:
            for name, rating in item.people.items():
                ratings.setdefault(name, []).append(rating)
        means = {name: fmean(values) for name, values in ratings.items()}
        merged.append(replace(same[0], people=means, votes=[values for values in ratings.values() if len(values) > 1]))
    return merged


_PATENT_SYSTEMS = {
    "summary_1": "hupd-t5-base",
    "summary_2": "xl_net",
    "summary_3": "bart",
    "summary_4": "long-t5-tglobal-base-16384-book-summary-2",
    "summary_5": "gpt35",
}
"""The columns with the summaries of a system, by how the columns of its ratings end, such as `accuracy_summary_1`."""
RATED = ("accuracy", "coverage", "clarity", "overall")
_SUMMEVAL = ("consistency", "relevance", "coherence", "fluency")


def _patents(entry: FileEntry) -> Iterator[FileEntry]:
    """Yield the rated summaries of a patent, a row of the released sheet; its abstract and claims were summarized."""
    content = entry.content
    source = "\n\n".join(text_at(content, name) for name in ("abstract", "claims"))
    rated = [
        {"system": system, "summary": content[system], "source": source, **figures}
        for column, system in _PATENT_SYSTEMS.items()
        for figures in [{name: content.get(f"{name}_{column}") for name in RATED}]
        if content.get(system) and any(number(value) is not None for value in figures.values())
    ]
    if not rated:
        raise UnreadableError("it has no summary with ratings")
    yield from (FileEntry(entry.place, row) for row in rated)


def _realsumm(entry: FileEntry) -> Iterator[FileEntry]:
    """Yield the summaries of a document."""
    for summary in list_at(entry.content, "summaries"):
        yield FileEntry(entry.place, {**entry.content, **as_object(summary)})


def _books(entry: FileEntry) -> Iterator[FileEntry]:
    """Yield the summaries of a file; whether every sentence is listed is decided from the whole file."""
    sentences = [content for content in entry.content.values() if isinstance(content, Mapping)]
    every = lists_every_sentence([fields for content in sentences for fields in content.values()])
    for name, content in entry.content.items():
        yield FileEntry(str(name), {"entries": content or {}, "document": str(name), "every": every})


def _book(row: Row, library: Library) -> Row:
    name, content = row["document"], as_object(row["entries"])
    summary = text_at(content, "summary") if MARKS in content else library.get(name, "")
    if not summary:
        raise UnreadableError("its summary is missing: name the file of summaries with --documents")
    statements = statements_of(summary)
    counted = sentences_of(statements)
    sentences = [statement.sentence for statement in counted]
    try:
        entries = entries_of(name, name, content)
    except UsageError as error:
        raise UnreadableError(error.message) from error
    if MARKS in content:
        labels: list[bool | None] = [not marked for marked in marked_sentences(sentences, entries)]
    else:
        verdicts = match_to_sentences(entries, statements, every=row["every"]).verdicts
        labels = [not verdicts[statement.id].confusing if statement.id in verdicts else None for statement in counted]
    if all(label is None for label in labels):
        raise UnreadableError("no sentence of the summary is judged")
    return {"source": summary, "document": name, "sentences": sentences, "labels": labels}


def _qags(row: Row, _: Library) -> Row:
    parts = [as_object(part) for part in list_at(row, "summary_sentences")]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    responses = [[as_object(vote).get("response") for vote in list_at(part, "responses")] for part in parts]
    for response in (response for row_ in responses for response in row_):
        if response not in ("yes", "no"):
            raise UnreadableError(f"a response is {response!r:.40} where yes or no was expected")
    votes = [[response == "yes" for response in row_] for row_ in responses]
    return {**row, "sentences": [text_at(part, "sentence") for part in parts], "votes": votes}


def _summeval(row: Row, _: Library) -> Row:
    experts = row.get("expert_annotations")
    ratings = [as_object(rating) for rating in (experts if isinstance(experts, list) else [row.get("human") or {}])]
    means = {name: mean([number(rating.get(name)) for rating in ratings]) for name in _SUMMEVAL}
    votes = [[number(rating.get("consistency")) for rating in ratings]] if len(ratings) > 1 else []
    return {**row, "people": {name: value for name, value in means.items() if value is not None}, "votes": votes}


def _summedits(row: Row, _: Library) -> Row:
    column = "consistent" if "consistent" in row else LABEL
    if (label := number(row.get(column))) not in (0, 1):
        raise UnreadableError(f"`{column}` is {row.get(column)!r:.20} where 0 or 1 was expected")
    return {**row, "consistency": label}


def _own(row: Row, _: Library) -> Row:
    human = row.get("human")
    figures = human if isinstance(human, Mapping) else {LABEL: row.get(LABEL, human)}
    numbers = {str(name): value for name, figure in figures.items() if (value := number(figure)) is not None}
    if "sentences" not in row:
        return {**row, "people": numbers}
    parts = [as_object(part) for part in list_at(row, "sentences")]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    labels = [number(part.get(LABEL)) for part in parts]
    if any(label not in (None, 0.0, 1.0) for label in labels):
        raise UnreadableError("a sentence's `label` is neither true nor false")
    sentences = [text_at(part, "sentence", "text") for part in parts]
    flags = [None if label is None else bool(label) for label in labels]
    return {**row, "people": numbers, "sentences": sentences, "labels": flags}


_PARTS: Mapping[str, Callable[[FileEntry], Iterator[FileEntry]]] = {
    "patentsumeval": _patents,
    "realsumm": _realsumm,
    "booookscore": _books,
}
"""Functions that split an entry into rows."""
_ROWS: Mapping[str, Callable[[Row, Library], Row]] = {
    "qags": _qags,
    "summeval": _summeval,
    "summedits": _summedits,
    "booookscore": _book,
    "jsonl": _own,
}
"""Functions that change a row; they raise `UnreadableError` with the reason if they cannot."""


FORMATS: Mapping[str, Format] = {
    name: Format(name, **entry) for name, entry in declared("formats").items() if name != "metrics"
}


def find_format(name: str) -> Format:
    """Return the format of this name; raise if there is none."""
    if name not in FORMATS:
        raise UsageError(f"--format: there is no format {name!r}", hint=f"choose from {', '.join(FORMATS)}")
    return FORMATS[name]
