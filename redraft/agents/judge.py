"""A judge: a model, one of its samples, and a store that keeps each verdict. It is asked about items in batches,
concurrently, until each item has a verdict or a reason."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from redraft.builtin.facade import IDENTITY
from redraft.errors import RejectedRequest, ReplyError, UnreadableReply
from redraft.llm.base import Model, Reply, Request, Sampling
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import InputT, Prompt, ValueT
from redraft.settings import LEVEL_RATIO
from redraft.store.connection import off_loop
from redraft.store.table import Cache
from redraft.text.languages import is_foreign
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer
from redraft.text.words import UNSPACED, count_words, has_words

ResultT = TypeVar("ResultT")


async def gather_all(tasks: Iterable[Coroutine[Any, Any, ResultT]]) -> list[ResultT]:
    """Return the results of all tasks in order; the first error is raised once every task has ended."""
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


VerdictT = TypeVar("VerdictT")


Entries = tuple[Reply[Any], Iterable[tuple[int, VerdictT | None]]]
"""A reply, and its parsed entries: item numbers with their verdicts, None if an entry holds none."""


@dataclass(frozen=True, slots=True)
class ItemResults(Generic[VerdictT]):
    """The verdicts by item number, and what went wrong if there are none."""

    verdicts: dict[int, VerdictT] = field(default_factory=dict)
    trouble: str = ""
    undecided: dict[int, VerdictT] = field(default_factory=dict)
    """The answers of a judge that cannot tell."""

    def decided(self, is_verdict: Callable[[VerdictT], bool]) -> ItemResults[VerdictT]:
        """Return a copy without the verdicts of a judge that cannot tell."""
        decided = {n: verdict for n, verdict in self.verdicts.items() if is_verdict(verdict)}
        undecided = {n: verdict for n, verdict in self.verdicts.items() if n not in decided}
        return replace(self, verdicts=decided, undecided=undecided)


MAX_ROOM_FACTOR = 4
"""The largest multiple of the usual room that an entry may get."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a request is made: whether it is a repeat, its multiple of the usual reply room, and whether it is sampled
    `loosely` to escape a loop."""

    again: bool = False
    times: int = 1
    loosely: bool = False

    def with_more_room(self) -> Attempt | None:
        """Return the attempt with twice the room; None beyond `MAX_ROOM_FACTOR`."""
        return replace(self, times=2 * self.times) if 2 * self.times <= MAX_ROOM_FACTOR else None

    def after(self, error: ReplyError | RejectedRequest, *, single: bool) -> Attempt | None:
        """Return how to retry half of the items, or a `single` one, after an error; None if a retry cannot help."""
        unchanged = None if single else self
        if isinstance(error, ReplyError) and error.loops and not self.loosely:
            return replace(self, loosely=True)
        if isinstance(error, ReplyError) and (error.late or error.loops):
            return unchanged
        if isinstance(error, ReplyError) and error.needs_more_tokens:
            return self.with_more_room() or unchanged
        if isinstance(error, RejectedRequest) or (isinstance(error, UnreadableReply) and not error.text.strip()):
            # There was no reply at all: the request may have been too large, or failed by accident.
            return unchanged or (None if self.again else replace(self, again=True))
        return None


FIRST_TRY = Attempt()
"""The first attempt at a request."""

Ask = Callable[[Sequence[int], Attempt], Awaitable[Entries[VerdictT]]]
"""Asks about some items."""


async def ask_all(
    batches: Sequence[Sequence[int]], ask: Ask[VerdictT], *, ahead: bool = False
) -> ItemResults[VerdictT]:
    """Ask about all batches concurrently, and again about the items that a reply leaves out. With `ahead`, for prompts
    that begin alike, the first goes before the others so that a provider can cache what they share."""
    first = 1 if ahead else 0
    results = await gather_all(_ask_batch(batch, ask, FIRST_TRY) for batch in batches[:first])
    return joined([*results, *await gather_all(_ask_batch(batch, ask, FIRST_TRY) for batch in batches[first:])])


def first_error(accounts: Iterable[ItemResults[Any]]) -> str:
    """Return the first error message of several accounts; empty if there is none."""
    return next((results.trouble for results in accounts if results.trouble), "")


def joined(accounts: Sequence[ItemResults[VerdictT]]) -> ItemResults[VerdictT]:
    """Return several accounts as one."""
    verdicts = {number: verdict for results in accounts for number, verdict in results.verdicts.items()}
    return ItemResults(verdicts, first_error(accounts))


async def in_parts(
    readings: Iterable[Coroutine[Any, Any, ItemResults[VerdictT]]], count: int, says: Callable[[VerdictT], object]
) -> ItemResults[list[VerdictT]]:
    """Return on so many items the verdicts of those parts of a summary that say it, which is True for them; none where
    every part was read, and it is False for all."""
    parts = await gather_all(readings)
    verdicts: dict[int, list[VerdictT]] = {}
    for n in range(count):
        of_parts = [part.verdicts[n] for part in parts if n in part.verdicts]
        saying = [verdict for verdict in of_parts if says(verdict) is True]
        if saying or [says(verdict) for verdict in of_parts] == [False] * len(parts):
            verdicts[n] = saying
    return ItemResults(verdicts, first_error(parts))


async def _ask_batch(
    numbers: Sequence[int], ask: Ask[VerdictT], attempt: Attempt, strangers: int = 0
) -> ItemResults[VerdictT]:
    """Ask about some items, and as long as that may help, again about those without a verdict. `strangers` counts the
    entries so far that named no item."""
    try:
        reply, entries = await ask(numbers, attempt)
    except (ReplyError, RejectedRequest) as error:
        if isinstance(error, UnreadableReply) and error.nameless and len(numbers) > 1:
            # A reply about a single item needs no item name.
            return joined(await gather_all(_ask_batch([number], ask, attempt) for number in numbers))
        return await _ask_in_halves(numbers, ask, attempt.after(error, single=len(numbers) == 1), str(error))
    verdicts, more_strangers = _settled(list(entries), numbers)
    strangers += more_strangers
    missing = [number for number in numbers if number not in verdicts]
    if not missing:
        return ItemResults(verdicts)
    if reply.is_truncated:
        # Missing items had no room.
        following = attempt.with_more_room() or (attempt if len(missing) > 1 else None)
        more = await _ask_in_halves(missing, ask, following, "the reply was cut off at the token limit")
    elif reply.repaired or (attempt.again and not verdicts):
        unknown = f"; {strangers} of its entries named no existing item" if strangers else ""
        more = ItemResults(trouble=f"the judge skipped {len(missing)} of the items, twice{unknown}")
    else:
        more = await _ask_batch(missing, ask, replace(attempt, again=True), strangers)
    return ItemResults(verdicts | more.verdicts, more.trouble)


async def _ask_in_halves(
    numbers: Sequence[int], ask: Ask[VerdictT], attempt: Attempt | None, trouble: str
) -> ItemResults[VerdictT]:
    """Ask about each half of some items; without an attempt, return what went wrong."""
    if attempt is None:
        return ItemResults(trouble=trouble)
    middle = len(numbers) // 2
    parts = [numbers[:middle], numbers[middle:]] if middle else [numbers]
    return joined(await gather_all(_ask_batch(part, ask, attempt) for part in parts))


def _settled(entries: Sequence[tuple[int, VerdictT | None]], numbers: Sequence[int]) -> tuple[dict[int, VerdictT], int]:
    """Return the verdicts on the items, and the number of entries that name no item."""
    verdicts: dict[int, VerdictT] = {}
    disputed: set[int] = set()
    for number, verdict in entries:
        if number in numbers and verdict is not None and verdicts.setdefault(number, verdict) != verdict:
            disputed.add(number)
    strangers = sum(number not in numbers for number, _ in entries)
    return {number: verdict for number, verdict in verdicts.items() if number not in disputed}, strangers


Verdict = TypeVar("Verdict", bound=BaseModel)

_REPLY_TOKENS = 3000
_LONGEST_REPLY = 4096
REPLY_SHARE = 0.3
"""The largest share of a window that a reply may take."""
_REPLY_FRAME = 60
# The least temperature after a reply that looped.
_LOOSELY = 0.7
# Keeps the samples of later attempts apart from those of first ones.
_APART = 10_000
# The text is sampled in this many pieces of this many characters.
_PIECES, _PIECE = 10, 2_000
# The quantile of sentence lengths that counts as a longer sentence.
_LONGER = 0.75
_SHORTEST, _LONGEST = 16, 240
# Replies may take more tokens for a word than the document does.
_SLACK = 1.15
# Letters per word of a script without spaces.
_LETTERS_A_WORD = 2
_LETTER = re.compile(rf"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class TokenRates:
    """How many tokens a document's language takes."""

    per_word: float = 1 / LEVEL_RATIO
    """Tokens per word."""
    sentence: int = 40
    """Tokens of a longer sentence."""


