"""Writing within limits: ask, check the reply, report its flaw, and keep the best. A reply that is cut off gets twice
the room; for any other flaw the model is told what was wrong. If no reply is flawless, the best part of one is kept,
with a note. A text that does not summarize its source is never kept, and raises `RefusedReply` the second time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

from pydantic import BaseModel

from redraft.domain import Usage
from redraft.errors import EmptyReply, RefusedReply
from redraft.llm.base import Complaint, Model, Request, Sampling, Withdrawable
from redraft.prompts.contract import Prompt
from redraft.store.connection import off_loop
from redraft.text.refusals import is_no_summary
from redraft.text.reply_cleanup import (
    ends_in_loop,
    has_whole_text,
    prose_in,
    strip_loops,
    without_copies,
    without_unfinished,
)
from redraft.text.sanitizer import one_line
from redraft.text.sentences import ends_sentence
from redraft.text.words import count_words, has_words

MAX_TRIES = 6
"""The most repeated requests because of a flaw, and as many because of lost replies."""
# Each further try asks for this much less.
_SHRINK_REGENERATION = 0.1
MIN_WORDS = 5
# A text slightly over its limit is asked to be shorter by the excess, and never for less than a share of the limit:
# asked for a third, a model writes another text.
_SLIGHTLY = 1.25
_MIN_SHARE = 0.7
Stage = Literal["leaf", "merge", "revision"]
"""An intermediate text: the summary of a chunk, a merge of summaries, or a revised draft."""
# How often the room of a cut reply is doubled.
_DOUBLED = 4
# The number of tries before a text within the worst limit is taken.
_FEW_TRIES = 3
# How much an intermediate text may exceed its limit: to ask again costs more than it saves.
_TOLERANCE: dict[Stage, float] = {"leaf": 0.15, "merge": 0.1, "revision": 0.05}
# How much a revision may exceed its limit if every try has failed.
_TOLERANCE_AT_WORST = 0.1
# Tokens of a complaint, without the reply.
_COMPLAINT_TOKENS = 120
# The characters of a reply that are read: more than any reply has that keeps to its limit of tokens.
_CHARACTERS_A_TOKEN, _SPARE_CHARACTERS = 16, 20_000

# The number of replies that are not summaries and count as a refusal.
_REFUSALS = 2
_LONGEST_SAID = 200

Kind = Literal["empty", "cut", "unfinished", "long", "short", "loop", "echo", "foreign"]
_ACCIDENTS = ("empty", "cut")


@dataclass(frozen=True, slots=True)
class Flaw:
    """A flaw of a text: its kind, and a description for the record."""

    kind: Kind
    said: str


Examine = Callable[[str], Flaw | None]
"""Returns the flaw of a text, if any."""
Spare = Callable[[Prompt[Any, str], BaseModel], int]
"""Returns how many tokens of the window a prompt leaves."""
Instructions = Callable[[Prompt[Any, str], BaseModel], str]
"""Returns the words of a prompt apart from the texts that it is given."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A text, the number of tries, and its flaws if none was valid."""

    text: str
    words: int
    attempts: int
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class _WriterReply:
    """The text of a reply; empty if the model wrote nothing."""

    text: str
    cut: bool = False
    """Whether it was cut off for lack of room."""
    echo: bool = False
    """Whether most of the reply repeated the prompt's own words, which are left out of the text."""
    loops: bool = False
    """Whether it was cut off in a loop."""
    request: Request[Any, str] | None = None
    """The request, if the model wrote anything."""


