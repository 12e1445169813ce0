"""Sheets for people on the coherence of summaries, as in BooookScore: are annotations right (appendix J), what confuses
(section 3), and which of two summaries is better (table 4). What the project has released of the answers is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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
from redraft.lab.agreement.measures import share_cells
from redraft.lab.agreement.people import read_text
from redraft.lab.agreement.sheet_reports import people_table
from redraft.lab.agreement.sheets import KINDS, SheetRow, draw_sample, read_answers, sheet_rows
from redraft.lab.declared import make_table
from redraft.lab.experiments.booookscore import CoherenceItem
from redraft.prompts.coherence import ASPECTS
from redraft.report.tables import Record, Report
from redraft.text.sanitizer import one_line

_LETTERS = 8
_RELEASED = {"Agree": "agree", "Partially agree": "partly", "Don't agree": "disagree"}
_TIE = "tie"
_Meanings = Mapping[str, Sequence[tuple[str, Mapping[str, str]]]]
"""By row, what it is counted under, and what the answers to it mean there."""


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
        by_system.setdefault(item.system, {})[item.document] = entries_of(path, item.document, errors)
    return [Annotations(name, False, entries) for name, entries in by_system.items()]


def coherence_rows(kind: str, summaries: Sequence[Summaries], annotations: Sequence[Annotations]) -> list[SheetRow]:
    """Return the rows of a sheet; raise if there are none."""
    unique: dict[str, SheetRow] = {}
    for about, columns, aspect in _questions(kind, summaries, annotations):
        question = KINDS[kind].dimensions.get(aspect, KINDS[kind].asked)
        unique.setdefault(_id(kind, *about), SheetRow(_id(kind, *about), columns, asked=question))
    if not unique:
        lacking = kind == "preferences"
        message = "the two files have no id in common" if lacking else "there is nothing to ask about"
        raise UsageError(message, hint=KINDS[kind].needs)
    return list(unique.values())


def _questions(
    kind: str, summaries: Sequence[Summaries], annotations: Sequence[Annotations]
) -> Iterator[tuple[tuple[object, ...], dict[str, str], str]]:
    """Yield what each row is about, what people are shown, and the aspect that they are asked about: all annotated
    errors of several files by summary, of which it cannot be seen which file one is from; every sentence; or the four
    questions about each pair of summaries, in random order."""
    if kind == "preferences":
        for key, first, second, _ in _pairs(*summaries):
            for aspect in ASPECTS:
                yield (key, first, second, aspect), {"of": key, "summary 1": first, "summary 2": second}, aspect
        return
    for key, text in summaries[0].texts.items():
        if kind == "marks":
            for statement in sentences_of(statements_of(text)):
                yield (key, statement.id), {"of": key, "sentence": statement.sentence}, ""
            continue
        flat = " ".join(text.split())
        entries = [entry for source in annotations for entry in source.entries.get(key) or ()]
        for entry in sorted(entries, key=lambda entry: (flat.find(entry.sentence), entry.sentence, entry.other)):
            if entry.verdict and entry.verdict.confusing:
                span = f"{entry.sentence} […] {entry.other}" if entry.other else entry.sentence
                questions = " ".join(entry.verdict.questions)
                yield (key, entry), {"of": key, "summary": text, "span": span, "questions": questions}, ""


def _id(kind: str, *about: object) -> str:
    return f"summaries/{kind}/{content_id(repr(about))[:_LETTERS]}"


def _pairs(first: Summaries, second_file: Summaries) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Yield the two summaries of each id, and the file that each is from. Which is shown first is as by a coin, but
    always the same."""
    for key, text in first.texts.items():
        if second := second_file.texts.get(key):
            pair, names = (text, second), (first.name, second_file.name)
            if int(content_id(repr((key, *sorted(pair))))[:2], 16) % 2 != (text < second):
                pair, names = pair[::-1], names[::-1]
            yield (key, *pair, {"1": names[0], "2": names[1], _TIE: _TIE})


def sample_rows(rows: Sequence[SheetRow], size: int, seed: int, kind: str) -> list[SheetRow]:
    """Return a random sample; of marks and preferences, whole summaries."""
    if kind == "annotations":
        return draw_sample(rows, size, seed)
    keys = set(draw_sample(list(dict.fromkeys(row.shown["of"] for row in rows)), size, seed))
    return [row for row in rows if row.shown["of"] in keys]


def is_released(path: str) -> bool:
    """Return whether a file is one of answers that BooookScore released, and no sheet."""
    return Path(path).suffix.lower() == ".json"


