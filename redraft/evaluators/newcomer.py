"""The newcomer: where a reader of the summary stops who has never seen the document and never will."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from pydantic import BaseModel

from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, in_batches
from redraft.domain import Evaluation, Finding, Span, Task, content_id
from redraft.evaluators.base import Case, Evaluator
from redraft.evaluators.booookscore import LONGEST_QUESTION, WHAT_TO_DO, least_window, prompt_tokens, sentences_of
from redraft.prompts.coherence import FIND_STOPS, MAX_STOPS, FindStopsInput, Stop, StopType
from redraft.prompts.qa import Statement
from redraft.settings import NEWCOMER
from redraft.text.quotes import locate, source_of
from redraft.text.sanitizer import one_line

STOPS = EntryBudget(frame=40 * MAX_STOPS, words=36 * MAX_STOPS)
"""What a reply with as many stops as possible may hold."""
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
    meaning = "Where a reader who has never seen the document stops, and what they would ask; no score."
    prompts = (FIND_STOPS,)
    heeds_query = True

    async def evaluate(self, case: Case) -> Evaluation:
        """Find the stops. What has no readable reply counts as not read, never as clear."""
        if not sentences_of(case.statements):
            return self.not_applicable("the summary has no sentence")
        judge, window = case.panel[0], case.reader.window
        if window < (required := least_window(judge.book, case.reader.tokenizer, FIND_STOPS, STOPS)):
            return self.not_applicable(f"its prompt needs a window of {required:,} tokens, and there are {window:,}")
        parts = parts_of(case, judge)
        results = await stops_in(judge, [part for part, _ in parts])
        read = sum(parts[n][1] for n in results.verdicts)
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


class PartReading(BaseModel):
    """The stored stops in a part of a summary; `unsure` if the judge cannot read as a newcomer does."""

    stops: tuple[Stop, ...] = ()
    unsure: bool = False


async def stops_in(judge: Judge, parts: Sequence[FindStopsInput]) -> ItemResults[PartReading]:
    """Return the stops in each part that has a readable reply, by its index, at most `MAX_STOPS` in each."""

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[PartReading]:
        (number,) = numbers
        room = min(STOPS.tokens(judge.wording), judge.reply_tokens)
        reply = await judge.ask(FIND_STOPS, parts[number], room, "stops", attempt)
        if reply.is_truncated:
            # The stops after a cut are not known, so the reply is asked for again with more room.
            return reply, [(number, None)]
        distinct: dict[tuple[str, str], Stop] = {}
        for stop in reply.value.stops:
            words, question = one_line(stop.words), one_line(stop.question, LONGEST_QUESTION)
            distinct.setdefault((words, question), Stop(words=words, question=question, type=stop.type))
        reading = PartReading(stops=tuple(distinct.values())[:MAX_STOPS], unsure=reply.value.unsure)
        return reply, [(number, reading)]

    items = [[content_id(part.context), content_id(part.summary), part.goes_on, part.query] for part in parts]
    results = await judge.verdicts(FIND_STOPS, PartReading, items, lambda numbers: ask_all(in_batches(numbers, 1), ask))
    return results.decided(lambda reading: not reading.unsure)


def parts_of(case: Case, judge: Judge) -> list[tuple[FindStopsInput, int]]:
    """Return the summary with the number of its sentences; in parts if it does not fit a prompt, each of which is shown
    with the one before it."""
    count = case.reader.tokenizer.count
    around = prompt_tokens(judge.book, case.reader.tokenizer, FIND_STOPS) + count(case.query or "")
    room = case.reader.window - around - min(STOPS.tokens(judge.wording), judge.reply_tokens)
    if count(case.text) <= room:
        return [(FindStopsInput(summary=case.text, query=case.query), len(case.statements))]
    parts = case.reader.parts(case.statements, room // 2)
    texts = [" ".join(statement.sentence for statement in part) for part in parts]
    return [
        (FindStopsInput(context=before, summary=text, goes_on=number < len(parts), query=case.query), len(part))
        for number, (part, text, before) in enumerate(zip(parts, texts, ["", *texts], strict=False), 1)
    ]