@dataclass(slots=True)
class _Progress:
    """The state of the tries for one text."""

    limits: Sequence[int]
    """The word limit of the first try, and of each further one."""
    room: int
    limit: int = 0
    """The limit of the next try."""
    shrunk: int = 0
    told: int = 0
    lost: int = 0
    lost_in_a_row: int = 0
    told_of_limit: bool = False
    """Whether the model was told that its text was too long, and asked again within the same limit."""
    doubled: int = 0
    complaint: Complaint | None = None
    flawed: list[tuple[bool, Completion]] = field(default_factory=list)
    """The usable part of each try, and whether that is all of it."""
    long: list[Completion] = field(default_factory=list)
    """The tries whose only flaw is their length."""
    answered: list[tuple[object, ...]] = field(default_factory=list)
    refused: list[Request[Any, str]] = field(default_factory=list)
    """The requests answered with something other than a summary."""

    def __post_init__(self) -> None:
        self.limit = self.limits[0]

    def count(self, flaw: Flaw) -> None:
        """Count a flaw; lost replies are counted apart."""
        accident = flaw.kind in _ACCIDENTS
        self.lost += accident
        self.told += not accident
        self.lost_in_a_row = self.lost_in_a_row + 1 if accident else 0

    def widen(self, room: int, left: float) -> bool:
        """Double the room of a cut reply, up to the maximum; return whether it was doubled."""
        before, self.doubled = self.room, self.doubled + 1
        if self.doubled <= _DOUBLED:
            self.room = max(self.room, int(min(room * 2**self.doubled, left)))
        return self.room >= 2 * before

    def shrink(self, flaw: Flaw, words: int) -> None:
        """Lower the limit, if that may fix the flaw."""
        # An empty reply is first reported, and a text that is too short needs no lower limit.
        if flaw.kind in ("short", "loop", "echo", "foreign") or (flaw.kind == "empty" and self.lost_in_a_row == 1):
            return
        if flaw.kind == "long" and not self.told_of_limit:
            # The limit stays the same, and the complaint says by how much it was missed.
            self.told_of_limit = True
            return
        self.shrunk += 1
        first, last = self.limits[0], self.limits[-1]
        lower = self.limits[min(self.shrunk, len(self.limits) - 1)]
        if words <= _SLIGHTLY * first:
            lower = self.limit - (words - first) if first < words and flaw.kind == "long" else lower
            lower = max(lower, last, round(_MIN_SHARE * first))
        # At least one word less: the same limit would be the same request.
        self.limit = max(MIN_WORDS, min(self.limit - 1, lower))