def read_released(path: str) -> Any:
    """Return the content of a file that BooookScore released: a list of preferences, or an object of annotations."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise UsageError(f"it is not JSON: {error}", place=path) from error


def annotation_report(paths: Sequence[str], annotations: Sequence[Annotations]) -> Report:
    """Return how many annotations people find right, by the file they are from; in a released file, by their source."""
    choices = KINDS["annotations"].choices
    meanings: dict[str, list[tuple[str, Mapping[str, str]]]] = {}
    for source in annotations:
        for key, sentences in source.entries.items():
            for row in dict.fromkeys(_id("annotations", key, sentence) for sentence in sentences or ()):
                meanings.setdefault(row, []).append((source.name, dict(zip(choices, choices, strict=True))))

    def read(content: Any) -> Iterator[tuple[str, str, str]]:
        for key, summary in content.items():
            for n, annotation in enumerate(summary["annotations"]):
                yield f"{key}/{n}", annotation["source"], _RELEASED[annotation["agreement"]]

    def count(frame: pd.DataFrame) -> Iterator[Record]:
        for name in dict.fromkeys([*(source.name for source in annotations), *frame["group"]]):
            answered = frame[(frame["group"] == name) & frame["answer"].notna()]
            counts = {choice: int((answered["answer"] == choice).sum()) for choice in choices}
            precision = share_cells("precision", counts["agree"] + counts["partly"], len(answered))
            yield {"annotations": name, "rows": answered["row"].nunique(), **counts, **precision}

    return _report(
        *("annotations", "precision", paths, meanings, read, count),
        rating=lambda answer: None if answer is None else answer != "disagree",
    )


def preference_report(paths: Sequence[str], first: Summaries, second: Summaries) -> Report:
    """Return which of two systems people prefer, by aspect."""
    meanings = {
        _id("preferences", key, *texts, aspect): [(aspect, names)]
        for key, *texts, names in _pairs(first, second)
        for aspect in ASPECTS
    }

    def read(content: Any) -> Iterator[tuple[str, str, str]]:
        for task in content:
            key, result = task["data"]["book"], task["annotations"][0]["result"]
            choices = {entry["from_name"]: entry["value"].get("choices") for entry in result}
            systems = {str(entry.texts[key].split()): entry.name for entry in (first, second)}
            for aspect in ASPECTS:
                (choice,) = choices["preference" if aspect == "overall" else aspect]
                text = task["data"].get(choice.lower().replace(" ", "_"), "")
                yield f"{key}/{aspect}", aspect, systems[str(text.split())] if text else _TIE

    names = (first.name, second.name, _TIE)

    def count(frame: pd.DataFrame) -> Iterator[Record]:
        for aspect in ASPECTS:
            answers = frame.loc[frame["group"] == aspect, "answer"]
            counts = {name: int((answers == name).sum()) for name in names}
            yield {"aspect": aspect, **counts, "answers": sum(counts.values())}

    return _report("preferences", "preferences", paths, meanings, read, count, more=(*names, "answers"))


def _report(
    kind: str,
    table: str,
    paths: Sequence[str],
    meanings: _Meanings,
    read: Callable[[Any], Iterator[tuple[str, str, str]]],
    count: Callable[[pd.DataFrame], Iterator[Record]],
    rating: Callable[[Any], float | str | bool | None] = lambda answer: answer,
    more: Sequence[str] = (),
) -> Report:
    """Return the report of the answers in sheets and in released files: the rows that are made of them, and the
    agreement of people by their ratings. `read` yields the row, the group and the answer of a released file."""
    by_sheet = read_answers([path for path in paths if not is_released(path)], kind)
    answers: list[tuple[str, str, str, str | None]] = []
    for row, by_person in by_sheet.by_row.items():
        for group, means in meanings.get(row, ()):
            answers += [(row, group, f"{n:03}", word and means[word]) for n, word in enumerate(by_person)]
    for path in filter(is_released, paths):
        content = read_released(path)
        try:
            answers += [(row, group, Path(path).name, answer) for row, group, answer in read(content)]
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise UsageError("it has no answers as BooookScore released them", place=path) from error
    frame = pd.DataFrame(answers, columns=["row", "group", "person", "answer"], dtype=object)
    rows = list(dict.fromkeys(frame["row"]))
    basis = f"Based on {len(rows)} of {len({*rows, *by_sheet.by_row})} rows, those that the files given have."
    wide = frame.drop_duplicates(["row", "person"]).pivot(index="row", columns="person", values="answer").reindex(rows)
    ratings = [[None if pd.isna(answer) else rating(answer) for answer in row] for row in wide.to_numpy(object)]
    tables = (
        make_table("agree", table, basis, count(frame), more=more),
        people_table(ratings, basis),
        make_table("agree", "unreadable", basis, by_sheet.troubles),
    )
    items = [{"id": row, "answers": answers} for row, answers in zip(rows, ratings, strict=True)]
    return Report("sheet", f"{KINDS[kind].title}: what people say", (), {"what": kind}, tables, items)


def read_marks(path: str, file: Summaries) -> tuple[Annotations, str]:
    """Return what one person marked, and the same as JSON in the form that the BooookScore project has released."""
    marked: dict[str, dict[str, Any]] = {
        key: {"summary": text, MARKS: [], "relations": []} for key, text in file.texts.items()
    }
    for place, row in sheet_rows(path):
        span, question, types, second_span = (row.get(name, "") for name in KINDS["marks"].columns)
        if not span:
            continue
        if (key := row.get("of", "")) not in marked:
            raise UsageError(f"the summary {one_line(key, 40)!r} is not in the file", place=place)
        labels = [label.strip() for label in types.split(",") if label.strip()]
        pair = {"span_a": span, "span_b": second_span, "shared_questions": question, "shared_labels": labels}
        single = {"span": span, "questions": question, "labels": labels}
        marked[key]["relations" if second_span else MARKS].append(pair if second_span else single)
    entries = {key: entries_of(path, key, content) for key, content in marked.items()}
    name = one_line(Path(path).name)
    return Annotations(name, False, entries, marked=True), json.dumps(marked, ensure_ascii=False, indent=1)