USUAL = TokenRates()
"""The rates of English, used if nothing is known of a document."""


@dataclass(frozen=True, slots=True)
class EntryBudget:
    """What one entry of a reply needs: the tokens of its frame, the words written for it, and the sentences copied."""

    frame: int
    words: int = 0
    sentences: int = 0

    def tokens(self, wording: TokenRates) -> int:
        """Return the tokens that an entry may need at these rates."""
        return ceil(self.frame + self.words * wording.per_word + self.sentences * wording.sentence)


@dataclass(frozen=True, slots=True)
class Memory(Generic[Verdict]):
    """What earlier verdicts say of items in another context, such as another draft, by the keys of these `items`."""

    items: Sequence[list[Any]]
    recall: Callable[[int, str], Verdict | None]
    """Returns the verdict on an item according to what is stored, if that settles it."""
    note: Callable[[int, Verdict], str | None]
    """Returns what to store of a new verdict; None for nothing."""
    extends: bool = False
    """Whether the lists in what is new are added to those that are stored; otherwise what is stored first stays."""


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge of a panel; agents decide what to ask it and how to read its replies."""

    model: Model
    book: PromptBook
    verdict_cache: Cache
    """Where its verdicts are stored."""
    sample: int = 0
    temperature: float | None = None
    top_p: float | None = None
    """Part of the key of every verdict, like the temperature."""
    reply_tokens: int = _REPLY_TOKENS
    """The room for a reply next to as much evidence as possible; it limits how much is asked at once."""
    longest_reply: int = _LONGEST_REPLY
    """The room for a reply if there is more space."""
    wording: TokenRates = USUAL
    """How many tokens the language of its replies takes."""
    document: str = ""
    """The id of the document, so that verdicts are deleted with it."""
    visit: int = 0
    """The number of times a finished run was continued: undecided items are asked about once more."""

    @property
    def name(self) -> str:
        """Return the name that distinguishes this judge from the others of a panel."""
        return f"{self.model.identity}#{self.sample}" if self.sample else self.model.identity

    @property
    def sampling_key(self) -> list[float | None]:
        """Return the sampling settings that are part of every key."""
        return [self.temperature] if self.top_p is None else [self.temperature, self.top_p]

    def can_read(self, language: str) -> bool:
        """Return whether the judge can read a language."""
        return self.model.identity != IDENTITY or not is_foreign(language)

    async def ask(
        self, prompt: Prompt[InputT, ValueT], inputs: InputT, room: int, label: str, attempt: Attempt | None = None
    ) -> Reply[ValueT]:
        """Ask, doubling the reply's room while it is cut; return a partial reply if none is complete. With an
        `attempt`, the caller retries a cut reply."""
        if attempt is not None:
            return await self._asked(prompt, inputs, room, label, attempt)
        following: Attempt | None = FIRST_TRY
        partial: Reply[ValueT] | None = None
        while following is not None:
            attempt, following = following, following.with_more_room()
            try:
                reply = await self._asked(prompt, inputs, room, label, attempt)
            except ReplyError as error:
                if error.loops and not attempt.loosely:
                    following = replace(attempt, loosely=True)
                elif not error.needs_more_tokens or error.late or error.loops:
                    following = None
                if following is None and partial is None:
                    raise
            else:
                if not reply.is_truncated:
                    return reply
                partial = reply
        assert partial is not None
        return partial

    async def ask_items(
        self,
        prompt: Prompt[InputT, ValueT],
        inputs: InputT,
        numbers: Sequence[int],
        entry: EntryBudget,
        label: str,
        attempt: Attempt,
        limit: int | None = None,
    ) -> Reply[ValueT]:
        """Ask about some items, with room for an entry of each up to a limit."""
        room = len(numbers) * entry.tokens(self.wording)
        return await self.ask(prompt, inputs, min(room, limit or room), label_of(label, numbers), attempt)

    async def _asked(
        self, prompt: Prompt[InputT, ValueT], inputs: InputT, room: int, label: str, attempt: Attempt
    ) -> Reply[ValueT]:
        temperature = prompt.temperature if self.temperature is None else self.temperature
        temperature = max(temperature, _LOOSELY) if attempt.loosely else temperature
        # The same request would be answered from the cache, so it is another sample.
        draw = 2 * self.sample + attempt.again * (1 + 2 * _APART * (self.visit % _APART))
        sampling = Sampling(temperature, room * attempt.times + _REPLY_FRAME, draw)
        reply = await self.model.ask(Request(prompt, inputs, sampling, label))
        # An old repair is no reason not to ask about the rest now.
        return replace(reply, repaired=False) if self.visit and reply.cached else reply

    async def verdicts(
        self,
        prompt: Prompt[Any, Any],
        kind: type[Verdict],
        items: Sequence[list[Any]],
        judge: Callable[[Sequence[int]], Awaitable[ItemResults[Verdict]]],
        memory: Memory[Verdict] | None = None,
    ) -> ItemResults[Verdict]:
        """Return the stored verdicts on items, by all that each depends on: question, sentence, document. `judge` is
        asked about the others, once about equal ones. New verdicts are stored all at once, because the batches depend
        on what is stored and must be the same after a crash. A `memory` holds what is known beyond the very item; where
        there are no `items`, nothing else is stored."""
        shared = self.keys(prompt, memory.items) if memory else []
        keys = self.keys(prompt, items) or [f"{number}" for number in range(len(shared))]
        stored = await off_loop(self.verdict_cache.find, [*(keys if items else []), *shared])
        verdicts = {key: kind.model_validate_json(stored[key]) for key in keys if key in stored}
        for number, (key, shared_key) in enumerate(zip(keys, shared, strict=False)):
            is_remembered = shared_key in stored and key not in verdicts
            recalled = memory.recall(number, stored[shared_key]) if memory and is_remembered else None
            verdicts |= {key: recalled} if recalled is not None else {}
        first = {key: number for number, key in reversed(list(enumerate(keys))) if key not in verdicts}
        fresh = await judge(sorted(first.values()))
        texts = {keys[number]: verdict.model_dump_json() for number, verdict in fresh.verdicts.items() if items}
        noted = {number: memory.note(number, verdict) for number, verdict in fresh.verdicts.items()} if memory else {}
        notes = {shared[number]: note for number, note in noted.items() if note is not None}
        if memory and memory.extends and notes:
            await off_loop(self.verdict_cache.extend, notes, self.document)
            notes = {}
        await off_loop(self.verdict_cache.put, texts | notes, self.document, keep=True)
        verdicts |= {keys[number]: verdict for number, verdict in fresh.verdicts.items()}
        return ItemResults({n: verdicts[key] for n, key in enumerate(keys) if key in verdicts}, fresh.trouble)

    def keys(self, prompt: Prompt[Any, Any], items: Sequence[list[Any]]) -> list[str]:
        """Return the keys under which verdicts on some items are stored."""
        frame = [self.book.hash(prompt), self.model.identity, self.sample, *self.sampling_key]
        return [hashlib.sha256(json.dumps([*frame, *item]).encode()).hexdigest() for item in items]

    def reply_room(self, tokens: int, window: int) -> int:
        """Return the room for a reply next to a prompt of this many tokens."""
        return max(self.reply_tokens, min(self.longest_reply, window - tokens))


def reply_rooms(window: int, limit: int | None = None) -> tuple[int, int]:
    """Return the usual and the largest room for a reply in a window, within the user's own limit."""
    longest = min(_LONGEST_REPLY, limit or _LONGEST_REPLY)
    return min(_REPLY_TOKENS, int(window * REPLY_SHARE), limit or _REPLY_TOKENS), longest


