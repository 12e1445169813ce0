"""The annotation formats of public datasets (LongSumEval's among them), and JSON Lines for your own, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from redraft.domain import content_id
from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.coherence import sentences_of
from redraft.evaluators.statistics import mean
from redraft.lab.agreement.annotations import Annotations, Summaries
from redraft.lab.agreement.people import (
    Dataset,
    FileProblem,
    HumanItem,
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
from redraft.text.sanitizer import clean, one_line

Row = Mapping[str, Any]
LABEL = "label"


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
        place, problems, fields = Path(path).expanduser(), list[FileProblem](), dict(self.fields)
        if self.name == "booookscore":
            items = list(coherence_items(path, documents))
        else:
            items = list(self._items(place, documents, problems))
        if not items:
            first = ": ".join(("", *problems[0])) if problems else ""
            hint = "name its format with --format; `redraft help agree with` lists them"
            raise UsageError(f"nothing in it can be read as {self.name}{first}", place=path, hint=hint)
        if self.name == "jsonl":
            # A field that only has 0 and 1 says whether a summary is right.
            names = dict.fromkeys(name for item in items for name in item.people)
            fields = {name: float({item.people.get(name, 0.0) for item in items} <= {0.0, 1.0}) for name in names}
        items = _merged(items) if self.name == "tldr" else items
        return Dataset(f"{self.title} ({one_line(place.name)})", fields, tuple(items), tuple(problems))

    def _items(self, place: Path, documents: str | None, problems: list[FileProblem]) -> Iterator[HumanItem]:
        """Yield the items of a file of entries; what cannot be read is added to the problems."""
        neighbours = (place.with_name(name.format(stem=place.name.partition(".")[0])) for name in self.beside)
        neighbour = next((str(file) for file in neighbours if file != place and file.is_file()), None)
        library = read_texts_by_id(documents or neighbour)
        for of_entry, raw in read_entries(str(place)):
            try:
                content = as_object(raw)
                if not self.only or text_at(content, self.only[0]).casefold() == self.only[1]:
                    yield from [self._item(of_entry, row, library) for row in rows_of_entry(self.name, content)]
            except UnreadableError as error:
                problems.append((of_entry, str(error)))

    def _item(self, place: str, row: Row, library: Mapping[str, str]) -> HumanItem:
        """Return the item of a row; raise if it has no summary, no figures, or no document."""
        sentences, votes = tuple(row.get("sentences") or ()), row.get("votes") or ()
        if sentences and not all(votes):
            raise UnreadableError("one of the sentences has no vote")
        labels = tuple(row.get("labels") or ([2 * sum(vote) > len(vote) for vote in votes] if sentences else ()))
        values = {name: number(row.get(self.figures.get(name, name))) for name in self.fields}
        figures = row.get("people") or {name: value for name, value in values.items() if value is not None}
        if not figures and (judged := [label for label in labels if label is not None]):
            figures = {next(iter(self.fields)): fmean(judged)}
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
        identity = f"{place} {optional_text(row, *columns.get('id', columns['system']))}".strip()
        summary = " ".join(sentences) or text_at(row, *columns["summary"])
        head = (identity, document or content_id(source)[:12], summary, figures, source)
        return HumanItem(*head, optional_text(row, *columns["system"]), sentences, labels, votes)


def rows_of_entry(name: str, entry: Row) -> list[Row]:
    """Return the rows of an entry in a format, with `people` (their figures by field), and with `sentences`, `labels`
    and `votes` where people judged sentences."""
    if name == "realsumm":
        return [{**entry, **as_object(summary)} for summary in list_at(entry, "summaries")]
    if name == "patentsumeval":
        return _patents(entry)
    if name == "tldr":
        info, summary = as_object(entry.get("info")), as_object(entry.get("summary"))
        return [{**info, **summary, **as_object(summary.get("axes"))}]
    if name == "summeval":
        column = "expert_annotations"
        ratings = [*map(as_object, list_at(entry, column) if column in entry else [entry.get("human") or {}])]
        fields = ("consistency", "relevance", "coherence", "fluency")
        means = {field: mean([number(rating.get(field)) for rating in ratings]) for field in fields}
        votes = [[number(rating.get("consistency")) for rating in ratings]] if len(ratings) > 1 else []
        people = {field: value for field, value in means.items() if value is not None}
        return [{**entry, "people": people, "votes": votes}]
    if name == "summedits":
        column = "consistent" if "consistent" in entry else LABEL
        if (label := number(entry.get(column))) not in (0, 1):
            raise UnreadableError(f"`{column}` is {entry.get(column)!r:.20} where 0 or 1 was expected")
        return [{**entry, "consistency": label}]
    if name == "jsonl":
        human = entry.get("human")
        figures = human if isinstance(human, Mapping) else {LABEL: entry.get(LABEL, human)}
        people = {str(key): value for key, figure in figures.items() if (value := number(figure)) is not None}
        sentences = _sentences(list_at(entry, "sentences")) if "sentences" in entry else {}
        return [{**entry, "people": people, **sentences}]
    return [{**entry, **(_sentences(list_at(entry, "summary_sentences")) if name == "qags" else {})}]


def _sentences(listed: Sequence[Any]) -> Row:
    """Return the sentences of a summary with their labels, or with the answers of several people."""
    parts = [as_object(part) for part in listed]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    row: dict[str, Any] = {"sentences": [text_at(part, "sentence", "text") for part in parts]}
    if all("responses" in part for part in parts):
        responses = [[as_object(vote).get("response") for vote in list_at(part, "responses")] for part in parts]
        if strange := [word for words in responses for word in words if word not in ("yes", "no")]:
            raise UnreadableError(f"a response is {strange[0]!r:.40} where yes or no was expected")
        return {**row, "votes": [[word == "yes" for word in words] for words in responses]}
    labels = [number(part.get(LABEL)) for part in parts]
    if any(label not in (None, 0.0, 1.0) for label in labels):
        raise UnreadableError("a sentence's `label` is neither true nor false")
    return {**row, "labels": [None if label is None else bool(label) for label in labels]}


_PATENT_SYSTEMS = {
    "summary_1": "hupd-t5-base",
    "summary_2": "xl_net",
    "summary_3": "bart",
    "summary_4": "long-t5-tglobal-base-16384-book-summary-2",
    "summary_5": "gpt35",
}
"""The columns with the summaries of a system, by how the columns of its ratings end, such as `accuracy_summary_1`."""


def _patents(entry: Row) -> list[Row]:
    """Return the rated summaries of a patent, a row of the released sheet; its abstract and claims were summarized."""
    source = "\n\n".join(text_at(entry, part) for part in ("abstract", "claims"))
    rows: list[Row] = []
    for column, system in _PATENT_SYSTEMS.items():
        ratings = {field: entry.get(f"{field}_{column}") for field in FORMATS["patentsumeval"].fields}
        if entry.get(system) and any(number(rating) is not None for rating in ratings.values()):
            rows.append({"system": system, "summary": entry[system], "source": source, **ratings})
    if not rows:
        raise UnreadableError("it has no summary with ratings")
    return rows


def coherence_items(path: str, documents: str | None) -> Iterator[HumanItem]:
    """Yield the summaries of BooookScore, whose sentences are right where nobody finds them confusing."""
    annotations = Annotations.read(path)
    if not (annotations.marked or documents):
        raise UsageError("the summaries are in another file", place=path, hint="name it with --documents")
    for key, text in Summaries.read(documents or path).texts.items():
        statements = statements_of(text)
        verdicts = annotations.place(key, statements).verdicts
        sentences = sentences_of(statements)
        labels = [not verdicts[line.id].confusing if line.id in verdicts else None for line in sentences]
        if key in annotations.entries and (judged := [label for label in labels if label is not None]):
            lines = tuple(line.sentence for line in sentences)
            people = {"coherence": fmean(judged)}
            yield HumanItem(key, key, " ".join(lines), people, text, sentences=lines, labels=tuple(labels))


def _merged(items: Sequence[HumanItem]) -> list[HumanItem]:
    """Return each summary once, with the means of all its ratings, and the ratings themselves."""
    of_summary: dict[tuple[str, str, str], list[HumanItem]] = {}
    for item in items:
        of_summary.setdefault((item.document, item.system, item.summary), []).append(item)
    merged: list[HumanItem] = []
    for same in of_summary.values():
        ratings = pd.DataFrame([item.people for item in same])
        by_field = [values.dropna().tolist() for _, values in ratings.items()]
        votes = [values for values in by_field if len(values) > 1]
        merged.append(replace(same[0], people=ratings.mean().to_dict(), votes=votes))
    return merged


FORMATS = {name: Format(name, **entry) for name, entry in declared("formats").items() if name != "metrics"}


def find_format(name: str) -> Format:
    """Return the format of this name; raise if there is none."""
    if name not in FORMATS:
        raise UsageError(f"--format: there is no format {name!r}", hint=f"choose from {', '.join(FORMATS)}")
    return FORMATS[name]
