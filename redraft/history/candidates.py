"""The drafts among which a run has chosen, as they stand in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redraft.domain import Evaluation
from redraft.settings import FIGURES
from redraft.store.runs import Run
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """One of several drafts, with its scores, and whether it was chosen; None before one was."""

    number: int
    run: str
    """Which run has drafted it: the run itself, or one that was made for it."""
    strategy: str
    draft: str | None
    words: int | None
    scores: Mapping[str, float | None]
    chosen: bool | None
    reason: str

    def said(self, count: int) -> str:
        """The candidate in a line."""
        scores = [f"{name} {'no score' if its is None else f'{its:.2f}'}" for name, its in self.scores.items()]
        verdict = "not settled yet" if self.chosen is None else "chosen" if self.chosen else "not chosen"
        told = ", ".join([self.strategy, *scores, f"{verdict}{f': {self.reason}' if self.reason else ''}"])
        return f"candidate {self.number} of {count}: {told}"


def candidates_of(store: Store, run: Run) -> tuple[CandidateResult, ...]:
    """The candidates of a run, in their order; none of a run that makes one draft."""
    found: list[CandidateResult] = []
    for one in store.candidates.of(run.id):
        draft = store.runs.draft(one.draft) if one.draft else None
        judged: Mapping[str, Evaluation] = store.judgments.of(one.draft) if one.draft and run.judging else {}
        wanted = run.refinement.goals if run.refinement else run.judging.metrics if run.judging else ()
        scores = {name: judged[name].score for name in wanted if name in judged and name not in FIGURES}
        settings = store.runs.get(one.run).settings if one.run else run.settings
        words = draft.words if draft else None
        made = (one.run or run.id, settings.strategy, one.draft or None, words)
        found.append(CandidateResult(one.number, *made, scores, one.chosen, one.reason))
    return tuple(found)
