"""Sheets for people on the coherence of summaries, as in BooookScore: are annotations right (appendix J), what confuses
(section 3), and which of two summaries is better (table 4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

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
from redraft.lab.agreement.sheet_tables import people_table, trouble_table
from redraft.lab.agreement.sheets import (
    CHOICES,
    ID,
    MARK_COLUMNS,
    SheetAnswers,
    SheetRow,
    cell_text,
    combined_answers,
    draw_sample,
    person_columns,
    share_interval,
    sheet_file,
    sheet_kinds,
    sheet_rows,
)
from redraft.lab.agreement.tables import interval_ends
from redraft.lab.experiments.booookscore_frames import CoherenceItem
from redraft.lab.experiments.frames import ENDS
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


def annotations_by_system(path: str) -> list[Annotations]:
    """Return the annotations of a file, or those of each system in the `items.json` of an experiment."""
    text = read_text(path)
    if not text.lstrip().startswith("["):
        return [read_annotations(path)]
    by_system: dict[str, dict[str, tuple[AnnotatedSentence, ...]]] = {}
    try:
        items = TypeAdapter(list[CoherenceItem]).validate_json(text)
    except ValidationError as error:
        hint = "give what `redraft experiment booookscore -o DIR` wrote"
        raise UsageError(
            f"it is not the items.json of an experiment: {first_error(error)}", place=path, hint=hint
        ) from error
    for item in items:
        errors = {
            sentence.sentence: {"questions": [*sentence.questions], "types": [*sentence.types]}
            for sentence in item.confusing
        }
        by_system.setdefault(item.system, {})[item.id] = entries_of(path, item.id, errors)
    return [Annotations(name, False, entries) for name, entries in by_system.items()]


def annotation_rows(file: Summaries, annotations: Sequence[Annotations]) -> list[SheetRow]:
    """Return all annotated errors of several files by summary; which file one is from cannot be seen."""
    found: dict[str, SheetRow] = {}
    for key, text in file.texts.items():
        flat = " ".join(text.split())
        sentences = [annotated for each in annotations for annotated in each.entries.get(key) or ()]
        for sentence in sorted(sentences, key=lambda it: (flat.find(it.sentence), it.sentence, it.other)):
            if sentence.verdict is None or not sentence.verdict.confusing:
                continue
            span = f"{sentence.sentence} […] {sentence.other}" if sentence.other else sentence.sentence
            shown = {"of": key, "summary": text, "span": span, "questions": " ".join(sentence.verdict.questions)}
            row = _row(_id("annotations", key, sentence), shown, "annotations")
            found.setdefault(row.id, row)
    return list(found.values())


def _row(name: str, shown: Mapping[str, str], question: str) -> SheetRow:
    return SheetRow(name, shown, None, "", _QUESTIONS[question])


def _id(kind: Kind, *about: object) -> str:
    return f"summaries/{kind}/{content_id(repr(about))[:_LETTERS]}"


def preference_rows(first: Summaries, second: Summaries) -> list[SheetRow]:
    """Return the four questions about each pair of summaries, in random order."""
    rows = []
    for key, one, other in _pairs(first, second):
        shown = {"of": key, "summary 1": one, "summary 2": other}
        rows += [_row(_id("preferences", key, one, other, aspect), shown, aspect) for aspect in ASPECTS]
    if not rows:
        raise UsageError("the two files have no id in common", hint="give two systems' summaries of the same documents")
    return rows


def _pairs(first: Summaries, second: Summaries) -> Iterator[tuple[str, str, str]]:
    for key, text in first.texts.items():
        if other := second.texts.get(key):
            yield (key, text, other) if _is_first(key, text, other) else (key, other, text)


def _is_first(key: str, text: str, other: str) -> bool:
    """Return whether the first system's summary is shown first: as by a coin, but always the same."""
    return int(content_id(repr((key, *sorted((text, other)))))[:2], 16) % 2 == (text < other)


def mark_rows(file: Summaries) -> list[SheetRow]:
    """Return a row for each sentence of the summaries."""
    return [
        _row(_id("marks", key, statement.id), {"of": key, "sentence": statement.sentence}, "marks")
        for key, text in file.texts.items()
        for statement in sentences_of(statements_of(text))
    ]


def sample_rows(rows: Sequence[SheetRow], size: int, seed: int, kind: Kind) -> list[SheetRow]:
    """Return a random sample; of marks and preferences, whole summaries."""
    if kind == "annotations":
        return draw_sample(rows, size, seed)
    keys = set(draw_sample(list(dict.fromkeys(row.shown["of"] for row in rows)), size, seed))
    return [row for row in rows if row.shown["of"] in keys]


def coherence_sheet(rows: Sequence[SheetRow], kind: Kind, people: int) -> str:
    """Return the sheet as CSV."""
    return sheet_file(rows, MARK_COLUMNS if kind == "marks" else person_columns(people))


