"""Compares filled-in sheets with the verdicts of one or several judges (tables 2 and 3 of HAMLET), and judges."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from redraft.domain import content_id
from redraft.errors import RunError, UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.coherence import sentences_of
from redraft.evaluators.statistics import mean
from redraft.lab.agreement import sheets
from redraft.lab.agreement.annotations import MARKS, PAIRS, Annotations, Summaries, entries_of
from redraft.lab.agreement.measures import Cells, beyond_chance, cohens_kappa, compare_verdicts, share_cells
from redraft.lab.agreement.people import FileProblem, Ratings, json_of, read_entries
from redraft.lab.declared import make_table
from redraft.lab.experiments.frames import frame_of, pairs
from redraft.lab.experiments.longsumeval import REFINING
from redraft.lab.experiments.runner import JUDGING
from redraft.prompts.coherence import ASPECTS
from redraft.report.tables import Report, Table
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_ALL = "all"
_MAX_RUNS = 8


def runs_of_experiment(folder: str, what: str, *, every: bool) -> list[str]:
    """Return the runs of an experiment by its files: those of its first judge, or of `every` judge; of LongSumEval's,
    those that refine. About facts, queries and questions there is one run for each document."""
    once = what != "answers" and sheets.KINDS[what].dimensions
    # The first run for each key: the document where a sheet is about it, and else the run itself.
    runs: dict[tuple[str, ...], str] = {}
    for _, content in read_entries(str(Path(folder).expanduser() / "items.json")):
        item = content if isinstance(content, dict) else {}
        for stage, run in (item.get("runs") or {}).items():
            if stage in (JUDGING, REFINING) or (every and stage.startswith(f"{JUDGING} by ")):
                runs.setdefault((item["document"], stage) if once else (run,), run)
    if not runs:
        raise UsageError("no run of this experiment was judged", place=folder, hint="name the DIR of `experiment -o`")
    return list(runs.values())


def verdict_frame(store: Store, runs: Sequence[str], what: str) -> pd.DataFrame:
    """Return a row for each verdict of each judge: `judge`, `content`, `group`, `verdict`, and what people are `shown`
    and `asked`."""
    columns = ("judge", "content", "group", "verdict", "asked", "shown")
    rows = (row for run in dict.fromkeys(runs) for row in sheets.run_rows(store, run, what))
    frame = frame_of(({column: getattr(row, column) for column in columns} for row in rows), columns)
    return frame.drop_duplicates(["judge", "content"])


def sheet_report(
    store: Store,
    what: str,
    answers: Mapping[str, Sequence[bool | None]],
    problems: Sequence[FileProblem],
    runs: Sequence[str] = (),
) -> Report:
    """Return the report of people's answers by row of a sheet, about its own judge and those of further runs."""
    every = list(dict.fromkeys(name.partition("/")[0] for name in answers))
    present: list[str] = []
    for run in every:
        with suppress(RunError) if runs else nullcontext():
            present.append(store.runs.get(run).id)
    verdicts = verdict_frame(store, [*present, *runs], what)
    questions = verdicts.drop_duplicates("content").set_index("content")["asked"]
    about = {name: key for name in answers if (key := name.rpartition("/")[2]) in questions.index}
    if not about:
        raise UsageError("none of its rows belongs to a run in this database", hint="name the database with --db")
    decided = {name: answer for name in about if (answer := sheets.majority(answers[name])) is not None}
    basis = (
        f"Based on {len(decided)} of {len(answers)} rows; {len(about) - len(decided)} without a sheets.majority,"
        f" {len(answers) - len(about)} not from a run in this database; {len(problems)} answers"
        " unreadable."
    )
    majorities = verdicts["content"].map({about[name]: answer for name, answer in decided.items()})
    answered, judges = verdicts.assign(people=majorities)[majorities.notna()], verdicts["judge"].unique()
    population = int((verdicts["judge"] == judges[0]).sum())
    sizes = {f"rows for ±{100 * margin:g}%": sheets.sample_size(population, margin) for margin in sheets.MARGINS}
    sample = (len(decided), population, sheets.margin_of_error(len(decided), population), *sizes.values())
    tables = [
        (validity_table if sheets.KINDS[what].dimensions else verdict_table)(answered, judges, what, basis),
        *([_judge_table(answered, basis)] if len(judges) > 1 else ()),
        people_table([answers[name] for name in about], basis),
        make_table("agree", "sample", basis, [sample], more=[*sizes]),
        make_table("agree", "unreadable", basis, problems),
    ]
    of_judges = {key: dict(zip(row["judge"], row["verdict"], strict=True)) for key, row in verdicts.groupby("content")}
    items: list[Mapping[str, object]] = []
    for name, key in about.items():
        item = {"id": name, "judge": next(iter(of_judges[key].values())), "people": answers[name]}
        more = {"judges": of_judges[key]} if len(judges) > 1 else {}
        items.append({**item, "sheets.majority": decided.get(name), **more})
    every += [run for run in runs if run not in every]
    rest = f" and {len(every) - _MAX_RUNS} more" if len(every) > _MAX_RUNS else ""
    asks = " ".join(questions[list(about.values())].unique())
    lines = (f"runs: {', '.join(every[:_MAX_RUNS])}{rest}", f"people were asked: {asks}")
    settings = {"what": what, "runs": every}
    return Report("sheet", f"{sheets.KINDS[what].title}: what people say", lines, settings, tuple(tables), items)


