"""Sheets for people on the coherence of summaries, as in BooookScore: are annotations right (appendix J), what confuses
(section 3), and which of two summaries is better (table 4). What the project has released of the answers is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from redraft.domain import content_id
from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import sentences_of
from redraft.fields import first_error
from redraft.lab.agreement.annotations import (
    MARKS,
    AnnotatedSentence,
    Annotations,
    Summaries,
    entries_of,
    read_annotations,
)
from redraft.lab.agreement.people import read_text
from redraft.lab.agreement.sheet_reports import people_table
from redraft.lab.agreement.sheets import (
    CHOICES,
    ID,
    MARK_COLUMNS,
    SheetRow,
    cell_text,
    combined_answers,
    draw_sample,
    share_interval,
    sheet_kinds,
    sheet_rows,
)
from redraft.lab.agreement.tables import interval_ends
from redraft.lab.declared import make_table
from redraft.lab.experiments.booookscore import CoherenceItem
from redraft.prompts.coherence import ASPECTS, ERROR_TYPES
from redraft.report.tables import Report, Table
from redraft.text.sanitizer import one_line

Kind = Literal["annotations", "marks", "preferences"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_QUESTIONS: Mapping[str, str] = {
    "annotations": "Does this confuse a reader of the summary? agree; partly (it does, but the questions miss it or are"
    " answered in the summary); disagree (it does not)",
    "marks": "Copy the words that confuse, say what you would ask, and of which type it is ("
    + ", ".join(ERROR_TYPES)
    + "). Where two places confuse together, copy the other one too. For a second mark, copy the row.",
    "overall": "Which summary do you prefer? 1, 2 or tie",
    "detail": "Which summary has more detail? 1, 2 or tie",
    "structure": "Which summary has the better structure and pacing? 1, 2 or tie",
    "logic": "Which summary is more logical and easier to understand? 1, 2 or tie",
}
_LETTERS = 8
_OTHER_WORDS = {"partially": "partly", "partial": "partly", "draw": "tie", "=": "tie", "a": "agree", "d": "disagree"}
_RELEASED = {"Agree": "agree", "Partially agree": "partly", "Don't agree": "disagree"}
TIE = "tie"


def annotations_by_system(path: str) -> list[Annotations]:
    """Return the annotations of a file, or those of each system in the `items.json` of an experiment."""
    text = read_text(path)
    if not text.lstrip().startswith("["):
        return [read_annotations(path)]
    by_system: dict[str, dict[str, tuple[AnnotatedSentence, ...]]] = {}
    try:
        items = TypeAdapter(list[CoherenceItem]).validate_json(text)
    except ValidationError as error:
        message = f"it is not the items.json of an experiment: {first_error(error)}"
        raise UsageError(message, place=path, hint="give what `redraft experiment booookscore -o DIR` wrote") from error
    for item in items:
        errors = {
            sentence.sentence: {"questions": [*sentence.questions], "types": [*sentence.types]}
            for sentence in item.confusing
        }
        by_system.setdefault(item.system, {})[item.id] = entries_of(path, item.id, errors)
    return [Annotations(name, False, entries) for name, entries in by_system.items()]


def coherence_rows(kind: Kind, summaries: Sequence[Summaries], annotations: Sequence[Annotations]) -> list[SheetRow]:
    """Return the rows of a sheet; raise if there are none."""
    rows = {"annotations": _annotation_rows, "marks": _mark_rows, "preferences": _preference_rows}
    unique = {row.id: row for row in reversed(list(rows[kind](summaries, annotations)))}
    if not unique:
        message, hint = "there is nothing to ask about", "give summaries with sentences, and their annotations"
        if kind == "preferences":
            message, hint = "the two files have no id in common", "give two systems' summaries of the same documents"
        raise UsageError(message, hint=hint)
    return list(unique.values())[::-1]


def _annotation_rows(summaries: Sequence[Summaries], annotations: Sequence[Annotations]) -> Iterator[SheetRow]:
    """Yield all annotated errors of several files by summary; which file one is from cannot be seen."""
    for key, text in summaries[0].texts.items():
        flat = " ".join(text.split())
        sentences = [annotated for source in annotations for annotated in source.entries.get(key) or ()]
        for source in sorted(sentences, key=lambda source: (flat.find(source.sentence), source.sentence, source.other)):
            if source.verdict and source.verdict.confusing:
                span = f"{source.sentence} […] {source.other}" if source.other else source.sentence
                columns = {"of": key, "summary": text, "span": span, "questions": " ".join(source.verdict.questions)}
                yield _row(_id("annotations", key, source), columns, "annotations")


def _mark_rows(summaries: Sequence[Summaries], _: Sequence[Annotations]) -> Iterator[SheetRow]:
    """Yield a row for each sentence of the summaries."""
    for key, text in summaries[0].texts.items():
        for statement in sentences_of(statements_of(text)):
            yield _row(_id("marks", key, statement.id), {"of": key, "sentence": statement.sentence}, "marks")


def _preference_rows(summaries: Sequence[Summaries], _: Sequence[Annotations]) -> Iterator[SheetRow]:
    """Yield the four questions about each pair of summaries, in random order."""
    for key, first, second, _names in _pairs(*summaries):
        for aspect in ASPECTS:
            columns = {"of": key, "summary 1": first, "summary 2": second}
            yield _row(_id("preferences", key, first, second, aspect), columns, aspect)


def _row(name: str, columns: Mapping[str, str], question: str) -> SheetRow:
    return SheetRow(name, columns, None, "", _QUESTIONS[question])


def _id(kind: Kind, *about: object) -> str:
    return f"summaries/{kind}/{content_id(repr(about))[:_LETTERS]}"


def _pairs(first: Summaries, second_file: Summaries) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Yield the two summaries of each id, and the file that each is from. Which is shown first is as by a coin, but
    always the same."""
    for key, text in first.texts.items():
        if second := second_file.texts.get(key):
            pair, names = (text, second), (first.name, second_file.name)
            if int(content_id(repr((key, *sorted(pair))))[:2], 16) % 2 != (text < second):
                pair, names = pair[::-1], names[::-1]
            yield (key, *pair, {"1": names[0], "2": names[1], TIE: TIE})


