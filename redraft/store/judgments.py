"""Evaluations of drafts, and agreement figures of judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from redraft.domain import Evaluation, Finding, Round, Ruling
from redraft.store.connection import (
    Repository,
    Row,
    evidence_in,
    evidence_values,
    insert,
    record_in,
    storable,
    upsert,
    values_of,
)
from redraft.store.documents import now

# SQLite limits the number of parameters in a statement.
_AT_ONCE = 500
_OF_EVALUATION = ("metric", "version", "outcome", "score", "judged", "unjudged", "reason", "held", "details")
_OF_FINDING = (
    *("id", "kind", "task", "explanation", "sentence", "question", "found", "expected"),
    *("said_by", "read", "value", "weight", "counts", "missing"),
)
_OF_A_ROUND = ("draft", "base", "aims", "findings", "accepted", "reason", "why", "instruction", "answers", "comparison")


class Judgments(Repository):
    """The evaluations in one database."""

    def keep(self, draft: str, evaluation: Evaluation) -> None:
        """Store a metric's evaluation of a draft, replacing an earlier one."""
        with self._connection.writing_named(f"evaluation {draft} {evaluation.metric}") as raw:
            raw.execute("DELETE FROM evaluations WHERE draft = ? AND metric = ?", (draft, evaluation.metric))
            statement = f"{insert('evaluations', 'draft', *_OF_EVALUATION, 'created')} RETURNING id"
            stored = raw.execute(statement, (draft, *values_of(evaluation, _OF_EVALUATION), now())).fetchone()["id"]
            rows = [
                (stored, index, *values_of(finding, _OF_FINDING), *evidence_values(finding.evidence))
                for index, finding in enumerate(evaluation.findings)
            ]
            columns = ("evaluation", "idx", *_OF_FINDING, "evidence", "start", '"end"')
            raw.executemany(insert("findings", *columns), rows)

    def of(self, draft: str) -> dict[str, Evaluation]:
        """Return the evaluations of a draft by metric."""
        with self._connection.reading():
            rows = self._connection.rows("SELECT * FROM evaluations WHERE draft = ? ORDER BY id", (draft,))
            return {row["metric"]: self._evaluation(row) for row in rows}

    def scores(self, drafts: Sequence[str]) -> dict[str, dict[str, float | None]]:
        """The scores of some drafts by metric, read at once and without findings."""
        found: dict[str, dict[str, float | None]] = {}
        for row in self._connection.rows(
            "SELECT draft, metric, score FROM evaluations WHERE draft IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(list(drafts)),),
        ):
            found.setdefault(row["draft"], {})[row["metric"]] = row["score"]
        return found

    def _evaluation(self, row: Row) -> Evaluation:
        found = self._connection.rows("SELECT * FROM findings WHERE evaluation = ? ORDER BY idx", (row["id"],))
        findings = tuple(record_in(Finding, one, metric=row["metric"], evidence=evidence_in(one)) for one in found)
        return record_in(Evaluation, row, findings=findings)

    def keep_round(self, run: str, round_: Round) -> None:
        """Store a round, replacing an earlier version."""
        self._write(
            upsert("rounds", ("run", "number"), *_OF_A_ROUND), (run, round_.number, *values_of(round_, _OF_A_ROUND))
        )

    def forget_rounds(self, run: str, after: int) -> bool:
        """Delete the rounds after this one, because the run continues differently; return whether there were any."""
        with self._connection.writing_named() as raw:
            return raw.execute("DELETE FROM rounds WHERE run = ? AND number > ?", (run, after)).rowcount > 0

    def rounds(self, run: str) -> list[Round]:
        """Return the rounds of a run in order."""
        rows = self._connection.rows("SELECT * FROM rounds WHERE run = ? ORDER BY number", (run,))
        return [record_in(Round, row) for row in rows]

    def verdicts(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the stored verdicts on these items."""
        known: dict[str, str] = {}
        for at in range(0, len(keys), _AT_ONCE):
            some = tuple(keys[at : at + _AT_ONCE])
            marks = ", ".join("?" * len(some))
            rows = self._connection.rows(f"SELECT key, verdict FROM verdicts WHERE key IN ({marks})", some)  # noqa: S608
            known |= {row["key"]: row["verdict"] for row in rows}
        return known

    def keep_verdicts(self, verdicts: Mapping[str, str], document: str = "") -> None:
        """Store verdicts on items, all or none. The first verdict on an item is kept. They are deleted with their
        document, if one is named."""
        with self._connection.writing() as raw:
            raw.executemany(
                "INSERT INTO verdicts (key, verdict, created, document) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(key, storable(verdict), now(), document) for key, verdict in verdicts.items()],
            )

    def add_to_verdicts(
        self, verdicts: Mapping[str, str], merged: Callable[[str, str], str], document: str = ""
    ) -> None:
        """Store additional verdicts, `merged` with those known of the same items, all or none."""
        with self._connection.writing() as raw:
            for key, verdict in verdicts.items():
                row = raw.execute("SELECT verdict FROM verdicts WHERE key = ?", (key,)).fetchone()
                more = merged(row[0], verdict) if row else verdict
                raw.execute(
                    "INSERT INTO verdicts (key, verdict, created, document) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (key) DO UPDATE SET verdict = excluded.verdict",
                    (key, storable(more), now(), document),
                )


_COLUMNS = {"end": '"end"', "by": "judge"}


class Rulings(Repository):
    """The latest ruling on each finding about a document, in one database."""

    def keep(self, rulings: Iterable[Ruling]) -> None:
        """Store rulings, all or none, replacing earlier ones on the same findings."""
        key = ("document", "finding")
        names = ("verdict", "quote", "start", "end", "reason", "by", "contested", "run", "round")
        columns = [_COLUMNS.get(name, name) for name in names]
        rows = [(*values_of(ruling, (*key, *names)), now()) for ruling in rulings]
        with self._connection.writing() as raw:
            raw.executemany(upsert("rulings", key, *columns, "created"), rows)

    def of(self, document: str) -> dict[str, Ruling]:
        """Return the rulings on the findings about a document, by finding."""
        rows = self._connection.rows("SELECT * FROM rulings WHERE document = ? ORDER BY finding", (document,))
        return {row["finding"]: record_in(Ruling, row, by=row["judge"]) for row in rows}


_WHO = ("judge", "metric", "version", "prompts", "terms")
_KEY = (*_WHO, "dataset", "human", "level", "measure")
_FIGURE = ("n", "value", "low", "high", "measured")


@dataclass(frozen=True, slots=True)
class JudgeSetup:
    """A judge, metric and setup. An agreement figure is valid for exactly this combination."""

    judge: str
    """The judge's identity; of a panel, all of them."""
    metric: str
    version: int
    prompts: str
    """The hash of its prompts; empty for the built-in judge, which uses none."""
    terms: str
    """Its non-default settings as JSON."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well a judge agrees with people on something."""

    standing: Annotated[JudgeSetup, Field(exclude=True)]
    dataset: str
    human: str
    """What people were asked."""
    level: str
    """The unit compared: summaries, systems or sentences."""
    measure: str
    n: int
    value: float
    low: float | None
    high: float | None
    measured: str
    """The date of measurement."""


class Agreements(Repository):
    """The agreement figures in one database."""

    def keep(self, agreement: Agreement) -> None:
        """Store a figure, replacing an earlier measurement of the same."""
        dated = agreement if agreement.measured else replace(agreement, measured=now()[:10])
        values = (*values_of(agreement.standing, _WHO), *values_of(dated, (*_KEY[len(_WHO) :], *_FIGURE)))
        with self._connection.writing() as raw:
            raw.execute(upsert("agreements", _KEY, *_FIGURE), values)

    def of(self, standing: JudgeSetup) -> list[Agreement]:
        """Return the figures of a judge, earliest first."""
        rows = self._connection.rows(
            "SELECT * FROM agreements WHERE judge = ? AND metric = ? AND version = ? AND prompts = ? AND terms = ?"
            " ORDER BY measured, dataset, level, measure",
            values_of(standing, _WHO),
        )
        return [_agreement(row) for row in rows]

    def all(self) -> list[Agreement]:
        """Return all figures."""
        return [
            _agreement(row) for row in self._connection.rows("SELECT * FROM agreements ORDER BY judge, metric, dataset")
        ]


def _agreement(row: Row) -> Agreement:
    return record_in(Agreement, row, standing=record_in(JudgeSetup, row))


@dataclass(frozen=True, slots=True)
class HumanOpinion:
    """A person's opinion on a finding of a run."""

    run: str
    finding: str
    draft: str
    """The draft that has the finding."""
    agrees: bool
    """Whether the person agrees that it is an error."""
    note: str = ""
    said: str = ""
    """The time."""


class HumanOpinions(Repository):
    """The latest opinion on each finding, in one database."""

    def keep(self, opinion: HumanOpinion) -> HumanOpinion:
        """Store an opinion, replacing an earlier one on the same finding; return it as stored."""
        human_opinion = replace(opinion, note=storable(opinion.note), said=now())
        with self._connection.writing() as raw:
            raw.execute(
                upsert("opinions", ("run", "finding"), "draft", "agrees", "note", "said"),
                (
                    human_opinion.run,
                    human_opinion.finding,
                    human_opinion.draft,
                    int(human_opinion.agrees),
                    human_opinion.note,
                    human_opinion.said,
                ),
            )
        return human_opinion

    def withdraw(self, run: str, finding: str) -> None:
        """Delete the opinion on a finding."""
        with self._connection.writing() as raw:
            raw.execute("DELETE FROM opinions WHERE run = ? AND finding = ?", (run, finding))

    def of(self, run: str) -> dict[str, HumanOpinion]:
        """Return the opinions on a run's findings, by finding."""
        rows = self._connection.rows("SELECT * FROM opinions WHERE run = ? ORDER BY said, finding", (run,))
        return {row["finding"]: record_in(HumanOpinion, row) for row in rows}