@dataclass(frozen=True, slots=True)
class StructuredWriter:
    """A model that writes texts within limits. Without `spare` its window is unlimited; without `instructions` echoes
    of the prompt are not detected."""

    model: Model
    tokens_per_word: float
    temperature: float | None = None
    sample: int = 0
    spare: Spare | None = None
    language: str | None = None
    """The language to write in; None for that of the source."""
    characters: bool = False
    """Whether lengths are counted in characters, for a script without spaces."""
    instructions: Instructions | None = None
    read: Callable[[str], str] = str
    """Extracts the text from a reply; nothing else is counted or checked."""
    beside: int = 0
    """The tokens that a reply may have in addition to its text."""
    count: Callable[[str], int] = len
    """Counts the tokens of a text that is held to a cap."""

    async def within(
        self,
        prompt: Prompt[Any, str],
        given: Callable[[int], BaseModel],
        words: int,
        label: str,
        most: int = 0,
        sign: Callable[[str], bool] | None = None,
        at_worst: int = 0,
        source: str = "",
        cap: int = 0,
        *,
        free: bool = False,
    ) -> Completion:
        """Ask until the reply has at most `words` (or `most`) words, or `cap` tokens if there is a cap, and ends a
        sentence, or is the `sign` that there is nothing to write; else keep the closest, or one of up to `at_worst`
        words. With a `source` the text has to be a summary of it. A `free` text may be longer: `words` is what it
        usually needs, and `most` what there is room for."""

        def examine(text: str) -> Flaw | None:
            if sign and sign(text):
                return None
            long = None if free else self.too_long(text, words, most, cap)
            return self.foreign(text, source, words) or long or unfinished(text)

        room = max(self.tokens(max(words, most)), cap) + self.beside
        # The full limit, then each time a tenth less.
        limits = [max(MIN_WORDS, round(words * (1 - _SHRINK_REGENERATION * n))) for n in range(MAX_TRIES + 1)]
        return await self.tries(prompt, given, limits, examine, words, room, label, at_worst)

    async def tries(
        self,
        prompt: Prompt[Any, str],
        given: Callable[[int], BaseModel],
        limits: Sequence[int],
        examine: Examine,
        wanted: int,
        max_tokens: int,
        label: str,
        at_worst: int = 0,
    ) -> Completion:
        """Ask until a reply has no flaw, once per limit; then keep the one closest to `wanted` words. Lost replies are
        not counted. After a few tries a whole text of up to `at_worst` words is accepted. Raises `RefusedReply` if two
        replies are not a summary."""
        progress = _Progress(limits, max_tokens)
        while progress.told < len(limits) and progress.lost <= MAX_TRIES:
            asked = given(progress.limit)
            reply = await self._reply(prompt, asked, progress, label)
            text, words, once = reply.text, count_words(reply.text), strip_loops(reply.text)
            flaw = _flaw(reply, once, examine)
            if flaw is None:
                return Completion(text, words, len(progress.flawed) + 1)
            progress.flawed.append(_usable_part(text, once, flaw, examine, len(progress.flawed) + 1))
            if flaw.kind == "long" and not reply.cut and not unfinished(text):
                progress.long.append(progress.flawed[-1][1])
            if flaw.kind == "foreign" and reply.request:
                await self._refused(progress, reply.request, text)
            progress.count(flaw)
            shortest = min(progress.long, key=lambda completion: completion.words, default=None)
            if progress.told >= _FEW_TRIES and shortest and shortest.words <= at_worst:
                return replace(shortest, attempts=len(progress.flawed), flaw="")
            left = await off_loop(self.spare, prompt, asked) if self.spare else inf
            # A text that is too long had room enough.
            wider = reply.cut and flaw.kind in _ACCIDENTS and progress.widen(max_tokens, left)
            if not wider:
                progress.shrink(flaw, words)
                progress.room = max(max_tokens, int(min(progress.room, left - _COMPLAINT_TOKENS)))
                fits = left >= self.tokens(words) + _COMPLAINT_TOKENS + progress.room
                told = _complaint_about(flaw, words, progress.limit, self.characters)
                progress.complaint = Complaint.about(once if fits else "", told)
        _, best = min(progress.flawed, key=lambda part: (not part[1].text, not part[0], abs(part[1].words - wanted)))
        return replace(best, attempts=len(progress.flawed))

    async def _reply(self, prompt: Prompt[Any, str], given: BaseModel, progress: _Progress, label: str) -> _WriterReply:
        same = (given, progress.room, progress.complaint)
        # The same request would be answered from the cache, so it is another sample.
        sample = self.sample * MAX_TRIES + progress.answered.count(same)
        temperature = prompt.temperature if self.temperature is None else self.temperature
        sampling = Sampling(temperature, progress.room, sample)
        tried = f"{label} try {len(progress.flawed) + 1}" if progress.flawed else label
        request = Request(prompt, given, sampling, tried, progress.complaint)
        try:
            reply = await self.model.ask(request)
        except EmptyReply as error:
            return _WriterReply("", error.finish_reason == "length")
        # A server that ignores the limit of a reply may go on for megabytes, each of which takes seconds to check.
        said = prose_in(self.read(reply.value)[: _CHARACTERS_A_TOKEN * progress.room + _SPARE_CHARACTERS])
        if said:
            progress.answered.append(same)
        # A rule, or a row of stars, is not text.
        text = said if has_words(said) else ""
        if self.instructions is not None:
            text = without_copies(text, await off_loop(self.instructions, prompt, given), list(_texts(given)))
        cut = reply.finish_reason == "length" and not has_whole_text(reply.value)
        # A loop of openings may be cleaned up entirely, so the raw reply is checked.
        echo = has_words(said) and 2 * count_words(text) < count_words(said)
        loops = cut and ends_in_loop(reply.value)
        return _WriterReply(text, cut, echo, loops, request)

    async def _refused(self, progress: _Progress, request: Request[Any, str], text: str) -> None:
        """Record a reply that is not a summary; raise `RefusedReply` the second time."""
        progress.refused.append(request)
        if len(progress.refused) < _REFUSALS:
            return
        said = f"the model wrote something other than a summary: {one_line(text, _LONGEST_SAID)}"
        if isinstance(self.model, Withdrawable):
            for one in progress.refused:
                await self.model.withdraw(one, said)
        raise RefusedReply(said, text=text, usage=Usage(), place=request.label)

    def foreign(self, text: str, source: str, words: int) -> Flaw | None:
        """Return the flaw of a text that does not summarize its source."""
        strange = source and is_no_summary(text, source, words, self.language)
        return Flaw("foreign", "has almost nothing in common with its source") if strange else None

    def too_long(self, text: str, words: int, most: int = 0, cap: int = 0) -> Flaw | None:
        """Return the flaw of a text that has more than `cap` tokens, or without a cap more than its words."""
        if not cap:
            return too_long(text, words, most)
        tokens = self.count(text)
        return Flaw("long", f"{tokens} tokens, over the limit of {cap}") if tokens > cap else None

    def tokens(self, words: int) -> int:
        """Return the tokens that a reply of this many words needs."""
        return max(16, int(words * self.tokens_per_word) + 1)


