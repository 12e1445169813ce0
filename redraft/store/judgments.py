"""Evaluations of drafts, and people's opinions of their findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from redraft.domain import Evaluation
from redraft.settings import LISTED_METRICS
from redraft.store.connection import Connection
from redraft.store.table import IN_LIST, RecordTable, in_list

T = TypeVar("T")


def _in_order(by_metric: Mapping[str, T]) -> dict[str, T]:
    """Return what there is by metric, in the order in which metrics are listed: they are judged at the same time."""
    listed = (metric for metric in LISTED_METRICS if metric in by_metric)
    return {metric: by_metric[metric] for metric in dict.fromkeys((*listed, *by_metric))}


class Judgments:
    """The evaluations in one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._evaluations = RecordTable(
            connection,
            *("evaluations", Evaluation, ("draft", "metric")),
            row=lambda evaluation: {"metric": evaluation.metric, "score": evaluation.score},
            order="rowid",
        )

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
