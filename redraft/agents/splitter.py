"""The splitter: splits summaries into atomic facts, and checks facts against their place in the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from redraft.agents.accounts import Account, Attempt, Entries, account
from redraft.agents.evidence import EntryBudget, EvidenceReader, document_fields
from redraft.agents.fact_checker import VERIFICATION, SentenceVerdict, sentence_verdict
from redraft.agents.judge import Judge, batch_size
from redraft.domain import Span
from redraft.prompts import factual
from redraft.prompts.contract import UNSURE
from redraft.prompts.factual import SPLIT_FACTS, FactsGiven
from redraft.prompts.qa import Statement
from redraft.text.languages import read_as
from redraft.text.sanitizer import one_line

FACTS = EntryBudget(frame=60, words=20, sentences=2)
"""What the facts of one sentence may need in a reply, with names in place of pronouns."""
SENTENCES_AT_ONCE = 8
FACTS_AT_ONCE = 12
MOST_FACTS = 20
"""The most facts of one sentence."""
_LONGEST_FACT = 400


class SentenceFactsFound(BaseModel):
    """The facts of one sentence, as stored."""

    facts: list[str]


@dataclass(frozen=True, slots=True)
class Splitter:
    """Splits and verifies facts with one judge."""

    judge: Judge

    def batches(self, count: int) -> list[Sequence[int]]:
        """Return sentences in as few prompts as possible."""
        size = min(SENTENCES_AT_ONCE, batch_size(self.judge.reply_tokens, self.judge.needs(FACTS)))
        return [range(at, min(at + size, count)) for at in range(0, count, size)]

    async def split(self, statements: Sequence[Statement]) -> Account[SentenceFactsFound]:
        """Return the atomic facts of each sentence; known ones are reused."""

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceFactsFound]:
            given = FactsGiven(sentences=[statements[n].model_copy(update={"id": n + 1}) for n in numbers])
            reply = await self.judge.ask_items(SPLIT_FACTS, given, numbers, FACTS, "facts of sentence", attempt)
            found = ((one.id - 1, SentenceFactsFound(facts=_plain(one.facts))) for one in reply.value.sentences)
            return Entries.of(reply, found)

        async def judged(numbers: Sequence[int]) -> Account[SentenceFactsFound]:
            return await account([[numbers[n] for n in batch] for batch in self.batches(len(numbers))], ask)

        items = [[one.before, one.sentence] for one in statements]
        return await self.judge.remembered(SPLIT_FACTS, SentenceFactsFound, items, judged)

    async def verify(
        self, facts: Sequence[str], places: Sequence[Span], reader: EvidenceReader
    ) -> Account[SentenceVerdict]:
        """Return the error of each fact, judged only by the place of the document that it was traced to."""

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceVerdict]:
            spans = reader.joined([[places[n]] for n in numbers])
            asked = [Statement(id=n + 1, sentence=facts[n]) for n in numbers]
            given = factual.VerifyGiven(**document_fields(reader, spans), sentences=asked)
            reply = await self.judge.ask_items(
                factual.VERIFY_SENTENCES, given, numbers, VERIFICATION, "verified fact", attempt
            )
            return Entries.of(
                reply, ((one.id - 1, sentence_verdict(one, self.judge, reader, spans)) for one in reply.value.sentences)
            )

        async def judged(numbers: Sequence[int]) -> Account[SentenceVerdict]:
            return await account(self._fitting(numbers, places, reader), ask)

        items = [
            ["mapped passage", read_as(reader.document), place, fact] for fact, place in zip(facts, places, strict=True)
        ]
        found = await self.judge.remembered(factual.VERIFY_SENTENCES, SentenceVerdict, items, judged)
        return found.decided(lambda one: one.category != UNSURE)

    def _fitting(self, numbers: Sequence[int], places: Sequence[Span], reader: EvidenceReader) -> list[list[int]]:
        """Return the facts in batches whose passages fit a prompt together."""
        most = min(FACTS_AT_ONCE, batch_size(self.judge.reply_tokens, self.judge.needs(VERIFICATION)))
        batches: list[list[int]] = []
        for number in numbers:
            tried = [*batches[-1], number] if batches else [number]
            spans = reader.joined([[places[n]] for n in tried])
            tokens = sum(reader.tokenizer.count(reader.text(span)) for span in spans)
            if batches and len(tried) <= most and tokens <= reader.room:
                batches[-1].append(number)
            else:
                batches.append([number])
        return batches


def _plain(facts: Sequence[str]) -> list[str]:
    lines = (one_line(fact, _LONGEST_FACT) for fact in facts)
    return list(dict.fromkeys(line for line in lines if line))[:MOST_FACTS]
