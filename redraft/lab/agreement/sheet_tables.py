"""Compares filled-in sheets with the verdicts of one or several judges (tables 2 and 3 of HAMLET), and judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from redraft.errors import RunError, UsageError
from redraft.lab.agreement.measures import (
    cohens_kappa,
    compare_verdicts,
    gwets_ac1,
    krippendorffs_alpha,
    percent_agreement,
)
from redraft.lab.agreement.people import FileProblem, Ratings, read_text
from redraft.lab.agreement.sheets import (
    ASKED,
    CONFIDENCE,
    DIMENSIONS,
    MARGINS,
    SheetAnswers,
    SheetRow,
    What,
    majority,
    margin_of_error,
    run_rows,
    sample_size,
    share_interval,
)
from redraft.lab.agreement.tables import interval_ends
from redraft.lab.declared import Row
from redraft.lab.experiments.frames import ENDS
from redraft.lab.experiments.hamlet_frames import HamletItem
from redraft.lab.experiments.longsumeval import RefinedSummary
from redraft.lab.experiments.plan import JUDGING
from redraft.report.tables import Report, Table, mean
from redraft.store.store import Store

_TITLES: dict[What, str] = {
    "facts": "Validity of key facts",
    "queries": "Validity of queries",
    "alignment": "Alignment of key facts",
    "verification": "Verification of sentences",
    "claims": "Verdicts on claims",
    "questions": "Quality of questions",
    "answers": "Quality of answers",
}
_SHARES: Mapping[What, str] = {
    "queries": "The share of queries that people find natural, and relevant (HAMLET, section 4).",
    "questions": "The share of rows that people answer with yes (LongSumEval, table IV); complete is about all of a"
    " document's questions.",
    "answers": "The share of rows that people answer with yes (LongSumEval, table IV). Every answer is relevant or not;"
    " one that says there is none is right or not, any other consistent or not.",
}
_ALL, _MEAN = "all", "mean"
_MAX_RUNS = 8
Verdicts = dict[str, dict[str, SheetRow]]
"""Rows by judge, and by what they are about."""


def runs_of_experiment(folder: str, what: What, *, every: bool) -> list[str]:
    """Return the runs of an experiment by its files: those of its first judge, or of `every` judge; of LongSumEval's,
    those that refine. About facts, queries and questions there is one run for each document."""
    text, found = read_text(str(Path(folder).expanduser() / "items.json")), dict[tuple[str, ...], str]()
    with suppress(ValidationError):
        for summary in TypeAdapter(list[RefinedSummary]).validate_json(text):
            if summary.run:
                found.setdefault((summary.document,) if what == "questions" else (summary.run,), summary.run)
    with suppress(ValidationError):
        for item in TypeAdapter(list[HamletItem]).validate_json(text):
            stages = [stage for stage in item.runs if stage.partition(" by ")[0] == JUDGING]
            for stage in stages if every else [one for one in stages if one == JUDGING]:
                run = item.runs[stage]
                found.setdefault((item.document, item.size, stage) if what in DIMENSIONS else (run,), run)
    if not found:
        raise UsageError("no run of this experiment was judged", place=folder, hint="name the DIR of `experiment -o`")
    return list(found.values())


def verdicts_by_judge(store: Store, runs: Sequence[str], what: What) -> Verdicts:
    """Return the rows of some runs by judge."""
    found: Verdicts = {}
    for run in dict.fromkeys(runs):
        for row in run_rows(store, run, what):
            found.setdefault(row.judge, {}).setdefault(row.content, row)
    return found


def _found(store: Store, answers: SheetAnswers[bool], what: What, runs: Sequence[str]) -> Verdicts:
    """Return the rows by judge, first those of the runs that the sheet is from, as far as they are in the database."""
    there: list[str] = []
    for run in answers.runs:
        try:
            there.append(store.runs.get(run).id)
        except RunError:
            if not runs:
                raise
    return verdicts_by_judge(store, [*there, *runs], what)


def sheet_report(
    store: Store,
    what: What,
    answers: SheetAnswers[bool],
    runs: Sequence[str] = (),
    margins: Sequence[float] = MARGINS,
    confidence: float = CONFIDENCE,
) -> Report:
    """Return the report of a sheet that people have filled in, about its own judge and those of further runs."""
    by_judge = _found(store, answers, what, runs)
    everything = {key: row for rows in reversed(by_judge.values()) for key, row in rows.items()}
    about = {name: everything[key] for name in answers.by_row if (key := name.rpartition("/")[2]) in everything}
    if not about:
        raise UsageError("none of its rows belongs to a run in this database", hint="name the database with --db")
    decided = {name: said for name in about if (said := majority(answers.by_row[name])) is not None}
    basis = (
        f"Based on {len(decided)} of {len(answers.by_row)} rows; {len(about) - len(decided)} without a majority,"
        f" {len(answers.by_row) - len(about)} not from a run in this database; {len(answers.troubles)} answers"
        " unreadable."
    )
    people = {about[name].content: said for name, said in decided.items()}
    first = _validity_table if what in DIMENSIONS else _verdict_table
    tables = [
        first(by_judge, people, what, basis),
        *([_judge_table(by_judge, list(people), basis)] if len(by_judge) > 1 else ()),
        people_table([answers.by_row[name] for name in about], basis),
        _sample_table(len(decided), len(next(iter(by_judge.values()))), basis, margins, confidence),
        trouble_table(answers.troubles, basis),
    ]
    asked = dict.fromkeys(row.asked for row in about.values())
    items: list[dict[str, object]] = [
        {"id": name, "judge": row.said, "people": answers.by_row[name], "majority": decided.get(name)}
        | ({"judges": {judge: rows[row.content].said for judge, rows in by_judge.items() if row.content in rows}}
           if len(by_judge) > 1 else {})
        for name, row in about.items()
    ]  # fmt: skip
    return Report(
        "sheet",
        f"{_TITLES[what]}: what people say",
        (f"runs: {_listed([*answers.runs, *runs])}", f"people were asked: {' '.join(asked)}"),
        {"what": what, "runs": [*answers.runs, *runs]},
        tuple(tables),
        items,
    )


def _listed(runs: Sequence[str]) -> str:
    named = list(dict.fromkeys(runs))
    return ", ".join(named[:_MAX_RUNS]) + (f" and {len(named) - _MAX_RUNS} more" if len(named) > _MAX_RUNS else "")


def judges_report(store: Store, runs: Sequence[str], what: What) -> Report:
    """Return the report of several judges, or validators, of the same rows, without people."""
    by_judge = verdicts_by_judge(store, runs, what)
    common = [key for key in next(iter(by_judge.values()), {}) if all(key in rows for rows in by_judge.values())]
    if len(by_judge) < 2 or not common:
        raise UsageError(
            f"these runs have no {what} that two judges have judged",
            hint="name runs on one summary, or of `redraft keyfacts` with one --judge and several --set validator",
        )
    basis = f"Based on {len(common)} rows that all {len(by_judge)} have judged."
    differing = [key for key in common if len({rows[key].said for rows in by_judge.values()}) > 1]
    first = next(iter(by_judge.values()))
    return Report(
        "judges",
        f"{_TITLES[what]}: judges side by side",
        (f"judges: {', '.join(by_judge)}", f"they differ on {len(differing)} of {len(common)} rows"),
        {"what": what, "runs": list(runs)},
        (_yes_table(by_judge, common, basis), _judge_table(by_judge, common, basis)),
        [
            {**first[key].shown, "asked": ASKED[first[key].group if what in DIMENSIONS else what]}
            | {"verdicts": {judge: rows[key].said for judge, rows in by_judge.items()}}
            for key in differing
        ],
    )


def _yes_table(by_judge: Verdicts, keys: Sequence[str], basis: str) -> Table:
    rows: list[Row] = []
    for judge, found in by_judge.items():
        groups = dict.fromkeys(found[key].group for key in keys if found[key].group in ASKED)
        for group in (*groups, _ALL):
            said = [found[key].said for key in keys if group in (found[key].group, _ALL)]
            share, interval = share_interval(sum(map(bool, said)), len(said))
            rows.append((judge, group, len(said), share, *interval_ends(interval)))
    caption = "The share of rows that each judge passes, finds stated, or finds supported."
    return Table("yes", "Verdicts by judge", caption, basis, ("judge", "group", "rows", "yes", *ENDS), tuple(rows))


def _judge_table(by_judge: Verdicts, keys: Sequence[str], basis: str) -> Table:
    rows: list[Row] = []
    for first, second in combinations(by_judge, 2):
        one, other = by_judge[first], by_judge[second]
        both = [key for key in keys if key in one and key in other]
        groups = dict.fromkeys(one[key].group for key in both) if any(one[key].said is not None for key in both) else {}
        dimensions = [group for group in groups if group in ASKED]
        for group in (*dimensions, _ALL):
            pairs = [(bool(one[key].said), bool(other[key].said)) for key in both if group in (one[key].group, _ALL)]
            said = tuple(zip(*pairs, strict=True)) or ((), ())
            counts = [pairs.count(pair) for pair in ((True, True), (False, False), (True, False), (False, True))]
            figures = (percent_agreement(pairs), cohens_kappa(*said), gwets_ac1(pairs))
            rows.append((first, second, group, len(pairs), *figures, *counts))
    return Table(
        "judges",
        "Agreement between judges",
        "Equal verdicts on the same rows, Cohen's kappa, Gwet's AC1; and how often both say yes, both no, or only one"
        " says yes.",
        basis,
        (
            *("first", "second", "group", "rows", "equal", "kappa", "AC1"),
            *("both yes", "both no", "first only", "second only"),
        ),
        tuple(rows),
    )


def _validity_table(by_judge: Verdicts, people: Mapping[str, bool], what: What, basis: str) -> Table:
    """Return table 2 of HAMLET: the share of passed items people find valid, and of failed ones they do not."""
    rows: list[Row] = []
    for judge, found in by_judge.items():
        asked = [(found[key], valid) for key, valid in people.items() if key in found]
        for name, passed in (("pass", True), ("fail", False)) if what == "facts" else (("asked", None),):
            shares: list[float | None] = []
            for dimension in DIMENSIONS[what]:
                those = [valid for row, valid in asked if (row.group, row.said) == (dimension, passed)]
                right = sum(valid if passed is not False else not valid for valid in those)
                share, interval = share_interval(right, len(those))
                shares.append(share)
                rows.append((judge, name, dimension, len(those), share, *interval_ends(interval)))
            whole = sum(row.said is passed for row, _ in asked)
            rows.append((judge, name, _MEAN, whole, mean(shares), None, None))
    said = (
        "Pass is right where people say yes, fail where they say no (HAMLET, table 2). The mean is that of the"
        " dimensions. Facts below a pruned one, and those without a verdict, are left out."
    )
    return Table(
        "validity",
        _TITLES[what],
        _SHARES.get(what, said),
        basis,
        ("validator" if what == "facts" else "judge", "judgment", "dimension", "rows", "right", *ENDS),
        tuple(rows),
    )


def _verdict_table(by_judge: Verdicts, people: Mapping[str, bool], what: What, basis: str) -> Table:
    """Return table 3 of HAMLET: each judge's verdicts and people's."""
    yes, no = ("stated", "missing") if what == "alignment" else ("right", "wrong")
    return Table(
        "verdicts",
        _TITLES[what],
        "Each judge's verdicts compared with the majority of people's (HAMLET, table 3): balanced accuracy is the mean"
        f" of both recalls. People say {yes}, or {no}. Full text: judged against the whole document, as in FineSurE.",
        basis,
        (
            *("judge", "rows", yes, no, "balanced accuracy", *ENDS, f"precision {yes}", f"recall {yes}"),
            *(f"precision {no}", f"recall {no}", "accuracy"),
        ),
        tuple(_verdict_rows(by_judge, people)),
    )


def _verdict_rows(by_judge: Verdicts, people: Mapping[str, bool]) -> Iterator[Row]:
    for judge, rows in by_judge.items():
        asked = [key for key in people if key in rows]
        said, right = [bool(rows[key].said) for key in asked], [people[key] for key in asked]
        separation = compare_verdicts(said, right, asked)
        yield (
            *(
                judge,
                len(asked),
                separation.right.there,
                separation.wrong.there,
                separation.balanced,
                *interval_ends(separation.interval),
            ),
            *(separation.right.precision, separation.right.recall, separation.wrong.precision, separation.wrong.recall),
            sum(one == other for one, other in zip(said, right, strict=True)) / len(asked) if asked else None,
        )


def people_table(ratings: Ratings, basis: str) -> Table:
    """Return the table on the agreement of people, by their answers: one row per item, and a column per person."""
    people = max((len(row) for row in ratings), default=0)
    by_several = sum(sum(one is not None for one in row) > 1 for row in ratings)
    figures = (percent_agreement(ratings), gwets_ac1(ratings), krippendorffs_alpha(ratings))
    return Table(
        "people",
        "Agreement between people",
        "Over the rows that two or more people answered: equal answers, and agreement beyond chance by Gwet's AC1,"
        " which HAMLET gives, and Krippendorff's alpha.",
        basis,
        ("people", "rows by several", "equal", "AC1", "alpha"),
        ((people, by_several, *figures),),
    )


def _sample_table(size: int, population: int, basis: str, margins: Sequence[float], confidence: float) -> Table:
    sizes = [sample_size(population, margin, confidence) for margin in margins]
    return Table(
        "sample",
        "Precision of the sample",
        f"By how much a share of these rows may be off, in {100 * confidence:g} of 100 samples, and how many rows it"
        " would take for others (Cochran, for a share of a half and a finite number).",
        basis,
        ("rows", "of", "margin", *(f"rows for ±{100 * margin:g}%" for margin in margins)),
        ((size, population, margin_of_error(size, population, confidence), *sizes),),
    )


def trouble_table(troubles: Sequence[FileProblem], basis: str) -> Table:
    """Return the table of the answers that could not be read."""
    rows = tuple((problem.place, problem.message) for problem in troubles)
    caption = "These answers count as not given."
    return Table("troubles", "Unreadable answers", caption, basis, ("place", "message"), rows)