def sample_rows(rows: Sequence[SheetRow], size: int, seed: int, kind: Kind) -> list[SheetRow]:
    """Return a random sample; of marks and preferences, whole summaries."""
    if kind == "annotations":
        return draw_sample(rows, size, seed)
    keys = set(draw_sample(list(dict.fromkeys(row.shown["of"] for row in rows)), size, seed))
    return [row for row in rows if row.shown["of"] in keys]


def kind_of_sheet(path: str) -> Kind | None:
    """Return the kind of a sheet on coherence, or of a released file of answers; None for another one."""
    if is_released(path):
        return "preferences" if isinstance(_released(path), list) else "annotations"
    kinds = sheet_kinds(row.get(ID, "") for _, row in sheet_rows(path))
    return next((kind for kind in KINDS if kinds == {kind}), None)


def is_released(path: str) -> bool:
    """Return whether a file is one of answers that BooookScore released, and no sheet."""
    return Path(path).suffix.lower() == ".json"


def _released(path: str) -> Any:
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise UsageError(f"it is not JSON: {error}", place=path) from error


Answer = tuple[str, str, str, str | None]
"""A row, what it is counted under, who answered, and the answer; None if there is none."""
Meanings = Mapping[str, Sequence[tuple[str, Mapping[str, str]]]]
"""By row, what it is counted under, and what the answers to it mean there."""


class _Answers:
    """People's answers in sheets and in released files."""

    def __init__(
        self, paths: Sequence[str], kind: Kind, meanings: Meanings, read: Callable[[Any, str], Iterator[Answer]]
    ) -> None:
        choices, answers = CHOICES[kind], list[Answer]()
        words: dict[str, str | None] = {word: word for word in choices} | dict.fromkeys(("", "?"))
        words |= {word: meaning for word, meaning in _OTHER_WORDS.items() if meaning in choices}
        sheets = [path for path in paths if not is_released(path)]
        by_sheet = combined_answers(sheets, words, f"none of {', '.join(choices)}")
        for row, by_person in by_sheet.by_row.items():
            for group, means in meanings.get(row, ()):
                answers += [(row, group, f"{n:03}", word and means[word]) for n, word in enumerate(by_person)]
        for path in paths:
            if is_released(path):
                try:
                    answers += read(_released(path), Path(path).name)
                except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
                    raise UsageError("it has no answers as BooookScore released them", place=path) from error
        self.kind, self.troubles = kind, by_sheet.troubles
        self.frame = pd.DataFrame(answers, columns=["row", "group", "person", "answer"], dtype=object)
        count = self.frame["row"].nunique()
        unknown = len(by_sheet.by_row.keys() - set(self.frame["row"]))
        self.basis = f"Based on {count} of {count + unknown} rows, those that the files given have."

    def counts(self, group: str, names: Sequence[str]) -> list[int]:
        """Return how often each answer was given in a group."""
        answers = self.frame.loc[self.frame["group"] == group, "answer"]
        return [int((answers == name).sum()) for name in names]

    def report(self, table: Table, ratings: pd.Series) -> Report:
        """Return the report of a table, with the agreement of people by their `ratings`."""
        wide = (
            self.frame.assign(rating=ratings)
            .drop_duplicates(["row", "person"])
            .pivot(index="row", columns="person", values="rating")
        )
        wide = wide.reindex(self.frame["row"].unique())
        rows = [[None if pd.isna(rating) else rating for rating in row] for row in wide.to_numpy(object)]
        items = [{"id": row, "answers": answers} for row, answers in zip(wide.index, rows, strict=True)]
        tables = (table, people_table(rows, self.basis), make_table("agree", "unreadable", self.basis, self.troubles))
        return Report("sheet", f"{self.kind.capitalize()}: what people say", (), {"what": self.kind}, tables, items)


