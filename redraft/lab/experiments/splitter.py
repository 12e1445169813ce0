"""The splitter: splits summaries into atomic facts, and checks each against the place that it was traced to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all
from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import EntryBudget, Judge, batch_size
from redraft.domain import Span
from redraft.evaluators.faithfulness import VERIFICATION, SentenceVerdict, verify_batch
from redraft.prompts import factual
from redraft.prompts.contract import UNSURE
from redraft.prompts.factual import SPLIT_FACTS, SplitFactsInput
from redraft.prompts.qa import Statement
from redraft.text.languages import language_key
from redraft.text.sanitizer import one_line

FACTS = EntryBudget(frame=60, words=20, sentences=2)
"""What the facts of one sentence may need in a reply, with names in place of pronouns."""
SENTENCES_PER_REQUEST = 8
VERIFIED_PER_REQUEST = 12
MAX_FACTS = 20
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
        size = min(SENTENCES_PER_REQUEST, batch_size(self.judge.reply_tokens, self.judge.entry_tokens(FACTS)))
        return [range(at, min(at + size, count)) for at in range(0, count, size)]

    async def split(self, statements: Sequence[Statement]) -> ItemResults[SentenceFactsFound]:
        """Return the atomic facts of each sentence; known ones are reused."""

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceFactsFound]:
            facts_input = SplitFactsInput(sentences=[statements[n].model_copy(update={"id": n + 1}) for n in numbers])
            reply = await self.judge.ask_items(SPLIT_FACTS, facts_input, numbers, FACTS, "facts of sentence", attempt)
            facts_by_sentence = (
                (facts.id - 1, SentenceFactsFound(facts=_plain(facts.facts))) for facts in reply.value.sentences
            )
            return Entries.of(reply, facts_by_sentence)

        async def judged(numbers: Sequence[int]) -> ItemResults[SentenceFactsFound]:
            return await ask_all([[numbers[n] for n in batch] for batch in self.batches(len(numbers))], ask)

        items = [[statement.before, statement.sentence] for statement in statements]
        return await self.judge.verdicts(SPLIT_FACTS, SentenceFactsFound, items, judged)

    async def verify(
        self, facts: Sequence[str], places: Sequence[Span], reader: EvidenceReader
    ) -> ItemResults[SentenceVerdict]:
        """Return the error of each fact, judged only by the place of the document that it was traced to."""

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceVerdict]:
            spans = reader.joined([[places[n]] for n in numbers])
            statements = [Statement(id=n + 1, sentence=facts[n]) for n in numbers]
            return await verify_batch(self.judge, reader, spans, statements, "verified fact", attempt)

        async def judged(numbers: Sequence[int]) -> ItemResults[SentenceVerdict]:
            return await ask_all(self._fitting(numbers, places, reader), ask)

        items = [
            ["mapped passage", language_key(reader.document), place, fact]
            for fact, place in zip(facts, places, strict=True)
        ]
        results = await self.judge.verdicts(factual.VERIFY_SENTENCES, SentenceVerdict, items, judged)
        return results.decided(lambda verdict: verdict.category != UNSURE)

    def _fitting(self, numbers: Sequence[int], places: Sequence[Span], reader: EvidenceReader) -> list[list[int]]:
        """Return the facts in batches whose passages fit a prompt together."""
        limit = min(VERIFIED_PER_REQUEST, batch_size(self.judge.reply_tokens, self.judge.entry_tokens(VERIFICATION)))
        batches: list[list[int]] = []
        for number in numbers:
            tried = [*batches[-1], number] if batches else [number]
            spans = reader.joined([[places[n]] for n in tried])
            tokens = sum(reader.tokenizer.count(reader.text(span)) for span in spans)
            if batches and len(tried) <= limit and tokens <= reader.room:
                batches[-1].append(number)
            else:
                batches.append([number])
        return batches


def _plain(facts: Sequence[str]) -> list[str]:
    lines = (one_line(fact, _LONGEST_FACT) for fact in facts)
    return list(dict.fromkeys(line for line in lines if line))[:MAX_FACTS]
