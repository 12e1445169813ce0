"""Sheets for people on the coherence of summaries, as in BooookScore: are annotations right (appendix J), what confuses
(section 3), and which of two summaries is better (table 4). What the project has released of the answers is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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
    PAIRS,
    AnnotatedSentence,
    Annotations,
    Summaries,
    entries_of,
    read_annotations,
)
from redraft.lab.agreement.measures import share_cells
from redraft.lab.agreement.people import read_text
from redraft.lab.agreement.sheet_reports import people_table
from redraft.lab.agreement.sheets import KINDS, SheetRow, draw_sample, read_answers, sheet_kind, sheet_rows
from redraft.lab.declared import make_table
from redraft.lab.experiments.booookscore import CoherenceItem
from redraft.prompts.coherence import ASPECTS
from redraft.report.tables import Report
from redraft.text.sanitizer import one_line

_LETTERS = 8
_RELEASED = {"Agree": "agree", "Partially agree": "partly", "Don't agree": "disagree"}
_TIE = "tie"


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
    for row, *_ in _questions(kind, summaries, annotations):
        unique.setdefault(row.id, row)
    if not unique:
        lacking = kind == "preferences"
        message = "the two files have no id in common" if lacking else "there is nothing to ask about"
        raise UsageError(message, hint=KINDS[kind].needs)
    return list(unique.values())


def _questions(
    kind: str, summaries: Sequence[Summaries], annotations: Sequence[Annotations]
) -> Iterator[tuple[SheetRow, str, Mapping[str, str]]]:
    """Yield the rows, what their answers are counted under, and what they mean there: all annotated errors of several
    files by summary, of which it cannot be seen which file one is from; every sentence; or the four questions about
    each pair of summaries, in random order."""

    def row(shown: dict[str, str], asked: str, *about: object) -> SheetRow:
        return SheetRow(f"summaries/{kind}/{content_id(repr(about))[:_LETTERS]}", shown, asked=asked)

    if kind == "preferences":
        for key, first, second, names in _pairs(*summaries):
            shown = {"of": key, "summary 1": first, "summary 2": second}
            for aspect in ASPECTS:
                yield row(shown, KINDS[kind].dimensions[aspect], key, first, second, aspect), aspect, names
    elif kind == "marks":
        for key, text in summaries[0].texts.items():
            for line in sentences_of(statements_of(text)):
                yield row({"of": key, "sentence": line.sentence}, KINDS[kind].asked, key, line.id), "", {}
    else:
        same = {choice: choice for choice in KINDS[kind].choices}
        # Where answers are read, the summaries themselves are not needed.
        texts = summaries[0].texts if summaries else {key: "" for source in annotations for key in source.entries}
        for key, text in texts.items():
            flat = " ".join(text.split())
            entries = [
                (entry, entry.verdict.questions, source.name)
                for source in annotations
                for entry in source.entries.get(key) or ()
                if entry.verdict and entry.verdict.confusing
            ]
            entries.sort(key=lambda triple: (flat.find(triple[0].sentence), triple[0].sentence, triple[0].other))
            for entry, questions, name in entries:
                span = f"{entry.sentence} […] {entry.other}" if entry.other else entry.sentence
                shown = {"of": key, "summary": text, "span": span, "questions": " ".join(questions)}
                yield row(shown, KINDS[kind].asked, key, entry), name, same


def _pairs(first: Summaries, second_file: Summaries) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Yield the two summaries of each id, and the file that each is from. Which is shown first is as by a coin, but
    always the same."""
    for key, text in first.texts.items():
        if second := second_file.texts.get(key):
            pair, names = (text, second), (first.name, second_file.name)
            if int(content_id(repr((key, *sorted(pair))))[:2], 16) % 2 != (text < second):
                pair, names = pair[::-1], names[::-1]
            yield (key, *pair, {"1": names[0], "2": names[1], _TIE: _TIE})


def sample_summaries(rows: Sequence[SheetRow], size: int) -> list[SheetRow]:
    """Return the rows about a random sample of the summaries."""
    keys = set(draw_sample(list(dict.fromkeys(row.shown["of"] for row in rows)), size))
    return [row for row in rows if row.shown["of"] in keys]


def kind_of_answers(paths: Sequence[str]) -> str:
    """Return the kind of the sheets, or of what BooookScore released: lists of preferences, or objects of annotations.
    Raise if the sheets are of several kinds."""
    sheets = [path for path in paths if not is_released(path)]
    if sheets:
        return sheet_kind(sheets)
    return "preferences" if isinstance(_content(paths[0]), list) else "annotations"


def is_released(path: str) -> bool:
    """Return whether a file is one of answers that BooookScore released, and no sheet."""
    return Path(path).suffix.lower() == ".json"