def annotation_report(paths: Sequence[str], annotations: Sequence[Annotations]) -> Report:
    """Return how many annotations people find right, by the file they are from; in a released file, by their source."""
    choices = CHOICES["annotations"]
    meanings: dict[str, list[tuple[str, Mapping[str, str]]]] = {}
    for source in annotations:
        for key, sentences in source.entries.items():
            for row in dict.fromkeys(_id("annotations", key, sentence) for sentence in sentences or ()):
                meanings.setdefault(row, []).append((source.name, dict(zip(choices, choices, strict=True))))

    def read(content: Any, name: str) -> Iterator[Answer]:
        for key, summary in content.items():
            for n, annotation in enumerate(summary["annotations"]):
                yield f"{key}/{n}", annotation["source"], name, _RELEASED[annotation["agreement"]]

    answers = _Answers(paths, "annotations", meanings, read)
    frame, rows = answers.frame, []
    for name in dict.fromkeys([*(source.name for source in annotations), *frame["group"]]):
        counts = answers.counts(name, choices)
        share, interval = share_interval(counts[0] + counts[1], sum(counts))
        answered = frame.loc[(frame["group"] == name) & frame["answer"].notna(), "row"].nunique()
        rows.append((name, answered, *counts, share, *interval_ends(interval)))
    table = make_table("agree", "precision", answers.basis, rows)
    return answers.report(table, frame["answer"].map(lambda answer: answer and answer != "disagree"))


def preference_report(paths: Sequence[str], first: Summaries, second: Summaries) -> Report:
    """Return which of two systems people prefer, by aspect."""
    meanings = {
        _id("preferences", key, *texts, aspect): [(aspect, names)]
        for key, *texts, names in _pairs(first, second)
        for aspect in ASPECTS
    }

    def read(content: Any, name: str) -> Iterator[Answer]:
        for task in content:
            key, result = task["data"]["book"], task["annotations"][0]["result"]
            choices = {entry["from_name"]: entry["value"].get("choices") for entry in result}
            systems = {str(entry.texts[key].split()): entry.name for entry in (first, second)}
            for aspect in ASPECTS:
                (choice,) = choices["preference" if aspect == "overall" else aspect]
                text = task["data"].get(choice.lower().replace(" ", "_"), "")
                yield f"{key}/{aspect}", aspect, name, systems[str(text.split())] if text else TIE

    answers, names = _Answers(paths, "preferences", meanings, read), (first.name, second.name, TIE)
    counts = {aspect: answers.counts(aspect, names) for aspect in ASPECTS}
    rows = [(aspect, *numbers, sum(numbers)) for aspect, numbers in counts.items()]
    table = make_table("agree", "preferences", answers.basis, rows, more=(*names, "answers"))
    return answers.report(table, answers.frame["answer"])


def read_marks(path: str, file: Summaries) -> tuple[Annotations, str]:
    """Return what one person marked, and the same as JSON in the form that the BooookScore project has released."""
    marked: dict[str, dict[str, Any]] = {
        key: {"summary": text, MARKS: [], "relations": []} for key, text in file.texts.items()
    }
    for place, row in sheet_rows(path):
        span, question, types, second_span = (cell_text(row.get(name, "")) for name in MARK_COLUMNS)
        if not span:
            continue
        if (key := row.get("of", "").strip()) not in marked:
            raise UsageError(f"the summary {one_line(key, 40)!r} is not in the file", place=place)
        labels = [label.strip() for label in types.split(",") if label.strip()]
        pair = {"span_a": span, "span_b": second_span, "shared_questions": question, "shared_labels": labels}
        single = {"span": span, "questions": question, "labels": labels}
        marked[key]["relations" if second_span else MARKS].append(pair if second_span else single)
    entries = {key: entries_of(path, key, content) for key, content in marked.items()}
    name = one_line(Path(path).name)
    return Annotations(name, False, entries, marked=True), json.dumps(marked, ensure_ascii=False, indent=1)
