"""The report of filled-in sheets. It needs the extra `agreement`, which reading and writing sheets does not."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.errors import UsageError
from redraft.lab.agreement.correlation import told
from redraft.lab.agreement.people import equal_share, gwets_ac1, krippendorffs_alpha
from redraft.lab.agreement.sheets import (
    ASKED,
    MARGINS,
    SheetAnswers,
    SheetRow,
    What,
    majority,
    margin_of,
    needed,
    questions,
    share_of,
)
from redraft.lab.agreement.tables import ends
from redraft.lab.experiments.frames import ENDS, Row
from redraft.report.tables import Report, Table
from redraft.store.store import Store

_TITLES: dict[What, str] = {
    "facts": "Validity of key facts",
    "queries": "Validity of queries",
    "alignment": "Alignment of key facts",
    "verification": "Verification of sentences",
    "claims": "Verdicts on claims",
}
_ALL = "all"


def sheet_report(store: Store, answers: SheetAnswers) -> Report:
    """Return the report of a sheet that people have filled in."""
    everything = {one.id: one for one in questions(store, answers.runs, answers.what)}
    known = {name: everything[name] for name in answers.by_row if name in everything}
    if not known:
        raise UsageError("none of its rows belongs to a run in this database", hint="name the database with --db")
    decided = {name: said for name in known if (said := majority(answers.by_row[name])) is not None}
    basis = (
        f"Based on {len(decided)} of {len(answers.by_row)} rows; {len(known) - len(decided)} without a majority,"
        f" {len(answers.by_row) - len(known)} not from a run in this database; {len(answers.troubles)} answers"
        " unreadable."
    )
    asked = [(one, decided[name]) for name, one in known.items() if name in decided]
    tables = [_people_table(answers, list(known), basis), _sample_table(len(decided), len(everything), basis)]
    if answers.what in ("facts", "queries"):
        tables.insert(0, _validity_table(asked, answers.what, basis))
    else:
        tables.insert(0, _verdict_table(asked, answers.what, basis))
    return Report(
        "sheet",
        f"{_TITLES[answers.what]}: what people say",
        (f"runs: {', '.join(answers.runs)}", f"people were asked: {ASKED[answers.what]}"),
        {"what": answers.what, "runs": answers.runs},
        (*tables, _trouble_table(answers, basis)),
        [
            {"id": name, "judge": one.said, "people": answers.by_row[name], "majority": decided.get(name)}
            for name, one in known.items()
        ],
    )


def _validity_table(asked: Sequence[tuple[SheetRow, bool]], what: What, basis: str) -> Table:
    """Return table 2 of HAMLET: the share of passed items people find valid, and of failed ones they do not."""
    rows: list[Row] = []
    for group in (*dict.fromkeys(question.group for question, _ in asked), _ALL):
        own = [(question, valid) for question, valid in asked if group in (question.group, _ALL)]
        for name, passed in (("pass", True), ("fail", False)) if what == "facts" else (("asked", None),):
            those = [valid for question, valid in own if question.said is passed]
            right = sum(valid if passed is not False else not valid for valid in those)
            share, interval = share_of(right, len(those))
            rows.append((group, name, len(those), share, *ends(interval)))
    said = "Passing is right where people find a fact valid, failing where they do not (HAMLET, table 2)."
    return Table(
        "validity",
        _TITLES[what],
        said if what == "facts" else "The share of queries that people find valid.",
        basis,
        ("level" if what == "facts" else "perspective", "judgment", "rows", "right", *ENDS),
        tuple(rows),
    )


def _verdict_table(asked: Sequence[tuple[SheetRow, bool]], what: What, basis: str) -> Table:
    """Return table 3 of HAMLET: the judge's verdicts and people's."""
    said = [bool(question.said) for question, _ in asked]
    people = [right for _, right in asked]
    found = told(said, people, [question.id for question, _ in asked])
    row: Row = (
        *(len(asked), found.right.there, found.wrong.there, found.balanced, *ends(found.interval)),
        *(found.right.precision, found.right.recall, found.wrong.precision, found.wrong.recall),
        sum(one == other for one, other in zip(said, people, strict=True)) / len(asked) if asked else None,
    )
    yes, no = ("stated", "missing") if what == "alignment" else ("right", "wrong")
    return Table(
        "verdicts",
        _TITLES[what],
        "The judge's verdicts beside the majority of people's (HAMLET, table 3): balanced accuracy is the mean of both"
        f" recalls. People say {yes}, or {no}.",
        basis,
        (
            *("rows", yes, no, "balanced accuracy", *ENDS, f"precision {yes}", f"recall {yes}"),
            *(f"precision {no}", f"recall {no}", "accuracy"),
        ),
        (row,),
    )


def _people_table(answers: SheetAnswers, known: Sequence[str], basis: str) -> Table:
    ratings = [answers.by_row[name] for name in known]
    people = max((len(row) for row in ratings), default=0)
    by_several = sum(sum(one is not None for one in row) > 1 for row in ratings)
    figures = (equal_share(ratings), gwets_ac1(ratings), krippendorffs_alpha(ratings))
    return Table(
        "people",
        "Agreement between people",
        "Over the rows that two or more people answered: equal answers, and agreement beyond chance by Gwet's AC1,"
        " which HAMLET gives, and Krippendorff's alpha.",
        basis,
        ("people", "rows by several", "equal", "AC1", "alpha"),
        ((people, by_several, *figures),),
    )


def _sample_table(size: int, population: int, basis: str) -> Table:
    sizes = [needed(population, margin) for margin in MARGINS]
    return Table(
        "sample",
        "Precision of the sample",
        "By how much a share of these rows may be off, in 95 of 100 samples, and how many rows it would take for others"
        " (Cochran, for a share of a half and a finite number).",
        basis,
        ("rows", "of", "margin", *(f"rows for ±{margin:.0%}" for margin in MARGINS)),
        ((size, population, margin_of(size, population), *sizes),),
    )


def _trouble_table(answers: SheetAnswers, basis: str) -> Table:
    return Table(
        "troubles",
        "Unreadable answers",
        "These answers count as not given.",
        basis,
        ("place", "message"),
        tuple((one.place, one.message) for one in answers.troubles),
    )
