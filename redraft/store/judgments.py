"""Evaluations of drafts, rounds, rulings on findings, and people's opinions of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from redraft.domain import Evaluation, Round, Ruling
from redraft.settings import LISTED_METRICS
from redraft.store.connection import Connection
from redraft.store.table import IN_LIST, Cache, RecordTable, in_list, ordered, run_records

T = TypeVar("T")


def _in_order(by_metric: Mapping[str, T]) -> dict[str, T]:
    """Return what there is by metric, in the order in which metrics are listed: they are judged at the same time."""
    listed = (metric for metric in LISTED_METRICS if metric in by_metric)
    return {metric: by_metric[metric] for metric in dict.fromkeys((*listed, *by_metric))}


class Judgments:
    """The evaluations, rounds and verdicts in one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._evaluations = RecordTable(
            connection,
            *("evaluations", Evaluation, ("draft", "metric")),
            row=lambda evaluation: {"metric": evaluation.metric, "score": evaluation.score},
            order="rowid",
        )
        self._rounds = run_records(connection, "round", Round, row=lambda round_: {"key": ordered(round_.number)})
        self.rounds = self._rounds.of
        """Returns the rounds of a run in order."""
        self._verdicts = Cache(connection, "verdict")
        self.verdicts = self._verdicts.find
        """Returns the stored verdicts on these items, by their keys."""

    def keep(self, draft: str, evaluation: Evaluation) -> None:
        """Store a metric's evaluation of a draft, replacing an earlier one."""
        # The place of a finding is that of its evidence, which its document tells.
        findings = tuple(replace(finding, place=None) for finding in evaluation.findings)
        self._evaluations.put(replace(evaluation, findings=findings), draft=draft)

    def of(self, draft: str) -> dict[str, Evaluation]:
        """Return the evaluations of a draft by metric."""
        return _in_order(self._evaluations.by("metric", draft=draft))

    def scores(self, drafts: Sequence[str]) -> dict[str, dict[str, float | None]]:
        """The scores of some drafts by metric, read at once and without findings."""
        scores: dict[str, dict[str, float | None]] = {}
        query = f"SELECT draft, metric, score FROM evaluations WHERE draft {IN_LIST} ORDER BY rowid"  # noqa: S608
        for row in self._connection.rows(query, (in_list(drafts),)):
            scores.setdefault(row["draft"], {})[row["metric"]] = row["score"]
        return {draft: _in_order(of_draft) for draft, of_draft in scores.items()}

    def keep_round(self, run: str, round_: Round) -> None:
        """Store a round, replacing an earlier version."""
        self._rounds.put(round_, run=run)

    def forget_rounds(self, run: str, after: int) -> bool:
        """Delete the rounds after this one, because the run continues differently; return whether there were any."""
        statement = "DELETE FROM records WHERE run = ? AND kind = 'round' AND key > ?"
        with self._connection.writing() as raw:
            return bool(raw.execute(statement, (run, ordered(after))).rowcount)

    def keep_verdicts(self, verdicts: Mapping[str, str], document: str = "") -> None:
        """Store verdicts on items, all or none. The first verdict on an item is kept. They are deleted with their
        document, if one is named."""
        self._verdicts.put(verdicts, document, keep=True)

    def add_to_verdicts(
        self, verdicts: Mapping[str, str], merged: Callable[[str, str], str], document: str = ""
    ) -> None:
        """Store additional verdicts, `merged` with those known of the same items, all or none."""
        with self._connection.writing():
            stored = self._verdicts.find(list(verdicts))
            new = {key: merged(stored[key], verdict) if key in stored else verdict for key, verdict in verdicts.items()}
            self._verdicts.put(new, document)


def rulings_in(connection: Connection) -> RecordTable[Ruling]:
    """Return the latest ruling on each finding about a document."""
    return RecordTable(
        *(connection, "artifacts", Ruling, ("kind", "id", "document"), "ruling"),
        columns=("document",),
        row=lambda ruling: {"id": ruling.finding},
        order="id",
    )


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
