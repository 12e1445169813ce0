"""A model that decides which findings the next revision fixes, or that the refinement stops."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.domain import REVIEW, Finding, Round
from redraft.errors import RejectedRequest, ReplyError
from redraft.prompts.revision import DECIDE, DecideInput, MetricStatus, Point
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words, is_unspaced

_DECISION_TOKENS = 600
_MAX_FINDINGS, _MAX_ATTEMPTS = 40, 8
_SHARE_OF_FINDINGS = 0.6  # of the room left by the summary and the reply
_TAG_TOKENS = 40  # of the fence and the labels of a finding
_LONGEST_TEXT, _LONGEST_REASON = 300, 600


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """The decision. Without findings and without `stop` the reply was not valid, and `why` says so."""

    findings: tuple[Finding, ...]
    why: str
    instruction: str = ""
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides with one model. A decider that is not `bounded` has no window."""

    judge: Judge
    reader: EvidenceReader
    bounded: bool = True

    async def decide(
        self,
        summary: str,
        scores: Mapping[str, float | None],
        goals: Mapping[str, float],
        findings: Sequence[Finding],
        rounds: Sequence[Round],
        label: str,
        *,
        rounds_left: int,
        at_most: int,
        words: int,
        unsure: Collection[str] = (),
    ) -> DecisionResult:
        """Return what the next revision should fix, or that the refinement stops. The metrics with goals come first in
        the `scores`, and the `findings` most important first, of which a revision may fix `at_most` so many. `words` is
        the word limit of the summary; metrics are `unsure` with too few verdicts to tell whether their goals are
        met."""
        findings = self._fitting(findings)
        scoreboard: list[MetricStatus] = []
        for number, (metric, score) in enumerate(scores.items(), 1):
            met = "no" if score is None or score < goals.get(metric, 0) else "unsure" if metric in unsure else "yes"
            goal = {"goal": f"{goals[metric]:g}", "met": met} if metric in goals else {}
            figure = "none" if score is None else f"{score:.4f}"
            scoreboard.append(MetricStatus(id=number, metric=metric, score=figure, **goal))
        tried = [round_ for round_ in rounds if round_.number and round_.accepted is not None]
        decide_input = DecideInput(
            summary=summary,
            scoreboard=scoreboard,
            findings=[_point(number, finding) for number, finding in enumerate(findings, 1)],
            tried=[_attempt(round_) for round_ in tried[-_MAX_ATTEMPTS:]],
            rounds_left=rounds_left,
            length=count_words(summary),
            words=words,
            characters=is_unspaced(summary),
            at_most=at_most,
        )
        try:
            decision = (await self.judge.ask(DECIDE, decide_input, _DECISION_TOKENS, label)).value
        except (ReplyError, RejectedRequest) as error:
            return DecisionResult((), f"the decider made no decision: {one_line(error.message, _LONGEST_REASON)}")
        why = one_line(decision.why, _LONGEST_REASON)
        numbers = [number for number in dict.fromkeys(decision.fix) if 0 < number <= len(findings)]
        if numbers:
            chosen = tuple(findings[number - 1] for number in numbers[:at_most])
            return DecisionResult(chosen, why, one_line(decision.instruction, _LONGEST_REASON))
        if decision.stop:
            return DecisionResult((), why or "no reason was given", stop=True)
        return DecisionResult((), f"the decider named no existing finding{f', saying: {why}' if why else ''}")

    def _fitting(self, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Return the first finding, and those after it that fit the room."""
        if not self.bounded:
            return findings
        room = int(self.reader.room * _SHARE_OF_FINDINGS)
        for at, finding in enumerate(findings[:_MAX_FINDINGS]):
            room -= _TAG_TOKENS + sum(map(self.reader.tokenizer.count, _point(0, finding).texts))
            if at and room < 0:
                return findings[:at]
        return findings[:_MAX_FINDINGS]


def _attempt(round_: Round) -> str:
    aims = " and ".join("a person's requests" if metric == REVIEW else metric for metric in round_.aims)
    result = f"{'accepted' if round_.accepted else 'rejected'}, {round_.reason}"
    instruction = f" Instruction: {round_.instruction}" if round_.instruction else ""
    count = len(round_.findings)
    findings = f"{count} finding{'s' * (count != 1)}"
    return f"Revision {round_.number}{f', for {aims}' if aims else ''}, {findings}: {result}.{instruction}"


def _point(number: int, finding: Finding) -> Point:
    """Return a finding for the choice of what to fix."""
    texts = {
        "problem": finding.explanation,
        "sentence": finding.sentence,
        "question": finding.question,
        "answer": finding.answer,
        "why": finding.why,
        "evidence": finding.evidence.text if finding.evidence else "",
    }
    short = {name: one_line(text, _LONGEST_TEXT) for name, text in texts.items()}
    return Point(id=number, metric=finding.metric, task=finding.task, **short)
