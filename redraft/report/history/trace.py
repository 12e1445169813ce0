"""The trace of a run: its rounds, each with its draft, the judgment of it and what it was to fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from pydantic import Field

from redraft.domain import REVIEW, Draft, Evaluation, Finding, Round, computed, record_json
from redraft.errors import RunError
from redraft.report.history.results import (
    UNSCORED,
    Result,
    evaluations_of,
    findings_in,
    read_result,
    request_outcomes,
    scores_in,
)
from redraft.store.runs import Run
from redraft.store.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RoundTrace:
    """One round: its draft, the evaluations of it, and the findings on its base that it was to fix."""

    round: Round
    draft: Draft
    evaluations: Annotated[Mapping[str, Evaluation], Field(exclude=True)]
    to_fix: tuple[Finding, ...]

    @computed
    def scores(self) -> dict[str, float | None]:
        """The draft's scores by metric; None if it could not be scored."""
        return scores_in(self.evaluations)

    @computed
    def metrics(self) -> dict[str, dict[str, Any]]:
        """The evaluations by metric as JSON, each with its findings."""
        return {name: record_json(evaluation) for name, evaluation in self.evaluations.items()}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings on the draft."""
        return findings_in(self.evaluations)


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run with its rounds. A run without refinement has one round; a run without a draft, or one that compares two,
    has none."""

    result: Result
    rounds: tuple[RoundTrace, ...]

    @property
    def run(self) -> Run:
        """The run."""
        return self.result.run

    @computed
    def policy(self) -> str | None:
        """The policy that chose what each round was to fix; None without refinement."""
        return self.run.refinement.policy if self.run.refinement else None

    def turn(self, number: int) -> RoundTrace:
        """Return the round with this number. Raises a `RunError` that lists the rounds if there is none."""
        for turn in self.rounds:
            if turn.round.number == number:
                return turn
        numbers = ", ".join(str(turn.round.number) for turn in self.rounds) or "none yet"
        raise RunError(f"run {self.run.id} has no round {number}", hint=f"its rounds are: {numbers}")

    def number(self, draft: str | None) -> int | None:
        """Return the number of the round that made a draft; None if no round did."""
        return next((turn.round.number for turn in self.rounds if turn.draft.id == draft), None)


def read_trace(store: Store, key: str) -> RunTrace:
    """Return the rounds of a run, finished or not. Raises a `RunError` if there is no run with this id."""
    result = read_result(store, key)
    run, rounds = result.run, list(result.rounds)
    if not rounds and run.draft is not None and run.kind != "compare":
        rounds = [Round(0, run.draft)]
    by_draft = {round_.draft: evaluations_of(store, round_.draft, result.outline) for round_ in rounds}
    turns = []
    for round_ in rounds:
        evaluations = _in_order(run, by_draft[round_.draft])
        base = {finding.id: finding for finding in findings_in(by_draft.get(round_.base or "", {}))}
        to_fix = tuple(base[key] for key in round_.findings if key in base)
        turns.append(RoundTrace(round_, store.runs.draft(round_.draft), evaluations, to_fix))
    return RunTrace(result, tuple(turns))


def result_at_round(store: Store, result: Result, number: int) -> Result:
    """Return the result as it would be with the draft of a round. Raises a `RunError` if there is no such round."""
    trace = read_trace(store, result.run.id)
    result.run.drafted()
    turn = trace.turn(number)
    last = trace.rounds[-1].round.number
    of_round = replace(result, draft=turn.draft, evaluations=turn.evaluations)
    if number == last:
        return of_round
    # What came later, and how the run ended, is no part of this round.
    rounds = tuple(round_ for round_ in result.rounds if round_.number <= number)
    return replace(
        of_round,
        run=replace(result.run, stop_reason=None, why=""),
        rounds=rounds,
        round_shown=f"round {number} of {last}",
        lost=tuple(lost for lost in result.lost if lost <= number),
        requests=tuple(request_outcomes(store, rounds)),
    )


def scores_of(store: Store, runs: Sequence[Run]) -> list[dict[str, float | None]]:
    """Return the scores of the result of each run, or of what it has so far."""
    by_draft = store.judgments.scores([run.draft for run in runs if run.draft])
    results = [_in_order(run, by_draft.get(run.draft or "", {}) if run.judging else {}) for run in runs]
    return [{name: score for name, score in scores.items() if name not in UNSCORED} for scores in results]


def _in_order(run: Run, values: Mapping[str, T]) -> dict[str, T]:
    """Return values by metric in the order of the run's metrics, then the statistics, then a person's requests."""
    metrics = [*(run.judging.reported_metrics if run.judging else ()), REVIEW]
    return {name: values[name] for name in metrics if name in values}
