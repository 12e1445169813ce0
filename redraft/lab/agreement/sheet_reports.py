"""Compares filled-in sheets with the verdicts of one or several judges (tables 2 and 3 of HAMLET), and judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from redraft.errors import RunError, UsageError
from redraft.lab.agreement.measures import Cells, beyond_chance, cohens_kappa, compare_verdicts, share_cells
from redraft.lab.agreement.people import FileProblem, Ratings, read_text
from redraft.lab.agreement.sheet_rows import run_rows
from redraft.lab.agreement.sheets import KINDS, MARGINS, majority, margin_of_error, sample_size
from redraft.lab.declared import make_table
from redraft.lab.experiments.hamlet import HamletItem
from redraft.lab.experiments.longsumeval import REFINING, RefinedSummary
from redraft.lab.experiments.runner import JUDGING
from redraft.report.tables import Report, Table, mean
from redraft.store.store import Store

_ALL = "all"
_MAX_RUNS = 8


def runs_of_experiment(folder: str, what: str, *, every: bool) -> list[str]:
    """Return the runs of an experiment by its files: those of its first judge, or of `every` judge; of LongSumEval's,
    those that refine. About facts, queries and questions there is one run for each document."""
    text = read_text(str(Path(folder).expanduser() / "items.json"))
    # The first run for each key: the document where a sheet is about it, and else the run itself.
    runs: dict[tuple[str, ...], str] = {}
    # Items are those of LongSumEval or of HAMLET; those of another experiment have no runs to compare.
    with suppress(ValidationError):
        for summary in TypeAdapter(list[RefinedSummary]).validate_json(text):
            if run := summary.runs.get(REFINING):
                runs.setdefault((summary.document,) if what == "questions" else (run,), run)
    with suppress(ValidationError):
        for item in TypeAdapter(list[HamletItem]).validate_json(text):
            for stage, run in item.runs.items():
                if stage == JUDGING or (every and stage.partition(" by ")[0] == JUDGING):
                    runs.setdefault((item.document, stage) if KINDS[what].dimensions else (run,), run)
    if not runs:
        raise UsageError("no run of this experiment was judged", place=folder, hint="name the DIR of `experiment -o`")
    return list(runs.values())


def verdict_frame(store: Store, runs: Sequence[str], what: str) -> pd.DataFrame:
    """Return a row for each verdict of each judge: `judge`, `content`, `group`, `said`, and what people are shown and
    `asked`."""
    columns = ["judge", "content", "group", "said", "asked", "shown"]
    rows = [
        [getattr(row, column) for column in columns]
        for run in dict.fromkeys(runs)
        for row in run_rows(store, run, what)
    ]
    return pd.DataFrame(rows, columns=columns, dtype=object).drop_duplicates(["judge", "content"])


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
        try:
            present.append(store.runs.get(run).id)
        except RunError:
            if not runs:
                raise
    verdicts = verdict_frame(store, [*present, *runs], what)
    questions = verdicts.drop_duplicates("content").set_index("content")["asked"]
    about = {name: key for name in answers if (key := name.rpartition("/")[2]) in questions.index}
    if not about:
        raise UsageError("none of its rows belongs to a run in this database", hint="name the database with --db")
    decided = {name: answer for name in about if (answer := majority(answers[name])) is not None}
    basis = (
        f"Based on {len(decided)} of {len(answers)} rows; {len(about) - len(decided)} without a majority,"
        f" {len(answers) - len(about)} not from a run in this database; {len(problems)} answers"
        " unreadable."
    )
    majorities = verdicts["content"].map({about[name]: answer for name, answer in decided.items()})
    answered, judges = verdicts.assign(people=majorities)[majorities.notna()], verdicts["judge"].unique()
    population = int((verdicts["judge"] == judges[0]).sum())
    sizes = {f"rows for ±{100 * margin:g}%": sample_size(population, margin) for margin in MARGINS}
    sample = (len(decided), population, margin_of_error(len(decided), population), *sizes.values())
    tables = [
        (validity_table if KINDS[what].dimensions else verdict_table)(answered, judges, what, basis),
        *([_judge_table(answered, basis)] if len(judges) > 1 else ()),
        people_table([answers[name] for name in about], basis),
        make_table("agree", "sample", basis, [sample], more=[*sizes]),
        make_table("agree", "unreadable", basis, problems),
    ]
    items: list[Mapping[str, object]] = []
    for name, key in about.items():
        by_judge = verdicts[verdicts["content"] == key].set_index("judge")["said"].to_dict()
        item = {"id": name, "judge": next(iter(by_judge.values())), "people": answers[name]}
        items.append(item | {"majority": decided.get(name)} | ({"judges": by_judge} if len(judges) > 1 else {}))
    every += [run for run in runs if run not in every]
    rest = f" and {len(every) - _MAX_RUNS} more" if len(every) > _MAX_RUNS else ""
    asks = " ".join(questions[list(about.values())].unique())
    lines = (f"runs: {', '.join(every[:_MAX_RUNS])}{rest}", f"people were asked: {asks}")
    settings = {"what": what, "runs": every}
    return Report("sheet", f"{KINDS[what].title}: what people say", lines, settings, tuple(tables), items)


def judges_report(store: Store, runs: Sequence[str], what: str) -> Report:
    """Return the report of several judges, or validators, of the same rows, without people."""
    verdicts = verdict_frame(store, runs, what)
    judges = list(verdicts["judge"].unique())
    of_each = verdicts.groupby("content", sort=False)["said"]
    common = verdicts[of_each.transform("size") == len(judges)]
    if len(judges) < 2 or common.empty:
        raise UsageError(
            f"these runs have no {what} that two judges have judged",
            hint="name runs on one summary, or of `redraft keyfacts` with one --judge and several --set validator",
        )
    by_row = [rows for _, rows in common.groupby("content", sort=False)]
    differing = [rows for rows in by_row if rows["said"].nunique(dropna=False) > 1]
    basis = f"Based on {len(by_row)} rows that all {len(judges)} have judged."
    return Report(
        "judges",
        f"{KINDS[what].title}: judges side by side",
        (f"judges: {', '.join(judges)}", f"they differ on {len(differing)} of {len(by_row)} rows"),
        {"what": what, "runs": list(runs)},
        (_judge_table(common, basis),),
        [
            {**rows["shown"].iloc[0], "asked": rows["asked"].iloc[0]}
            | {"verdicts": dict(zip(rows["judge"], rows["said"], strict=True))}
            for rows in differing
        ],
    )


def _judge_table(verdicts: pd.DataFrame, basis: str) -> Table:
    """Return how any two judges agree, by dimension."""
    rows: list[Cells] = []
    dimensions = {name for kind in KINDS.values() for name in kind.dimensions}
    for first, second in combinations(verdicts["judge"].unique(), 2):
        rows_of_first, rows_of_second = (verdicts[verdicts["judge"] == judge] for judge in (first, second))
        both = rows_of_first.merge(rows_of_second, on="content", suffixes=("", "_other"))
        groups = {group: of_group for group, of_group in both.groupby("group", sort=False) if group in dimensions}
        for group, rows_of_group in {**(groups if both["said"].notna().any() else {}), _ALL: both}.items():
            verdicts_of_both = [rows_of_group[name].astype(bool).tolist() for name in ("said", "said_other")]
            pairs = list(zip(*verdicts_of_both, strict=True))
            sides = {(True, True): "both yes", (False, False): "both no"}
            sides |= {(True, False): "first only", (False, True): "second only"}
            counts = {name: pairs.count(pair) for pair, name in sides.items()}
            head = {"first": first, "second": second, "group": group, "rows": len(pairs)}
            rows.append({**head, **beyond_chance(pairs), "kappa": cohens_kappa(*verdicts_of_both), **counts})
    return make_table("agree", "judges", basis, rows)


def validity_table(answered: pd.DataFrame, judges: Sequence[str], what: str, basis: str) -> Table:
    """Return table 2 of HAMLET: the share of passed items people find valid, and of failed ones they do not."""
    kind, judge_column = KINDS[what], "validator" if what == "facts" else "judge"
    rows: list[Cells] = []
    judgments = (("pass", True), ("fail", False)) if what == "facts" else (("asked", None),)
    for judge in judges:
        for name, passed in judgments:
            has_verdict = answered["said"].isna() if passed is None else answered["said"] == passed
            of_judge = answered[(answered["judge"] == judge) & has_verdict]
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
        verdicts, labels = of_judge["said"].astype(bool), of_judge["people"].astype(bool)
        accuracy = float((verdicts == labels).mean()) if len(of_judge) else None
        counts = {"rows": len(of_judge), yes: int(labels.sum()), no: int((~labels).sum())}
        figures = compare_verdicts(verdicts.to_numpy(), labels.to_numpy(), of_judge["content"], yes, no)
        rows.append({"judge": judge, **counts, **figures, "accuracy": accuracy})
    return make_table("agree", "verdicts", basis, rows, kind=KINDS[what].title, yes=yes, no=no)


def people_table(ratings: Ratings, basis: str) -> Table:
    """Return the table on the agreement of people, by their answers: one row per item, and a column per person."""
    columns = max((len(row) for row in ratings), default=0)
    by_several = sum(sum(answer is not None for answer in row) > 1 for row in ratings)
    row = {"people": columns, "rows by several": by_several, **beyond_chance(ratings)}
    return make_table("agree", "people", basis, [row])