def kind_of_sheet(path: str) -> Kind | None:
    """Return the kind of a sheet on coherence; None for another one."""
    found = sheet_kinds(row.get(ID, "") for _, row in sheet_rows(path))
    return next((kind for kind in KINDS if found == {kind}), None)


def _answers(paths: Sequence[str], kind: Kind) -> SheetAnswers[str]:
    choices = CHOICES[kind]
    others = {word: meant for word, meant in _OTHER_WORDS.items() if meant in choices}
    meanings = {**{choice: choice for choice in choices}, **others, **dict.fromkeys(("", "?"))}
    return combined_answers(paths, meanings, f"none of {', '.join(choices)}")


def annotation_report(paths: Sequence[str], annotations: Sequence[Annotations]) -> Report:
    """Return how many annotations people find right, by the file they are from."""
    answers = _answers(paths, "annotations")
    origins = {
        each.name: {
            _id("annotations", key, sentence) for key, sentences in each.entries.items() for sentence in sentences or ()
        }
        for each in annotations
    }
    everything = set().union(*origins.values())
    known = [row for row in answers.by_row if row in everything]
    basis = f"Based on {len(known)} of {len(answers.by_row)} rows, those whose annotation is in the files given."
    rows = []
    for name, ids in origins.items():
        counts = Counter(one for row in known if row in ids for one in answers.by_row[row] if one)
        share, interval = share_interval(counts["agree"] + counts["partly"], counts.total())
        answered = sum(any(answers.by_row[row]) for row in known if row in ids)
        rows.append((name, answered, *(counts[one] for one in CHOICES["annotations"]), share, *interval_ends(interval)))
    precision = Table(
        "precision",
        "Precision of annotations (appendix J)",
        "People's answers on annotated errors; precision is the share of agree and partly, with its interval (Wilson).",
        basis,
        ("annotations", "rows", *CHOICES["annotations"], "precision", *ENDS),
        tuple(rows),
    )
    confusing = {row: [None if one is None else one != "disagree" for one in answers.by_row[row]] for row in known}
    return _report("annotations", "Annotations: what people say", precision, confusing, answers, basis)


def preference_report(paths: Sequence[str], first: Summaries, second: Summaries) -> Report:
    """Return which of two systems people prefer, by aspect."""
    answers = _answers(paths, "preferences")
    winners: dict[str, tuple[str, Mapping[str, str]]] = {}
    for key, one, other in _pairs(first, second):
        names = (first.name, second.name) if one == first.texts[key] else (second.name, first.name)
        for aspect in ASPECTS:
            row = _id("preferences", key, one, other, aspect)
            winners[row] = (aspect, {"1": names[0], "2": names[1], "tie": "tie"})
    known = [row for row in answers.by_row if row in winners]
    basis = f"Based on {len(known)} of {len(answers.by_row)} rows, those whose summaries are in the files given."
    chosen = {row: [one and winners[row][1][one] for one in answers.by_row[row]] for row in known}
    rows = []
    for aspect in ASPECTS:
        counts = Counter(one for row in known if winners[row][0] == aspect for one in chosen[row] if one)
        rows.append((aspect, *(counts[name] for name in (first.name, second.name, "tie")), counts.total()))
    preferences = Table(
        "preferences",
        "Preferences (table 4)",
        "How many answers prefer each system's summary.",
        basis,
        ("aspect", first.name, second.name, "tie", "answers"),
        tuple(rows),
    )
    return _report("preferences", "Preferences: what people say", preferences, chosen, answers, basis)


def _report(
    kind: Kind, title: str, table: Table, ratings: Mapping[str, Sequence[Any]], said: SheetAnswers[str], basis: str
) -> Report:
    items = [{"id": row, "answers": list(answers)} for row, answers in ratings.items()]
    tables = (table, people_table(list(ratings.values()), basis), trouble_table(said.troubles, basis))
    return Report("sheet", title, (), {"what": kind}, tables, items)


def read_marks(path: str, file: Summaries) -> tuple[Annotations, str]:
    """Return what one person marked, and the same as JSON in the form that the BooookScore project has released."""
    found: dict[str, dict[str, Any]] = {
        key: {"summary": text, MARKS: [], "relations": []} for key, text in file.texts.items()
    }
    for place, row in sheet_rows(path):
        span, question, types, other = (cell_text(row.get(name, "")) for name in MARK_COLUMNS)
        if not span:
            continue
        if (key := row.get("of", "").strip()) not in found:
            raise UsageError(f"the summary {one_line(key, 40)!r} is not in the file", place=place)
        labels = [one.strip() for one in types.split(",") if one.strip()]
        pair = {"span_a": span, "span_b": other, "shared_questions": question, "shared_labels": labels}
        single = {"span": span, "questions": question, "labels": labels}
        found[key]["relations" if other else MARKS].append(pair if other else single)
    name = one_line(Path(path).name)
    entries = {key: entries_of(path, key, said) for key, said in found.items()}
    written = json.dumps(found, ensure_ascii=False, indent=1)
    return Annotations(name, False, entries, marked=True), written
