"""The newcomer: where a reader of the summary stops who has never seen the document and never will."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from redraft.agents.proofreader import STOPS, Newcomer, least_window
from redraft.domain import Evaluation, Finding, Span, Task
from redraft.evaluators.base import Case, Evaluator
from redraft.evaluators.booookscore import WHAT_TO_DO, sentences_of
from redraft.prompts.coherence import FIND_STOPS, Stop, StopType
from redraft.prompts.qa import Statement
from redraft.settings import NEWCOMER
from redraft.text.quotes import locate, source_of

_ABSTAINS = "the built-in judge cannot tell where a newcomer stops: name a language model as judge"
_TASKS: Mapping[StopType, tuple[Task, str]] = {
    **WHAT_TO_DO,
    "inconsistency": ("clarify", "Another sentence contradicts this. Make both agree with the document."),
    "language": ("clarify", "A reader cannot tell what these words mean. Say it so that it reads one way only."),
    "overload": ("change", "This sentence carries too much at once. Split it, or say less."),
    "ending": ("change", "The summary stops without an ending. Say how it ends, or what is concluded."),
}
"""What a revision does about each type of stop."""


@dataclass(frozen=True, slots=True)
class NewcomerMetric(Evaluator):
    """The first judge reads the summary, and nothing of the document, and names the places where it stops. How many
    there are is no measure of quality, so there is no score."""

    name = NEWCOMER
    prompts = (FIND_STOPS,)
    heeds_query = True

    async def evaluate(self, case: Case) -> Evaluation:
        """Find the stops. What has no readable reply counts as not read, never as clear."""
        if not sentences_of(case.statements):
            return self.not_applicable("the summary has no sentence")
        newcomer, window = Newcomer(case.panel[0], case.reader, case.query), case.reader.window
        if window < (required_window := least_window(newcomer.judge.book, case.reader.tokenizer, FIND_STOPS, STOPS)):
            return self.not_applicable(
                f"its prompt needs a window of {required_window:,} tokens, and there are {window:,}"
            )
        parts = newcomer.parts(case.text, case.statements)
        results = await newcomer.read(parts)
        read = sum(parts[n].sentences for n in results.verdicts)
        unread = len(case.statements) - read
        if results.undecided:
            return self.not_applicable(_ABSTAINS)
        if not results.verdicts:
            return self.failed(results.trouble, unread)
        stops = [stop for _, reading in sorted(results.verdicts.items()) for stop in reading.stops]
        details: dict[str, object] = {"stops": [stop.model_dump() for stop in stops]}
        details |= {"trouble": results.trouble} if results.trouble else {}
        return self.measured(details, judged=read, unjudged=unread, findings=_findings(stops, case.statements))


def _findings(stops: Sequence[Stop], statements: Sequence[Statement]) -> list[Finding]:
    """Return a finding for each stop. Its sentence is the one with its words, or else with most of them; its words are
    left out if they are not the summary's."""
    text = " ".join(statement.sentence for statement in statements)
    starts = [0, *accumulate(len(statement.sentence) + 1 for statement in statements)]
    after, findings = 0, list[Finding]()
    for stop in stops:
        task, explanation = _TASKS[stop.type]
        finding = Finding(NEWCOMER, stop.type, task, explanation, question=stop.question)
        # The stops are in the order of the text, so words that occur twice are looked for after the stop before.
        span = locate(text, stop.words, [Span(after, len(text))])
        after = span.start if span else after
        place = span or source_of(text, stop.words, [Span(0, len(text))])
        if place is not None:
            sentence = statements[bisect_right(starts, place.start) - 1].sentence
            finding = replace(finding, sentence=sentence, found=text[span.start : span.end] if span else "")
        findings.append(finding)
    return findings
