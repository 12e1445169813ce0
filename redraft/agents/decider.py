"""A model that decides which findings the next revision fixes, or that the refinement stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

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
    """Decides with one model."""

    judge: Judge
    reader: EvidenceReader

    async def decide(
        self, inputs: DecideInput, findings: Sequence[Finding], label: str
    ) -> tuple[Decision, tuple[Finding, ...]]:
        """Return what the next revision should fix of these findings, which come most important first, or that the
        refinement stops. Where there is neither, the reply was not valid, and `why` says so."""
        points = [_point(number, finding) for number, finding in enumerate(findings[:_MAX_FINDINGS], 1)]
        sizes = accumulate(_TAG_TOKENS + sum(map(self.reader.tokenizer.count, point.texts)) for point in points)
        fitting = sum(size <= self.reader.room * _SHARE_OF_FINDINGS for size in sizes)
        inputs = inputs.model_copy(update={"findings": points[: max(1, fitting)]})
        try:
            decision = (await self.judge.ask(DECIDE, inputs, _DECISION_TOKENS, label)).value
        except (ReplyError, RejectedRequest) as error:
            return Decision(why=f"the decider made no decision: {one_line(error.message, _LONGEST_REASON)}"), ()
        chosen = tuple(findings[number - 1] for number in [*dict.fromkeys(decision.fix)][: inputs.at_most])
        why, is_stop = one_line(decision.why, _LONGEST_REASON), decision.stop and not chosen
        if not (chosen or is_stop):
            why = f"the decider named no existing finding{f', saying: {why}' if why else ''}"
        instruction = one_line(decision.instruction, _LONGEST_REASON)
        return Decision(why=why or "no reason was given", instruction=instruction, stop=is_stop), chosen


def _point(number: int, finding: Finding) -> Point:
    """Return a finding as a reviser reads it, shortened, with its metric and the problem in place of an instruction."""
    point = point_to_fix(number, finding)
    texts = {**dict(point), "metric": finding.metric, "problem": finding.explanation, "instruction": ""}
    return Point(**{name: text if name == "id" else one_line(text, _LONGEST_TEXT) for name, text in texts.items()})


def attempts(rounds: Sequence[Round]) -> list[str]:
    """Return the latest revisions that were judged, with their results, in a line each."""
    lines: list[str] = []
    for round_ in (round_ for round_ in rounds if round_.number and round_.accepted is not None):
        aims = " and ".join("a person's requests" if metric == REVIEW else metric for metric in round_.aims)
        result = f"{'accepted' if round_.accepted else 'rejected'}, {round_.reason}"
        instruction = f" Instruction: {round_.instruction}" if round_.instruction else ""
        findings = count(len(round_.findings), "finding")
        lines.append(f"Revision {round_.number}{f', for {aims}' if aims else ''}, {findings}: {result}.{instruction}")
    return lines[-_MAX_ATTEMPTS:]