def in_batches(numbers: Sequence[int], size: int) -> list[Sequence[int]]:
    """Return the numbers in as few, and as equal, batches of at most this size as possible."""
    size = ceil(len(numbers) / ceil(len(numbers) / size)) if numbers else 1
    return [numbers[at : at + size] for at in range(0, len(numbers), size)]


def label_of(what: str, numbers: Sequence[int]) -> str:
    """Return the label of a request: which items, counted from 1."""
    first, last = numbers[0] + 1, numbers[-1] + 1
    return f"{what} {first}" if first == last else f"{what} {first} to {last}"


@lru_cache(maxsize=4)
def wording_of(text: str, tokenizer: Tokenizer) -> TokenRates:
    """Return the token rates of a document, by samples of its text. Cached, since each step of a run needs them."""
    step = max(_PIECE, len(text) // _PIECES)
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), step)]
    counts: list[int] = []
    for piece in pieces:
        spans = sentences(piece)
        # The first and the last sentence of a piece may be cut.
        texts = [piece[span.start : span.end] for span in (spans[1:-1] if len(spans) > 2 else spans)]
        counts += [tokenizer.count(text) for text in texts if has_words(text)]
    counts.sort()
    words = sum(map(count_words, pieces))
    unspaced = 2 * sum(len(_LETTER.findall(piece)) for piece in pieces) > words
    per_word = max(USUAL.per_word, _SLACK * sum(map(tokenizer.count, pieces)) / max(1, words))
    longer = counts[int(_LONGER * (len(counts) - 1))] if counts else USUAL.sentence
    return TokenRates(per_word * (_LETTERS_A_WORD if unspaced else 1), min(_LONGEST, max(_SHORTEST, longer)))
