"""The arbiter: confirms findings before a revision removes or corrects anything because of them. It reads the whole
document if that fits, else the places around a finding. A finding is overruled only by words that the document
has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from redraft.agents.evidence import EvidenceQuery, EvidenceReader
from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, in_batches
from redraft.domain import Finding, Ruling, Span
from redraft.prompts.factual import RULE_ON_FINDINGS, PointRuling, RuleInput
from redraft.prompts.revision import Point
from redraft.text.languages import other_language_in
from redraft.text.quotes import FEWEST, locate
from redraft.text.sanitizer import one_line

_LONGEST_TEXT = 600

RULED = EntryBudget(frame=40, words=35, sentences=1)
"""One entry of a reply: a reason and a quote."""
NEAREST = 4
"""How many nearest places are searched for each point, if the document is not read whole."""
AT_ONCE = 12
"""The most points that are ruled on in one reply."""
_PARTS = 4
"""The same, if each point has its own places to read."""
_BESIDE = 1
_FRAME = 120
_LONGEST_REASON, _LONGEST_QUOTE = 400, 400


RulingRequest = tuple[Finding, str]
"""A finding to rule on, and the document's words that contradict it; empty without any."""


@dataclass(frozen=True, slots=True)
class Arbiter:
    """Rules on findings with one judge."""

    judge: Judge
    reader: EvidenceReader

    async def rule(self, requests: Sequence[RulingRequest], label: str) -> list[Ruling]:
        """Return the judge's rulings, in the order of the findings."""
        if not requests or not self.judge.can_read(other_language_in(self.reader.document)):
            return []
        # The first search indexes the document, so it runs in a thread.
        is_whole = await asyncio.to_thread(self._fits, requests)
        size = min(AT_ONCE if is_whole else _PARTS, max(1, self.judge.reply_tokens // RULED.tokens(self.judge.wording)))

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[PointRuling]:
            places = [Span(0, len(self.reader.document.text))]
            if not is_whole:
                places = await asyncio.to_thread(self._passages, [requests[number] for number in numbers])
            points = [point_to_rule_on(number + 1, requests[number]) for number in numbers]
            contested = any(point.against for point in points)
            inputs = RuleInput(**self.reader.fields(places), points=points, contested=contested)
            reply = await self.judge.ask_items(RULE_ON_FINDINGS, inputs, numbers, RULED, f"{label}, finding", attempt)
            return reply, ((ruling.id - 1, ruling) for ruling in reply.value.points)

        replies: ItemResults[PointRuling] = await ask_all(in_batches(range(len(requests)), size), ask)
        rulings: list[Ruling] = []
        for number, ruling in sorted(replies.verdicts.items()):
            (finding, against), decides = requests[number], ruling.verdict in ("supported", "contradicted")
            place = locate(self.reader.document.text, ruling.quote, fewest=FEWEST) if decides else None
            fields = Ruling(
                document=self.reader.document.id,
                finding=finding.id,
                # A part of the document says nothing about the rest of it.
                verdict="unclear" if ruling.verdict == "absent" and not is_whole else ruling.verdict,
                quote=one_line(self.reader.text(place) if place else ruling.quote, _LONGEST_QUOTE),
                start=place.start if place else None,
                end=place.end if place else None,
                reason=one_line(ruling.reason, _LONGEST_REASON),
                by=self.judge.name,
                contested=against,
            )
            rulings.append(fields)
        return rulings

    def _fits(self, requests: Sequence[RulingRequest]) -> bool:
        count = self.reader.tokenizer.count
        first_requests = requests[:AT_ONCE]
        listed = [point_to_rule_on(0, request) for request in first_requests]
        points = sum(count(text) for point in listed for text in point.texts) + _FRAME * (len(first_requests) + 1)
        reply_tokens = len(first_requests) * RULED.tokens(self.judge.wording)
        around = count(self.judge.book.source(RULE_ON_FINDINGS.name)) + reply_tokens
        return self.reader.document_tokens + points + around <= self.reader.window

    def _passages(self, requests: Sequence[RulingRequest]) -> list[Span]:
        """Return the quoted places with their neighbours, then the places nearest to each point, in document order, as
        far as there is room."""
        reader, places = self.reader, list[Span]()
        for finding, against in requests:
            evidence = finding.evidence
            for place in (locate(reader.document.text, against, fewest=FEWEST), evidence.span if evidence else None):
                places += reader.passages.around(place, _BESIDE) if place is not None else []
        for finding, _ in requests:
            text = f"{finding.question} {finding.found} {finding.sentence}".strip()
            places += reader.wanted(EvidenceQuery(text), NEAREST, wide=True, among=reader.passages)
        return reader.fitting(([place] for place in places), reader.room)


def point_to_rule_on(number: int, request: RulingRequest) -> Point:
    """Return a finding for a second look, with the words that are held against it."""
    finding, against = request
    texts = {
        "sentence": finding.sentence,
        "question": finding.question,
        "says": finding.found,
        "judged": finding.expected or finding.explanation,
        "against": against,
    }
    return Point(id=number, **{name: one_line(text, _LONGEST_TEXT) for name, text in texts.items()})