def judges_report(store: Store, runs: Sequence[str], what: str) -> Report:
    """Return the report of several judges, or validators, of the same rows, without people."""
    verdicts = verdict_frame(store, runs, what)
    judges = list(verdicts["judge"].unique())
    common = verdicts[verdicts.groupby("content")["verdict"].transform("size") == len(judges)]
    if len(judges) < 2 or common.empty:
        hint = "name runs on one summary, or of `redraft keyfacts` with one --judge and several --set validator"
        raise UsageError(f"these runs have no {what} that two judges have judged", hint=hint)
    by_row = [rows for _, rows in common.groupby("content", sort=False)]
    differing = [
        {**rows["shown"].iloc[0], "asked": rows["asked"].iloc[0]}
        | {"verdicts": dict(zip(rows["judge"], rows["verdict"], strict=True))}
        for rows in by_row
        if rows["verdict"].nunique(dropna=False) > 1
    ]
    basis = f"Based on {len(by_row)} rows that all {len(judges)} have judged."
    about = (f"judges: {', '.join(judges)}", f"they differ on {len(differing)} of {len(by_row)} rows")
    title, settings = f"{sheets.KINDS[what].title}: judges side by side", {"what": what, "runs": list(runs)}
    return Report("judges", title, about, settings, (_judge_table(common, basis),), differing)


_SIDES = {(True, True): "both yes", (False, False): "both no"}
_SIDES |= {(True, False): "first only", (False, True): "second only"}


def _judge_table(verdicts: pd.DataFrame, basis: str) -> Table:
    """Return how any two judges agree, by dimension."""
    rows: list[Cells] = []
    dimensions = {name for kind in sheets.KINDS.values() for name in kind.dimensions}
    for head, both in pairs(verdicts, "judge", ["content"]):
        of_dimensions = [of_group for of_group in both.groupby("group", sort=False) if of_group[0] in dimensions]
        for group, of_group in (*(of_dimensions if both["verdict"].notna().any() else ()), (_ALL, both)):
            first, second = (of_group[name].astype(bool).tolist() for name in ("verdict", "verdict of second"))
            verdict_pairs = list(zip(first, second, strict=True))
            counts = {name: verdict_pairs.count(pair) for pair, name in _SIDES.items()}
            agreement = {**beyond_chance(verdict_pairs), "kappa": cohens_kappa(first, second)}
            rows.append({**head, "group": group, "rows": len(first), **agreement, **counts})
    return make_table("agree", "judges", basis, rows)