def max_intermediate_words(words: int, stage: Stage = "revision") -> int:
    """Return the most words that an intermediate text may have."""
    return int(words * (1 + _TOLERANCE[stage]))


def max_fallback_words(words: int) -> int:
    """Return the most words of a revision after every try for a shorter one has failed."""
    return int(words * (1 + _TOLERANCE_AT_WORST))


def too_long(text: str, words: int, most: int = 0) -> Flaw | None:
    """Return the flaw of a text that has more than `words` or `most` words."""
    written = count_words(text)
    return Flaw("long", f"{written} words, over the limit of {words}") if written > max(words, most) else None


def unfinished(text: str) -> Flaw | None:
    """Return the flaw of a text that ends in the middle of a sentence."""
    return None if ends_sentence(text) else Flaw("unfinished", "ends in the middle of a sentence")


def _flaw(reply: _WriterReply, once: str, examine: Examine) -> Flaw | None:
    if reply.echo:
        return Flaw("echo", "repeats the instructions")
    if not reply.text and not reply.loops:
        return Flaw("empty", "empty")
    if once != reply.text or reply.loops:
        return Flaw("loop", "says the same over and over")
    flaw = examine(reply.text)
    # A text that is too long was not cut for lack of room.
    cut = reply.cut and (flaw is None or flaw.kind not in ("long", "foreign"))
    return Flaw("cut", "breaks off before its end") if cut else flaw


def _usable_part(text: str, once: str, flaw: Flaw, examine: Examine, tries: int) -> tuple[bool, Completion]:
    """Return the part of a flawed text that can be used, with its flaws, and whether that is all of it."""
    if flaw.kind == "foreign":
        return False, Completion("", 0, tries, flaw.said)
    part = without_unfinished(once)
    flaws = [flaw.said] if part == text or flaw.kind != "long" else []
    if once != text:
        flaws.append("kept up to its first repetition")
    if part != once:
        flaws.append("kept without its unfinished last sentence")
    if part and part != text and (remaining := examine(part)):
        flaws.append(remaining.said)
    whole = part == text and ends_sentence(text) and flaw.kind != "echo"
    return whole, Completion(part, count_words(part), tries, ", ".join(flaws))


def _texts(given: BaseModel) -> Iterator[str]:
    for name in type(given).model_fields:
        value = getattr(given, name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, BaseModel):
                yield from _texts(one)
            elif isinstance(one, str):
                yield one


def _complaint_about(flaw: Flaw, words: int, limit: int, characters: bool) -> str:
    """Return what to tell the model about a flaw when asking again."""
    unit = "characters" if characters else "words"
    keep, within = f"write at most {limit} {unit}", f"in at most {limit} {unit}"
    too_many = f"it has {words} {unit}, {words - limit} too many" if words > limit else "too long"
    complaints: dict[Kind, str] = {
        "empty": "it is empty",
        "loop": f"it says the same over and over; say everything once, {within}",
        "echo": f"it repeats the instructions; write the text that they ask for, {within}",
        "foreign": f"it is not a summary of the text above; summarize that text, {within}",
        "long": f"{too_many}; {keep}",
        "short": f"it has {words} {unit}, {limit - words} too few; {keep}",
        "cut": f"it breaks off before its end; {keep}",
        "unfinished": f"its last sentence is unfinished; {keep}",
    }
    return complaints[flaw.kind]
