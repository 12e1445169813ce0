"""A model that decides which findings the next revision fixes, or that the refinement stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.agents.reviser import point_to_fix
from redraft.domain import REVIEW, Finding, Round
from redraft.errors import RejectedRequest, ReplyError
from redraft.prompts.revision import DECIDE, DecideInput, Decision, Point
from redraft.text.sanitizer import one_line
from redraft.text.words import count

_DECISION_TOKENS = 600
_MAX_FINDINGS, _MAX_ATTEMPTS = 40, 8
_SHARE_OF_FINDINGS = 0.6  # of the room left by the summary and the reply
_TAG_TOKENS = 40  # of the fence and the labels of a finding
_LONGEST_TEXT, _LONGEST_REASON = 300, 600


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides with one model. A decider that is not `bounded` has no window."""

    judge: Judge
    reader: EvidenceReader
    bounded: bool = True

    async def decide(
        self, inputs: DecideInput, findings: Sequence[Finding], label: str
    ) -> tuple[Decision, tuple[Finding, ...]]:
        """Return what the next revision should fix of these findings, which come most important first, or that the
        refinement stops. Where there is neither, the reply was not valid, and `why` says so."""
        inputs = inputs.model_copy(update={"findings": self._fitting(findings)})
        try:
            decision = (await self.judge.ask(DECIDE, inputs, _DECISION_TOKENS, label)).value
        except (ReplyError, RejectedRequest) as error:
            return Decision(why=f"the decider made no decision: {one_line(error.message, _LONGEST_REASON)}"), ()
        chosen = tuple(findings[number - 1] for number in [*dict.fromkeys(decision.fix)][: inputs.at_most])
        why, is_stop = one_line(decision.why, _LONGEST_REASON), decision.stop and not chosen
        if is_stop:
            why = why or "no reason was given"
        elif not chosen:
            why = f"the decider named no existing finding{f', saying: {why}' if why else ''}"
        instruction = one_line(decision.instruction, _LONGEST_REASON)
        return Decision(why=why, instruction=instruction, stop=is_stop), chosen

    def _fitting(self, findings: Sequence[Finding]) -> list[Point]:
        """Return the first finding, and those after it that fit the room."""
        points = [_point(number, finding) for number, finding in enumerate(findings, 1)]
        if not self.bounded:
            return points
        room = int(self.reader.room * _SHARE_OF_FINDINGS)
        for at, point in enumerate(points[:_MAX_FINDINGS]):
            room -= _TAG_TOKENS + sum(map(self.reader.tokenizer.count, point.texts))
            if at and room < 0:
                return points[:at]
        return points[:_MAX_FINDINGS]


def _point(number: int, finding: Finding) -> Point:
    """Return a finding as a reviser reads it, shortened, with its metric and the problem in place of an instruction."""
    named = {"metric": finding.metric, "problem": finding.explanation, "instruction": ""}
    point = point_to_fix(number, finding).model_copy(update=named)
    return point.model_copy(update={name: one_line(text, _LONGEST_TEXT) for name, text in point if name != "id"})


def attempts(rounds: Sequence[Round]) -> list[str]:
    """Return the latest revisions that were judged, with their results, in a line each."""
    lines: list[str] = []
    for round_ in rounds:
        aims = " and ".join("a person's requests" if metric == REVIEW else metric for metric in round_.aims)
        result = f"{'accepted' if round_.accepted else 'rejected'}, {round_.reason}"
        instruction = f" Instruction: {round_.instruction}" if round_.instruction else ""
        findings = count(len(round_.findings), "finding")
        line = f"Revision {round_.number}{f', for {aims}' if aims else ''}, {findings}: {result}.{instruction}"
        lines += [line] if round_.number and round_.accepted is not None else []
    return lines[-_MAX_ATTEMPTS:]
