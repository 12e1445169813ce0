"""Evaluations of drafts, and agreement figures of judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Annotated

from pydantic import Field

from redraft.domain import Evaluation, Round, Ruling
from redraft.store.connection import Repository, body_of, insert, json_text, record_in, storable, upsert
from redraft.store.documents import now, ordered, records_of

_RECORD = upsert("records", ("run", "kind", "key"), "body")


class Judgments(Repository):
    """The evaluations in one database."""

    def keep(self, draft: str, evaluation: Evaluation) -> None:
        """Store a metric's evaluation of a draft, replacing an earlier one."""
        # The place of a finding is that of its evidence, which its document tells.
        bare = replace(evaluation, findings=tuple(replace(finding, place=None) for finding in evaluation.findings))
        values = (draft, evaluation.metric, evaluation.score, body_of(bare))
        with self._connection.writing("names", f"evaluation {draft} {evaluation.metric}") as raw:
            raw.execute("DELETE FROM evaluations WHERE draft = ? AND metric = ?", values[:2])
            raw.execute(insert("evaluations", "draft", "metric", "score", "body"), values)

    def of(self, draft: str) -> dict[str, Evaluation]:
        """Return the evaluations of a draft by metric."""
        rows = self._connection.rows("SELECT * FROM evaluations WHERE draft = ? ORDER BY rowid", (draft,))
        return {row["metric"]: record_in(Evaluation, row) for row in rows}

    def scores(self, drafts: Sequence[str]) -> dict[str, dict[str, float | None]]:
        """The scores of some drafts by metric, read at once and without findings."""
        scores: dict[str, dict[str, float | None]] = {}
        query = "SELECT draft, metric, score FROM evaluations WHERE draft IN (SELECT value FROM json_each(?))"
        for row in self._connection.rows(f"{query} ORDER BY rowid", (json.dumps(list(drafts)),)):
            scores.setdefault(row["draft"], {})[row["metric"]] = row["score"]
        return scores

    def keep_round(self, run: str, round_: Round) -> None:
        """Store a round, replacing an earlier version."""
        self._write(_RECORD, (run, "round", ordered(round_.number), body_of(round_)))

    def forget_rounds(self, run: str, after: int) -> bool:
        """Delete the rounds after this one, because the run continues differently; return whether there were any."""
        statement = "DELETE FROM records WHERE run = ? AND kind = 'round' AND key > ?"
        with self._connection.writing("names") as raw:
            return raw.execute(statement, (run, ordered(after))).rowcount > 0

    def rounds(self, run: str) -> list[Round]:
        """Return the rounds of a run in order."""
        return [record_in(Round, row) for row in records_of(self._connection, run, "round")]

    def verdicts(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the stored verdicts on these items."""
        rows = self._connection.rows(
            "SELECT key, body FROM cache WHERE kind = 'verdict' AND key IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )
        return {row["key"]: row["body"] for row in rows}

    def keep_verdicts(self, verdicts: Mapping[str, str], document: str = "") -> None:
        """Store verdicts on items, all or none. The first verdict on an item is kept. They are deleted with their
        document, if one is named."""
        with self._connection.writing() as raw:
            raw.executemany(
                "INSERT INTO cache (kind, key, owner, body) VALUES ('verdict', ?, ?, ?) ON CONFLICT DO NOTHING",
                [(key, document, storable(verdict)) for key, verdict in verdicts.items()],
            )

    def add_to_verdicts(
        self, verdicts: Mapping[str, str], merged: Callable[[str, str], str], document: str = ""
    ) -> None:
        """Store additional verdicts, `merged` with those known of the same items, all or none."""
        with self._connection.writing() as raw:
            for key, verdict in verdicts.items():
                row = raw.execute("SELECT body FROM cache WHERE kind = 'verdict' AND key = ?", (key,)).fetchone()
                more = storable(merged(row["body"], verdict) if row else verdict)
                raw.execute(
                    "INSERT INTO cache (kind, key, owner, body) VALUES ('verdict', ?, ?, ?)"
                    " ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
                    (key, document, more),
                )


class Rulings(Repository):
    """The latest ruling on each finding about a document, in one database."""

    def keep(self, rulings: Iterable[Ruling]) -> None:
        """Store rulings, all or none, replacing earlier ones on the same findings."""
        rows = [(ruling.finding, ruling.document, ruling.by, now(), body_of(ruling)) for ruling in rulings]
        with self._connection.writing() as raw:
            raw.executemany(
                "INSERT INTO artifacts (kind, id, document, key, model, items, missing, imported, created, body)"
                " VALUES ('ruling', ?, ?, '', ?, 1, 0, 0, ?, ?) ON CONFLICT (kind, id, document) DO UPDATE SET"
                " model = excluded.model, created = excluded.created, body = excluded.body",
                rows,
            )

    def of(self, document: str) -> dict[str, Ruling]:
        """Return the rulings on the findings about a document, by finding."""
        query = "SELECT * FROM artifacts WHERE document = ? AND kind = 'ruling' ORDER BY id"
        return {row["id"]: record_in(Ruling, row) for row in self._connection.rows(query, (document,))}


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
        what = (agreement.dataset, agreement.human, agreement.level, agreement.measure)
        key = json_text((*astuple(agreement.standing), *what))
        with self._connection.writing() as raw:
            raw.execute(upsert("knowledge", ("kind", "key"), "body"), ("agreement", key, json_text(asdict(dated))))

    def of(self, standing: JudgeSetup) -> list[Agreement]:
        """Return the figures of a judge, earliest first."""
        judge = json_text(asdict(standing))
        figures = [figure for figure in self.all() if json_text(asdict(figure.standing)) == judge]
        return sorted(figures, key=lambda figure: (figure.measured, figure.dataset, figure.level, figure.measure))

    def all(self) -> list[Agreement]:
        """Return all figures."""
        rows = self._connection.rows("SELECT body FROM knowledge WHERE kind = 'agreement' ORDER BY key")
        return [record_in(Agreement, row) for row in rows]


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
        values = (opinion.run, "opinion", opinion.finding, body_of(human_opinion))
        with self._connection.writing() as raw:
            raw.execute(_RECORD, values)
        return human_opinion

    def withdraw(self, run: str, finding: str) -> None:
        """Delete the opinion on a finding."""
        with self._connection.writing() as raw:
            raw.execute("DELETE FROM records WHERE run = ? AND kind = 'opinion' AND key = ?", (run, finding))

    def of(self, run: str) -> dict[str, HumanOpinion]:
        """Return the opinions on a run's findings, by finding, earliest first."""
        opinions = [record_in(HumanOpinion, row) for row in records_of(self._connection, run, "opinion")]
        return {opinion.finding: opinion for opinion in sorted(opinions, key=lambda opinion: opinion.said)}
