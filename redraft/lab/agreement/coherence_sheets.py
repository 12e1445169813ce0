"""Sheets for people on the coherence of summaries, as in BooookScore: are annotations right (appendix J), what confuses
(section 3), and which of two summaries is better (table 4). What the project has released of the answers is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from redraft.domain import content_id
from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import sentences_of
from redraft.lab.agreement.annotations import MARKS, PAIRS, Annotations, Summaries, entries_of
from redraft.lab.agreement.measures import share_cells
from redraft.lab.agreement.people import json_of
from redraft.lab.agreement.sheet_reports import people_table
from redraft.lab.agreement.sheets import KINDS, SheetRow, is_released, read_answers, rows_of_sheet
from redraft.lab.declared import make_table
from redraft.lab.experiments.frames import frame_of
from redraft.prompts.coherence import ASPECTS
from redraft.report.tables import Report
from redraft.text.sanitizer import one_line

_LETTERS = 8
_RELEASED = {"Agree": "agree", "Partially agree": "partly", "Don't agree": "disagree"}
_TIE = "tie"
_ITSELF: Mapping[str, str] = MappingProxyType({})


def coherence_rows(what: str, summaries: Sequence[Summaries], annotations: Sequence[Annotations]) -> Iterator[SheetRow]:
    """Yield the rows of a sheet: all annotated errors of several files by summary, of which it cannot be seen which
    file one is from; every sentence; or the four questions about each pair of summaries, in random order. An error that
    several files have is a row for each."""

    def row(shown: dict[str, str], about: object, group: str = "", choices: Mapping[str, str] = _ITSELF) -> SheetRow:
        identity = f"summaries/{what}/{content_id(repr(about))[:_LETTERS]}"
        asked = KINDS[what].dimensions.get(group, KINDS[what].asked)
        return SheetRow(identity, shown, None, group, asked, choices=choices)

    if what == "preferences":
        for key, first, second, choices in _pairs(*summaries):
            for aspect in ASPECTS:
                shown = {"of": key, "summary 1": first, "summary 2": second}
                yield row(shown, (key, first, second, aspect), aspect, choices)
    elif what == "marks":
        for key, text in summaries[0].texts.items():
            for line in sentences_of(statements_of(text)):
                yield row({"of": key, "sentence": line.sentence}, (key, line.id))
    else:
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
                yield row(shown, (key, entry), name)


def _pairs(first: Summaries, second_file: Summaries) -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Yield the two summaries of each id, and the file that each is from. Which is shown first is as by a coin, but
    always the same."""
    for key, text in first.texts.items():
        if second := second_file.texts.get(key):
            pair, names = (text, second), (first.name, second_file.name)
            if int(content_id(repr((key, *sorted(pair))))[:2], 16) % 2 != (text < second):
                pair, names = pair[::-1], names[::-1]
            yield (key, *pair, {"1": names[0], "2": names[1]})


def coherence_report(
    what: str, paths: Sequence[str], summaries: Sequence[Summaries], annotations: Sequence[Annotations]
) -> Report:
    """Return how many annotations people find right, by the file or the source that they are from, or which of two
    systems people prefer, by aspect: by the answers in sheets and in files that BooookScore released."""
    by_row, problems = read_answers(paths, what)
    choices_of: dict[str, dict[str, Mapping[str, str]]] = {}
    for row in coherence_rows(what, summaries, annotations):
        choices_of.setdefault(row.id, {})[row.group] = row.choices
    answers: list[tuple[str, str, str, str | None]] = [
        (key, group, f"{n:03}", choices.get(word, word))
        for key, words in by_row.items()
        for group, choices in choices_of.get(key, {}).items()
        for n, word in enumerate(words)
    ]
    for path in filter(is_released, paths):
        answers += released_answers(path, what, summaries)
    frame = frame_of((dict(zip(_ANSWER, answer, strict=True)) for answer in answers), _ANSWER)
    keys = list(frame["row"].unique())
    basis = f"Based on {len(keys)} of {len({*keys, *by_row})} rows, those that the files given have."
    names, groups = KINDS[what].choices, [*(source.name for source in annotations), *frame["group"]]
    if what == "preferences":
        names, groups = [*(file.name for file in summaries), _TIE], [*ASPECTS]
    counted: list[dict[str, Any]] = []
    for group in dict.fromkeys(groups):
        of_group = frame[frame["group"] == group].dropna(subset="answer")
        counts = of_group["answer"].value_counts().reindex(names, fill_value=0).to_dict()
        share = share_cells("precision", len(of_group) - counts.get("disagree", 0), len(of_group))
        head = {"aspect": group, "annotations": group, "rows": of_group["row"].nunique(), "answers": len(of_group)}
        counted.append({**head, **counts, **share})
    wide = frame.drop_duplicates(["row", "person"]).pivot(index="row", columns="person", values="answer").reindex(keys)
    ratings: list[list[Any]] = wide.astype(object).where(wide.notna(), None).to_numpy().tolist()
    if what == "annotations":
        ratings = [[answer and answer != "disagree" for answer in of_row] for of_row in ratings]
    more = (*names, "answers") if what == "preferences" else ()
    tables = (
        make_table("agree", "precision" if what == "annotations" else what, basis, counted, more=more),
        people_table(ratings, basis),
        make_table("agree", "unreadable", basis, problems),
    )
    items = [{"id": row, "answers": of_row} for row, of_row in zip(keys, ratings, strict=True)]
    return Report("sheet", f"{KINDS[what].title}: what people say", (), {"what": what}, tables, items)


_ANSWER = ("row", "group", "person", "answer")


def released_answers(path: str, what: str, summaries: Sequence[Summaries]) -> list[tuple[str, str, str, str]]:
    """Return the answers in a file that BooookScore released: the row, what it is counted under (the source of an
    annotation, or an aspect), the person, and the answer. Raise if it has none."""
    content, person = json_of(path), Path(path).name
    answers: list[tuple[str, str, str, str]] = []
    try:
        if what == "annotations":
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
    for place, row in rows_of_sheet(path):
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