def _content(path: str) -> Any:
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise UsageError(f"it is not JSON: {error}", place=path) from error


def coherence_report(
    kind: str, paths: Sequence[str], summaries: Sequence[Summaries], annotations: Sequence[Annotations]
) -> Report:
    """Return how many annotations people find right, by the file or the source that they are from, or which of two
    systems people prefer, by aspect: by the answers in sheets and in files that BooookScore released."""
    by_row, problems = read_answers([path for path in paths if not is_released(path)], kind)
    meanings: dict[str, dict[str, Mapping[str, str]]] = {}
    for row, group, words in _questions(kind, summaries, annotations):
        meanings.setdefault(row.id, {})[group] = words
    answers: list[tuple[str, str, str, str | None]] = [
        (row, group, f"{n:03}", word and words[word])
        for row, by_person in by_row.items()
        for group, words in meanings.get(row, {}).items()
        for n, word in enumerate(by_person)
    ]
    for path in filter(is_released, paths):
        answers += released_answers(path, kind, summaries)
    frame = pd.DataFrame(answers, columns=["row", "group", "person", "answer"], dtype=object)
    rows = list(dict.fromkeys(frame["row"]))
    basis = f"Based on {len(rows)} of {len({*rows, *by_row})} rows, those that the files given have."
    names, groups = tuple(KINDS[kind].choices), [*(source.name for source in annotations), *frame["group"]]
    if kind == "preferences":
        names, groups = (*(file.name for file in summaries), _TIE), [*ASPECTS]
    counted: list[dict[str, Any]] = []
    for group in dict.fromkeys(groups):
        of_group = frame[frame["group"] == group].dropna(subset="answer")
        counts = {name: int((of_group["answer"] == name).sum()) for name in names}
        share = share_cells("precision", len(of_group) - counts.get("disagree", 0), len(of_group))
        head = {"aspect": group, "annotations": group, "rows": of_group["row"].nunique(), "answers": len(of_group)}
        counted.append({**head, **counts, **share})
    wide = frame.drop_duplicates(["row", "person"]).pivot(index="row", columns="person", values="answer").reindex(rows)
    ratings: list[list[Any]] = wide.astype(object).where(wide.notna(), None).to_numpy().tolist()
    if kind == "annotations":
        ratings = [[answer and answer != "disagree" for answer in of_row] for of_row in ratings]
    more = (*names, "answers") if kind == "preferences" else ()
    tables = (
        make_table("agree", "precision" if kind == "annotations" else kind, basis, counted, more=more),
        people_table(ratings, basis),
        make_table("agree", "unreadable", basis, problems),
    )
    items = [{"id": row, "answers": of_row} for row, of_row in zip(rows, ratings, strict=True)]
    return Report("sheet", f"{KINDS[kind].title}: what people say", (), {"what": kind}, tables, items)


def released_answers(path: str, kind: str, summaries: Sequence[Summaries]) -> list[tuple[str, str, str, str]]:
    """Return the answers in a file that BooookScore released: the row, what it is counted under (the source of an
    annotation, or an aspect), the person, and the answer. Raise if it has none."""
    content, person = _content(path), Path(path).name
    answers: list[tuple[str, str, str, str]] = []
    try:
        if kind == "annotations":
            for key, summary in content.items():
                for n, annotation in enumerate(summary["annotations"]):
                    answers.append((f"{key}/{n}", annotation["source"], person, _RELEASED[annotation["agreement"]]))
            return answers
        for task in content:
            key, result = task["data"]["book"], task["annotations"][0]["result"]
            choices = {entry["from_name"]: entry["value"].get("choices") for entry in result}
            systems = {str(file.texts[key].split()): file.name for file in summaries}
            for aspect in ASPECTS:
                (choice,) = choices["preference" if aspect == "overall" else aspect]
                text = task["data"].get(choice.lower().replace(" ", "_"), "")
                answers.append((f"{key}/{aspect}", aspect, person, systems[str(text.split())] if text else _TIE))
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise UsageError("it has no answers as BooookScore released them", place=path) from error
    return answers


def read_marks(path: str, file: Summaries) -> tuple[Annotations, str]:
    """Return what one person marked, and the same as JSON in the form that the BooookScore project has released."""
    marked: dict[str, dict[str, Any]] = {
        key: {"summary": text, MARKS: [], PAIRS: []} for key, text in file.texts.items()
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
        marked[key][PAIRS if second_span else MARKS].append(pair if second_span else single)
    entries = {key: entries_of(path, key, content) for key, content in marked.items()}
    name = one_line(Path(path).name)
    return Annotations(name, False, entries, marked=True), json.dumps(marked, ensure_ascii=False, indent=1)
