"""What the store knows of a refinement, round by round. Pure reading: nothing is asked and nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from pydantic_core import to_jsonable_python

from redraft.domain import REVIEW, Document, Draft, Evaluation, Finding, Round
from redraft.errors import RunError
from redraft.evaluators.panel import withdrawn
from redraft.report.history.certificates import Certificate, certificates
from redraft.report.history.results import Result, comparison_json, figures, finding_json, read_result
from redraft.rulings import Lookup
from redraft.settings import FIGURES
from redraft.store.runs import Run
from redraft.store.store import Store

# What is said of a draft without a score: a person's requests, and the figures.
_UNSCORED = {REVIEW, *FIGURES}


@dataclass(frozen=True, slots=True)
class Turn:
    """One round: its draft, what was said of it, and the findings on its base that it was to mend."""

    made: Round
    draft: Draft
    evaluations: Mapping[str, Evaluation]
    mending: tuple[Finding, ...]
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    """By metric what stands behind the draft's score."""
    lookups: tuple[Lookup, ...] = ()
    """What a model has looked up before it decided on this round."""

    @property
    def scores(self) -> dict[str, float | None]:
        """The draft's scores by metric, None where it could not be scored."""
        return _scores(self.evaluations)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that was found wrong with the draft."""
        return tuple(finding for one in self.evaluations.values() for finding in one.findings)

    def heading(self) -> dict[str, object]:
        """Which draft this is, and how good, as programs read it."""
        return {
            "round": self.made.number,
            "draft": self.made.draft,
            "words": self.draft.words,
            "scores": self.scores,
        }


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run with its rounds. One without a refinement has one round; one without a draft, or with two of them that it
    compares, has none.
    """

    result: Result
    turns: tuple[Turn, ...]
    lookups: tuple[Lookup, ...] = ()
    """What a model has looked up since the last round, as before it stopped."""

    @property
    def run(self) -> Run:
        """The run itself."""
        return self.result.run

    def turn(self, number: int) -> Turn:
        """The round with this number, or an error that names those that there are."""
        for turn in self.turns:
            if turn.made.number == number:
                return turn
        there = ", ".join(str(turn.made.number) for turn in self.turns) or "none yet"
        raise RunError(f"run {self.run.id} has no round {number}", hint=f"its rounds are: {there}")

    def number(self, draft: str | None) -> int | None:
        """The round that made a draft."""
        return next((turn.made.number for turn in self.turns if turn.draft.id == draft), None)

    def to_json(self) -> dict[str, object]:
        """The contract of `trace --json`."""
        run, own = self.run, self.result.chapters
        parts: dict[str, object] = {"chapters": [one.to_json() for one in own]} if own else {}
        candidates = self.result.candidates
        parts |= {"candidates": to_jsonable_python(candidates)} if candidates else {}
        return {
            "run": run.id,
            "kind": run.kind,
            "strategy": run.settings.strategy,
            "strategy_reason": run.settings.chosen,
            "parent": run.parent,
            "status": self.result.status,
            "stop_reason": run.stop_reason,
            "why": run.why,
            "policy": run.refinement.policy if run.refinement else None,
            "goals": self.result.goals,
            "self_check": bool(self.result.self_checked),
            "rounds": [_turn_json(turn, self.result.outline) for turn in self.turns],
            "lookups": to_jsonable_python(self.lookups),
            "final_comparison": comparison_json(self.result.compared),
            "usage": asdict(self.result.usage),
        } | parts


def read_trace(store: Store, key: str) -> RunTrace:
    """The rounds of a run, also of one that is not done. Raises a `RunError` where there is none of this id."""
    result = read_result(store, key)
    run, rounds = result.run, list(result.rounds)
    if not rounds and run.draft is not None and run.kind != "compare":
        rounds = [Round(0, run.draft)]
    judged = {made.draft: store.judgments.of(made.draft) for made in rounds}
    looked_up = store.judgments.lookups(run.id)
    turns = tuple(
        Turn(
            made,
            store.runs.draft(made.draft),
            _in_order(run, judged[made.draft]),
            tuple(_mending(made, judged.get(made.base or "", {}))),
            certificates(store, run, _scored(judged[made.draft])),
            tuple(looked_up.pop(made.number, ())),
        )
        for made in rounds
    )
    return RunTrace(result, turns, tuple(one for some in looked_up.values() for one in some))


def at_round(store: Store, result: Result, number: int) -> Result:
    """The result as it would be with the draft of a round. Raises a `RunError` for a round that there is not."""
    trace = read_trace(store, result.run.id)
    there = [turn.made.number for turn in trace.turns]
    if number not in there:
        several = f"has rounds {there[0]} to {there[-1]}" if len(there) > 1 else "has round 0 alone"
        which = several if there else "has no rounds"
        raise RunError(f"run {result.run.id} {which}", hint=f"redraft trace {result.run.id} tells of them")
    turn = trace.turn(number)
    return replace(result, draft=turn.draft, evaluations=turn.evaluations, certificates=turn.certificates)


def scores_of(store: Store, run: Run) -> dict[str, float | None]:
    """The scores of a run's result, or of what it has so far."""
    known = store.judgments.of(run.draft) if run.draft and run.judging else {}
    return _scores(_in_order(run, known))


def _scores(evaluations: Mapping[str, Evaluation]) -> dict[str, float | None]:
    return {name: one.score for name, one in evaluations.items() if name not in _UNSCORED}


def _scored(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """What judges say, and not a person who asks for something."""
    return {name: one for name, one in evaluations.items() if name not in _UNSCORED}


def _in_order(run: Run, judged: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """The evaluations in the order of the run's metrics, then the statistics, and a person's requests last."""
    wanted = [*(run.judging.reported if run.judging else ()), REVIEW]
    return {name: judged[name] for name in wanted if name in judged}


def _mending(made: Round, judged: Mapping[str, Evaluation]) -> Iterator[Finding]:
    known = {finding.id: finding for one in judged.values() for finding in one.findings}
    return (known[key] for key in made.findings if key in known)


def _turn_json(turn: Turn, document: Document) -> dict[str, object]:
    made = turn.made
    return {
        **turn.heading(),
        "base": made.base,
        "text": turn.draft.text,
        "aims": list(made.aims),
        "mending": list(made.findings),
        "accepted": made.accepted,
        "reason": made.reason,
        "why": made.why,
        "instruction": made.instruction,
        "answers": to_jsonable_python(made.answers),
        "lookups": to_jsonable_python(turn.lookups),
        "unjudged": {name: one.unjudged for name, one in turn.evaluations.items() if name not in _UNSCORED},
        "certificates": {name: one.to_json() for name, one in turn.certificates.items()},
        "missing": {name: list(one.missing) for name, one in turn.evaluations.items() if one.missing},
        "withdrawn": {name: found for name, one in turn.evaluations.items() if (found := withdrawn(one))},
        "statistics": figures(turn.evaluations),
        "findings": [finding_json(finding, document) for finding in turn.findings],
    }
