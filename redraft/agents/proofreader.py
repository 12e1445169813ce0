"""Readers of a summary that see nothing of its document: the proofreader judges each sentence (BooookScore), and the
newcomer names the places where a reader stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all
from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import USUAL, EntryBudget, Judge, batch_size, in_batches
from redraft.domain import content_id
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import (
    FIND_CONFUSION,
    FIND_STOPS,
    MAX_STOPS,
    Confusion,
    ConfusionInput,
    ErrorType,
    FindStopsInput,
    Stop,
    Stops,
    SummarySentence,
)
from redraft.prompts.contract import Prompt
from redraft.prompts.qa import Statement
from redraft.prompts.tags import NO_ITEM
from redraft.text.sanitizer import one_line
from redraft.text.tokens import Tokenizer

CONFUSION = EntryBudget(frame=50, words=26)
"""What one entry of a reply may hold."""
STOPS = EntryBudget(frame=40 * MAX_STOPS, words=36 * MAX_STOPS)
"""What a reply with as many stops as possible may hold."""
# Tokens of the reply schema and the numbering.
_FRAME = 300
# The fewest tokens of a stretch that are of any use.
_MIN_STRETCH = 500
# How many sentences after those judged are shown if the summary is too long.
_AFTER = 3
_LONGEST_QUESTION = 300


class SentenceConfusion(BaseModel):
    """The stored verdict on a sentence; None if the judge cannot tell."""

    confusing: bool | None
    questions: tuple[str, ...] = ()
    types: tuple[ErrorType, ...] = ()


@dataclass(frozen=True, slots=True)
class Proofreader:
    """Asks a judge about `batch` sentences at once; `window` is the token limit of a prompt and its reply."""

    judge: Judge
    tokenizer: Tokenizer
    window: int
    batch: int

    async def read(self, summary: str, statements: Sequence[Statement]) -> ItemResults[SentenceConfusion]:
        """Return what is confusing in each sentence, by its index among the statements. All requests begin with the
        summary, and the first goes ahead so that a provider can cache that prefix."""
        size = min(self.batch, batch_size(self.judge.reply_tokens, self.judge.entry_tokens(CONFUSION)))
        room = self.room(size, statements)
        fits = self.tokenizer.count(summary) <= room

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceConfusion]:
            shown_text = summary if fits else self._stretch(statements, numbers, room)
            sentences = [_numbered(statements, n) for n in numbers]
            confusion_input = ConfusionInput(summary=shown_text, sentences=sentences)
            reply = await self.judge.ask_items(
                FIND_CONFUSION, confusion_input, numbers, CONFUSION, "coherence", attempt
            )
            place = {statements[n].id: n for n in numbers}
            entries = ((place.get(entry.id, NO_ITEM), _verdict(entry)) for entry in reply.value.sentences)
            return Entries.of(reply, entries)

        # The verdict depends on how much of the summary is shown.
        beside_it = [content_id(summary)] if fits else [content_id(summary), room, size]
        results = await self.judge.verdicts(
            FIND_CONFUSION,
            SentenceConfusion,
            [[*beside_it, statement.id, statement.sentence] for statement in statements],
            lambda numbers: ask_all([numbers[at : at + size] for at in range(0, len(numbers), size)], ask, ahead=True),
        )
        return results.decided(lambda verdict: verdict.confusing is not None)

    def room(self, size: int, statements: Sequence[Statement]) -> int:
        """Return the tokens of a summary that fit next to its `size` longest sentences."""
        longest = sorted((self.tokenizer.count(statement.sentence) for statement in statements), reverse=True)[:size]
        frame = _frame(self.judge.book, self.tokenizer, FIND_CONFUSION)
        return self.window - frame - sum(longest) - size * self.judge.entry_tokens(CONFUSION)

    def _stretch(self, statements: Sequence[Statement], numbers: Sequence[int], tokens_left: int) -> str:
        """Return as much of the summary around these sentences as fits, most of it before them."""
        texts = list[str]()
        for statement in reversed(statements[: numbers[-1] + 1 + _AFTER]):
            tokens_left -= self.tokenizer.count(statement.sentence) + 1
            if tokens_left < 0 and statement.id < statements[numbers[0]].id:
                break
            texts.append(statement.sentence)
        return " ".join(reversed(texts))


def _numbered(statements: Sequence[Statement], n: int) -> SummarySentence:
    """Return a sentence to be judged, with its position among identical ones."""
    statement, place = statements[n], ""
    alike = [candidate.id for candidate in statements if candidate.sentence == statement.sentence]
    if len(alike) > 1:
        place = f"number {alike.index(statement.id) + 1} of {len(alike)} sentences with these words"
    return SummarySentence(id=statement.id, place=place, sentence=statement.sentence)


def least_window(
    book: PromptBook, tokenizer: Tokenizer, prompt: Prompt[Any, Any] = FIND_CONFUSION, reply: EntryBudget = CONFUSION
) -> int:
    """Return the smallest window in which a summary can be read, if need be in parts, with room for this reply."""
    return _frame(book, tokenizer, prompt) + _MIN_STRETCH + reply.tokens(USUAL)


def _frame(book: PromptBook, tokenizer: Tokenizer, prompt: Prompt[Any, Any]) -> int:
    """Return the tokens of a prompt without the summary."""
    return tokenizer.count(book.source(prompt.name)) + _FRAME


def _verdict(entry: Confusion) -> SentenceConfusion | None:
    """Return the verdict of an entry; None if it gives none, or contradicts itself."""
    if entry.is_confusing is None and not entry.is_left_open:
        return None
    questions = tuple(one_line(question, _LONGEST_QUESTION) for question in entry.asked)
    return SentenceConfusion(confusing=entry.is_confusing, questions=questions, types=tuple(entry.errors))


class PartReading(BaseModel):
    """The stored stops in a part of a summary; `unsure` if the judge cannot read as a newcomer does."""

    stops: tuple[Stop, ...] = ()
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """A part of a summary, or all of it, with the number of its sentences."""

    text: str
    sentences: int
    context: str = ""
    """The part before it."""
    goes_on: bool = False
    """Whether another part follows."""


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Asks a judge where a reader of a summary stops who has never seen the document."""

    judge: Judge
    reader: EvidenceReader
    query: str | None = None

    async def read(self, parts: Sequence[SummaryPart]) -> ItemResults[PartReading]:
        """Return the stops in each part that has a readable reply, by its index, at most `MAX_STOPS` in each."""

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[PartReading]:
            (number,) = numbers
            part = parts[number]
            stops_input = FindStopsInput(
                context=part.context, summary=part.text, goes_on=part.goes_on, query=self.query
            )
            reply = await self.judge.ask(FIND_STOPS, stops_input, self._reply_tokens, "stops", attempt)
            # The stops after a cut are not known, so the reply is asked for again with more room.
            return Entries.of(reply, [(number, None if reply.is_truncated else _reading(reply.value))])

        items = [[content_id(part.context), content_id(part.text), part.goes_on, self.query] for part in parts]
        results = await self.judge.verdicts(
            FIND_STOPS, PartReading, items, lambda numbers: ask_all(in_batches(numbers, 1), ask)
        )
        return results.decided(lambda reading: not reading.unsure)

    def parts(self, summary: str, statements: Sequence[Statement]) -> list[SummaryPart]:
        """Return the summary, in parts if it does not fit a prompt: then each part is shown with the one before it."""
        count = self.reader.tokenizer.count
        around = _frame(self.judge.book, self.reader.tokenizer, FIND_STOPS) + count(self.query or "")
        room = self.reader.window - around - self._reply_tokens
        if count(summary) <= room:
            return [SummaryPart(summary, len(statements))]
        parts = self.reader.parts(statements, room // 2)
        texts = [" ".join(statement.sentence for statement in part) for part in parts]
        return [
            SummaryPart(text, len(part), context, number < len(parts))
            for number, (part, text, context) in enumerate(zip(parts, texts, ["", *texts], strict=False), 1)
        ]

    @property
    def _reply_tokens(self) -> int:
        return min(self.judge.entry_tokens(STOPS), self.judge.reply_tokens)


def _reading(reply: Stops) -> PartReading:
    """Return the stops of a reply, each once."""
    stops = [
        Stop(words=one_line(stop.words), question=one_line(stop.question, _LONGEST_QUESTION), type=stop.type)
        for stop in reply.stops
    ]
    distinct = {(stop.words, stop.question): stop for stop in reversed(stops)}
    first_stops = [stop for stop in stops if distinct[stop.words, stop.question] is stop]
    return PartReading(stops=tuple(first_stops[:MAX_STOPS]), unsure=reply.unsure)
