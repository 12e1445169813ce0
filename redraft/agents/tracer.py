"""The tracer: finds the places that a sentence was made from if its words alone do not tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all
from redraft.agents.evidence import EntryBudget
from redraft.agents.judge import Judge, batch_size
from redraft.prompts.qa import TRACE_SENTENCES, Place, Statement, TraceInput
from redraft.text.tokens import Tokenizer

SOURCES = EntryBudget(frame=40)
"""What an entry of a reply may need."""
# The share of the window for what is read, and the tokens around each text.
_SHARE_OF_WINDOW = 0.5
_AROUND_EACH = 16
_AT_ONCE = 12
MAX_SOURCES = 3


@dataclass(frozen=True, slots=True)
class TraceItem:
    """A sentence, what it refers back to, and the places that it may come from."""

    sentence: str
    before: str
    places: tuple[str, ...]


class TraceResult(BaseModel):
    """The numbers of the places that a sentence comes from, as stored; empty if there are none."""

    places: list[int]


@dataclass(frozen=True, slots=True)
class SentenceTracer:
    """Asks one judge; `window` is the token limit of a prompt and its reply, None for a model without one."""

    judge: Judge
    tokenizer: Tokenizer
    window: int | None

    def batches(self, items: Sequence[TraceItem], numbers: Sequence[int]) -> list[list[int]]:
        """Return the items in as few prompts as possible, in order."""
        room = int(self.window * _SHARE_OF_WINDOW) if self.window else None
        most = min(_AT_ONCE, batch_size(self.judge.reply_tokens, self.judge.entry_tokens(SOURCES)))
        made: list[list[int]] = []
        filled = 0
        for number in numbers:
            size = self._size(items[number])
            if not made or len(made[-1]) >= most or (room is not None and filled + size > room):
                made.append([])
                filled = 0
            made[-1].append(number)
            filled += size
        return made

    def tokens(self, items: Sequence[TraceItem], batch: Sequence[int]) -> int:
        """Return roughly how many tokens a prompt about some items takes, with its reply."""
        rendered = self.judge.book.render(TRACE_SENTENCES, _given(items, batch))
        return self.tokenizer.count(rendered) + len(batch) * self.judge.entry_tokens(SOURCES)

    async def trace(self, items: Sequence[TraceItem], batches: Sequence[Sequence[int]]) -> ItemResults[TraceResult]:
        """Return the places that each item of the batches comes from; known ones are reused."""
        asked = [number for batch in batches for number in batch]

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[TraceResult]:
            some = [asked[n] for n in numbers]
            trace_input = _given(items, some)
            reply = await self.judge.ask_items(
                TRACE_SENTENCES, trace_input, numbers, SOURCES, "traced sentence", attempt
            )
            found = (
                (asked.index(sources.id - 1), _named(sources.places, items, some, sources.id - 1))
                for sources in reply.value.sentences
            )
            return Entries.of(reply, found)

        async def judged(numbers: Sequence[int]) -> ItemResults[TraceResult]:
            return await ask_all(self._again(items, asked, numbers), ask)

        keys = [[items[n].before, items[n].sentence, list(items[n].places)] for n in asked]
        results = await self.judge.cached_verdicts(TRACE_SENTENCES, TraceResult, keys, judged)
        return ItemResults({asked[n]: trace_result for n, trace_result in results.verdicts.items()}, results.trouble)

    def known(self, items: Sequence[TraceItem]) -> list[bool]:
        """Return which of the items this judge has verdicts on."""
        keys = self.judge.keys(TRACE_SENTENCES, [[item.before, item.sentence, list(item.places)] for item in items])
        there = self.judge.judgments.verdicts(keys)
        return [key in there for key in keys]

    def _again(self, items: Sequence[TraceItem], asked: Sequence[int], numbers: Sequence[int]) -> list[list[int]]:
        """Return the batches of the items without stored verdicts."""
        places = {asked[n]: n for n in numbers}
        return [[places[n] for n in batch] for batch in self.batches(items, [asked[n] for n in numbers])]

    def _size(self, item: TraceItem) -> int:
        texts = (item.before, item.sentence, *item.places)
        return sum(map(self.tokenizer.count, texts)) + _AROUND_EACH * (1 + len(item.places))


def _pool(items: Sequence[TraceItem], batch: Sequence[int]) -> list[str]:
    """Return the distinct places of all items of a prompt."""
    return list(dict.fromkeys(place for number in batch for place in items[number].places))


def _given(items: Sequence[TraceItem], batch: Sequence[int]) -> TraceInput:
    places = [Place(id=n, passage=text) for n, text in enumerate(_pool(items, batch), 1)]
    statements = [Statement(id=n + 1, before=items[n].before, sentence=items[n].sentence) for n in batch]
    return TraceInput(places=places, sentences=statements)


def _named(said: Sequence[int], items: Sequence[TraceItem], batch: Sequence[int], number: int) -> TraceResult | None:
    """Return an item's own places among those named."""
    if number not in batch:
        return None
    pool, own = _pool(items, batch), items[number].places
    named = [own.index(pool[one - 1]) for one in dict.fromkeys(said) if 0 < one <= len(pool) and pool[one - 1] in own]
    return TraceResult(places=named[:MAX_SOURCES])
