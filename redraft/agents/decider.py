"""The decider: a model that leads the revision. It sees the scoreboard and may look things up before it decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge
from redraft.domain import Finding, Round
from redraft.errors import RejectedRequest, ReplyError
from redraft.prompts.deciding import DECIDE, DecideGiven, Decision, Option, Standing
from redraft.text.cleaning import one_line

# More are not told apart any more; the first of every metric come first.
MOST_FINDINGS = 40
DECISION_TOKENS = 600
_LOOKS, _SEARCHES, _PLACES = 2, 3, 2
_LONGEST_TEXT, _LONGEST_REASON = 400, 600


@dataclass(frozen=True, slots=True)
class Board:
    """What there is to decide on."""

    summary: str
    scores: Mapping[str, float | None]
    goals: Mapping[str, float]
    findings: Sequence[Finding]
    rounds: Sequence[Round]
    """Those that revised the draft, and what became of them."""
    rounds_left: int


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be done. Without findings, and without `stop`, nothing valid was said, and `why` says what was."""

    findings: tuple[Finding, ...]
    why: str
    instruction: str = ""
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides with one model; it looks passages up at one desk."""

    judge: Judge
    desk: EvidenceDesk

    async def decide(self, board: Board, label: str) -> Decided:
        """What the next revision is to mend, or that there shall be none."""
        findings = list(board.findings)[:MOST_FINDINGS]
        passages: list[str] = []
        for look in range(_LOOKS + 1):
            given = self._given(board, findings, passages, may_look_up=look < _LOOKS)
            name = label if not look else f"{label}, look {look}"
            try:
                reply = await self.judge.ask(DECIDE, given, DECISION_TOKENS, name)
            except (ReplyError, RejectedRequest) as error:
                return Decided((), f"no decision came back: {error.message}")
            decision = reply.value
            searches = [one for one in decision.look_up if one.strip()][:_SEARCHES]
            if not searches or decision.mend or decision.stop or look == _LOOKS:
                return _decided(decision, findings)
            passages += self._found(searches)
        raise AssertionError

    def _found(self, searches: Sequence[str]) -> list[str]:
        places = [passage.span for one in searches for passage in self.desk.passages.nearest(one, _PLACES)]
        return [self.desk.text(span) for span in dict.fromkeys(places)]

    def _given(
        self, board: Board, findings: Sequence[Finding], passages: Sequence[str], *, may_look_up: bool
    ) -> DecideGiven:
        return DecideGiven(
            summary=board.summary,
            scoreboard=[
                Standing(id=number, metric=metric, score=_figure(score), goal=_figure(board.goals.get(metric)))
                for number, (metric, score) in enumerate(board.scores.items(), 1)
            ],
            findings=[_option(number, one) for number, one in enumerate(findings, 1)],
            tried=[_attempt(one) for one in board.rounds if one.number],
            passages=list(passages),
            rounds_left=board.rounds_left,
            may_look_up=may_look_up,
        )


def _decided(decision: Decision, findings: Sequence[Finding]) -> Decided:
    why = one_line(decision.why, _LONGEST_REASON)
    if decision.stop and not decision.mend:
        return Decided((), why, stop=True)
    numbers = dict.fromkeys(number for number in decision.mend if 0 < number <= len(findings))
    instruction = one_line(decision.instruction, _LONGEST_REASON)
    if not numbers:
        return Decided((), f"the decision names no finding that there is: {why}")
    return Decided(tuple(findings[number - 1] for number in numbers), why, instruction)


def _option(number: int, finding: Finding) -> Option:
    return Option(
        id=number,
        metric=finding.metric,
        task=finding.task,
        sentence=one_line(finding.sentence, _LONGEST_TEXT),
        question=one_line(finding.question, _LONGEST_TEXT),
        answer=one_line(finding.expected, _LONGEST_TEXT),
        evidence=one_line(finding.evidence.text, _LONGEST_TEXT) if finding.evidence else "",
    )


def _attempt(one: Round) -> str:
    what = "taken" if one.accepted else "refused"
    said = f" It was told: {one.instruction}" if one.instruction else ""
    about = f"Revision {one.number}, for {' and '.join(one.aims)}, {len(one.findings)} findings"
    return f"{about}: {what}, {one.reason}.{said}"


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