def validity_table(answered: pd.DataFrame, judges: Sequence[str], what: str, basis: str) -> Table:
    """Return table 2 of HAMLET: the share of passed items people find valid, and of failed ones they do not."""
    kind, judge_column = sheets.KINDS[what], "validator" if what == "facts" else "judge"
    rows: list[Cells] = []
    judgments = {"pass": True, "fail": False} if what == "facts" else {"asked": None}
    for judge, (name, passed) in product(judges, judgments.items()):
        of_judge = answered[(answered["judge"] == judge) & answered["verdict"].isin([passed])]
        head, of_dimensions = {judge_column: judge, "judgment": name}, list[Cells]()
        for dimension in kind.dimensions:
            valid = of_judge.loc[of_judge["group"] == dimension, "people"].astype(bool)
            share = share_cells("right", int((valid != (passed is False)).sum()), len(valid))
            of_dimensions.append({**head, "dimension": dimension, "rows": len(valid), **share})
        average = mean([row["right"] for row in of_dimensions])
        rows += [*of_dimensions, {**head, "dimension": "mean", "rows": len(of_judge), "right": average}]
    return make_table("agree", "validity", basis, rows, kind=kind.title, caption=kind.shares, judge=judge_column)


def verdict_table(answered: pd.DataFrame, judges: Sequence[str], what: str, basis: str) -> Table:
    """Return table 3 of HAMLET: each judge's verdicts and people's."""
    yes, no = ("stated", "missing") if what == "alignment" else ("right", "wrong")
    rows: list[Cells] = []
    for judge in judges:
        of_judge = answered[answered["judge"] == judge]
        verdicts, labels = of_judge["verdict"].astype(bool), of_judge["people"].astype(bool)
        accuracy = float((verdicts == labels).mean()) if len(of_judge) else None
        counts = {"rows": len(of_judge), yes: int(labels.sum()), no: int((~labels).sum())}
        figures = compare_verdicts(verdicts.to_numpy(), labels.to_numpy(), of_judge["content"], yes, no)
        rows.append({"judge": judge, **counts, **figures, "accuracy": accuracy})
    return make_table("agree", "verdicts", basis, rows, kind=sheets.KINDS[what].title, yes=yes, no=no)


def people_table(ratings: Ratings, basis: str) -> Table:
    """Return the table on the agreement of people, by their answers: one row per item, and a column per person."""
    columns = max((len(row) for row in ratings), default=0)
    by_several = sum(sum(answer is not None for answer in row) > 1 for row in ratings)
    row = {"people": columns, "rows by several": by_several, **beyond_chance(ratings)}
    return make_table("agree", "people", basis, [row])


_LETTERS = 8
_RELEASED = {"Agree": "agree", "Partially agree": "partly", "Don't agree": "disagree"}
_TIE = "tie"


def coherence_rows(
    what: str, summaries: Sequence[Summaries], annotations: Sequence[Annotations]
) -> Iterator[sheets.SheetRow]:
    """Yield the rows of a sheet: all annotated errors of several files by summary, of which it cannot be seen which
    file one is from; every sentence; or the four questions about each pair of summaries, in random order. An error that
    several files have is a row for each."""

    def row(
        shown: dict[str, str], about: object, group: str = "", choices: dict[str, str] | None = None
    ) -> sheets.SheetRow:
        identity = f"summaries/{what}/{content_id(repr(about))[:_LETTERS]}"
        asked = sheets.KINDS[what].dimensions.get(group, sheets.KINDS[what].asked)
        return sheets.SheetRow(identity, shown, None, group, asked, choices=choices or {})

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
    by_row, problems = sheets.read_answers(paths, what)
    choices_of: dict[str, dict[str, Mapping[str, str]]] = {}
    for row in coherence_rows(what, summaries, annotations):
        choices_of.setdefault(row.id, {})[row.group] = row.choices
    answers: list[tuple[str, str, str, str | None]] = [
        (key, group, f"{n:03}", choices.get(word, word))
        for key, words in by_row.items()
        for group, choices in choices_of.get(key, {}).items()
        for n, word in enumerate(words)
    ]
    for path in filter(sheets.is_released, paths):
        answers += released_answers(path, what, summaries)
    frame = frame_of((dict(zip(_ANSWER, answer, strict=True)) for answer in answers), _ANSWER)
    keys = list(frame["row"].unique())
    basis = f"Based on {len(keys)} of {len({*keys, *by_row})} rows, those that the files given have."
    names, groups = sheets.KINDS[what].choices, [*(source.name for source in annotations), *frame["group"]]
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
    return Report("sheet", f"{sheets.KINDS[what].title}: what people say", (), {"what": what}, tables, items)


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
    for place, row in sheets.rows_of_sheet(path):
        span, question, types, second_span = (row.get(name, "") for name in sheets.KINDS["marks"].columns)
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
