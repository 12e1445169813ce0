"""What people say: how far judges were found to agree with them, and what they think of single findings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic_core import to_jsonable_python

from redraft.store.connection import Connection, Row, storable, upsert
from redraft.store.documents import now
from redraft.store.records import record_in, values_of

_WHO = ("judge", "metric", "version", "prompts", "terms")
_KEY = (*_WHO, "dataset", "human", "level", "measure")
_FIGURE = ("n", "value", "low", "high", "measured")


@dataclass(frozen=True, slots=True)
class JudgeSetup:
    """Who judges, by which metric and how: a figure holds for this and for nothing else."""

    judge: str
    """Its identity; of several all of them."""
    metric: str
    version: int
    prompts: str
    """What stands for the prompts that it is asked by; empty for the built-in judge, which goes by none."""
    terms: str
    """How it judges otherwise than usual, as JSON."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with people about something."""

    standing: JudgeSetup
    dataset: str
    human: str
    """What people were asked."""
    level: str
    """Of what it is a figure: summaries, systems, sentences."""
    measure: str
    n: int
    value: float
    low: float | None
    high: float | None
    measured: str
    """The day."""

    def to_json(self) -> dict[str, object]:
        """The figure as programs read it, without whose it is."""
        shown: dict[str, object] = to_jsonable_python(self)
        del shown["standing"]
        return shown


class Agreements:
    """The figures of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, agreement: Agreement) -> None:
        """Put a figure on record, in place of what was measured before of the same."""
        dated = agreement if agreement.measured else replace(agreement, measured=now()[:10])
        values = (*values_of(agreement.standing, _WHO), *values_of(dated, (*_KEY[len(_WHO) :], *_FIGURE)))
        with self._connection.writing() as raw:
            raw.execute(upsert("agreements", _KEY, *_FIGURE), values)

    def of(self, standing: JudgeSetup) -> list[Agreement]:
        """What is on record of a judge, the earliest first."""
        rows = self._connection.rows(
            "SELECT * FROM agreements WHERE judge = ? AND metric = ? AND version = ? AND prompts = ? AND terms = ?"
            " ORDER BY measured, dataset, level, measure",
            values_of(standing, _WHO),
        )
        return [_agreement(row) for row in rows]

    def all(self) -> list[Agreement]:
        """All that is on record."""
        return [
            _agreement(row) for row in self._connection.rows("SELECT * FROM agreements ORDER BY judge, metric, dataset")
        ]


def _agreement(row: Row) -> Agreement:
    return record_in(Agreement, row, standing=record_in(JudgeSetup, row))


@dataclass(frozen=True, slots=True)
class HumanOpinion:
    """A person's word on a finding of a run."""

    run: str
    finding: str
    draft: str
    """The draft of which it was found."""
    agrees: bool
    """Whether it is wrong indeed."""
    note: str = ""
    said: str = ""
    """When."""


class HumanOpinions:
    """The opinions of one database: on each finding of a run the latest word."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, opinion: HumanOpinion) -> HumanOpinion:
        """Store an opinion, in place of what was said of the same finding before; returns it as it is stored."""
        kept = replace(opinion, note=storable(opinion.note), said=now())
        with self._connection.writing() as raw:
            raw.execute(
                upsert("opinions", ("run", "finding"), "draft", "agrees", "note", "said"),
                (kept.run, kept.finding, kept.draft, int(kept.agrees), kept.note, kept.said),
            )
        return kept

    def withdraw(self, run: str, finding: str) -> None:
        """Have no opinion on a finding any more."""
        with self._connection.writing() as raw:
            raw.execute("DELETE FROM opinions WHERE run = ? AND finding = ?", (run, finding))

    def of(self, run: str) -> dict[str, HumanOpinion]:
        """The opinions on a run's findings, by the finding."""
        rows = self._connection.rows("SELECT * FROM opinions WHERE run = ? ORDER BY said, finding", (run,))
        return {row["finding"]: record_in(HumanOpinion, row) for row in rows}
