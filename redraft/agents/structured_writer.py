"""Writing within limits: ask, check the reply, report its flaw, and keep the best. A reply that is cut off gets twice
the room; for any other flaw the model is told what was wrong. If no reply is flawless, the best part of one is kept,
with a note. A text that does not summarize its source is never kept, and raises `RefusedReply` the second time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, Literal

from pydantic import BaseModel

from redraft.domain import Completion, Usage
from redraft.errors import EmptyReply, RefusedReply
from redraft.llm.base import Complaint, Model, Reply, Request, Sampling
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Prompt, texts_in
from redraft.store.connection import off_loop
from redraft.text.reply_cleanup import (
    CLOSED,
    is_no_summary,
    prose_in,
    strip_loops,
    turn_at_end,
    without_copies,
    without_unfinished,
)
from redraft.text.sanitizer import one_line
from redraft.text.sentences import ends_sentence
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words, has_words

MAX_TRIES = 6
"""The most repeated requests because of a flaw, and as many because of lost replies."""
# Each further try asks for this much less.
_SHRINK_REGENERATION = 0.1
MIN_WORDS = 5
# Tokens that a chat protocol adds to a prompt, and the slack between our count and the provider's.
MARGIN = 20
# A text slightly over its limit is asked to be shorter by the excess, and never for less than a share of the limit:
# asked for a third, a model writes another text.
_SLIGHTLY = 1.25
_MIN_SHARE = 0.7
Stage = Literal["leaf", "merge", "revision", "at worst"]
"""An intermediate text: the summary of a chunk, a merge of summaries, a revised draft, or one after every try for a
shorter one has failed."""
# How often the room of a cut reply is doubled.
_DOUBLED = 4
# The number of tries before a text within the worst limit is taken.
_FEW_TRIES = 3
# How much an intermediate text may exceed its limit: to ask again costs more than it saves.
_TOLERANCE: dict[Stage, float] = {"leaf": 0.15, "merge": 0.1, "revision": 0.05, "at worst": 0.1}
# Tokens of a complaint, without the reply.
_COMPLAINT_TOKENS = 120
# The characters of a reply that are read: more than any reply has that keeps to its limit of tokens.
_CHARACTERS_A_TOKEN, _SPARE_CHARACTERS = 16, 20_000

# The number of replies that are not summaries and count as a refusal.
_REFUSALS = 2
_LONGEST_QUOTE = 200

Kind = Literal["empty", "cut", "unfinished", "long", "short", "loop", "echo", "foreign"]
_ACCIDENTS: tuple[Kind, ...] = ("empty", "cut")


@dataclass(frozen=True, slots=True)
class Flaw:
    """A flaw of a text: its kind, and a description for the record."""

    kind: Kind
    description: str

    def complaint(self, words: int, limit: int, unit: str) -> str:
        """Return what to tell the model when asking again for a text that had so many words."""
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
        return complaints[self.kind]


Examine = Callable[[str], Flaw | None]
"""Returns the flaw of a text, if any."""
Spare = Callable[[Prompt[Any, str], BaseModel], int]
"""Returns how many tokens of the window a prompt leaves."""
Instructions = Callable[[Prompt[Any, str], BaseModel], str]
"""Returns the words of a prompt apart from the texts that it is given."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """The text of a reply, empty if the model wrote nothing, and its flaw."""

    request: Request[Any, str]
    text: str
    words: int
    distinct: str
    """The text up to its first repetition."""
    cut: bool
    """Whether it was cut off for lack of room."""
    is_silent: bool
    """Whether the model wrote nothing at all."""
    flaw: Flaw | None

    @property
    def kind(self) -> Kind | Literal["none"]:
        """Return the kind of its flaw."""
        return self.flaw.kind if self.flaw else "none"

    def usable_part(self, examine: Examine) -> tuple[bool, Completion]:
        """Return the part of a flawed text that can be used, with its flaws, and whether that is all of it."""
        assert self.flaw is not None, "a text without a flaw is used as it is"
        if self.flaw.kind == "foreign":
            return False, Completion("", 0, 1, self.flaw.description)
        part = without_unfinished(self.distinct)
        flaws = [self.flaw.description] if part == self.text or self.flaw.kind != "long" else []
        if self.distinct != self.text:
            flaws.append("kept up to its first repetition")
        if part != self.distinct:
            flaws.append("kept without its unfinished last sentence")
        if part and part != self.text and (remaining := examine(part)):
            flaws.append(remaining.description)
        is_whole = part == self.text and ends_sentence(self.text) and self.flaw.kind != "echo"
        return is_whole, Completion(part, count_words(part), 1, ", ".join(flaws))


class _Tries:
    """The tries for one text: the flawed replies so far, and the limits of the next request."""

    def __init__(self, limits: Sequence[int], room: int) -> None:
        """`limits` are the word limits of the first try and of each further one, `room` the tokens of a reply."""
        self.limits, self.limit, self.first_room, self.room = limits, limits[0], room, room
        self.complaint: Complaint | None = None
        self.replies: list[_Reply] = []
        self._times_shrunk = 0

    def request(
        self, prompt: Prompt[Any, str], prompt_input: BaseModel, temperature: float | None, sample: int, label: str
    ) -> Request[Any, str]:
        """Return the next request; the same one is made with another sample."""
        if self.replies:
            label = f"{label} try {len(self.replies) + 1}"
        earlier = [reply.request for reply in self.replies if not reply.is_silent]
        terms = [(request.given, request.sampling.max_tokens, request.complaint) for request in earlier]
        # The same request with the same sample would be answered from the cache.
        sample = sample * MAX_TRIES + terms.count((prompt_input, self.room, self.complaint))
        sampling = Sampling(prompt.temperature if temperature is None else temperature, self.room, sample)
        return Request(prompt, prompt_input, sampling, label, self.complaint)

    def adapt(self, reply: _Reply, tokens_left: float, needed: int, unit: str) -> None:
        """Set the limits of the next request after a flawed reply: twice the room for one that was cut off, up to the
        maximum, or else a lower limit, if that may fix the flaw, and a complaint. That has the reply, which `needed`
        some tokens, if both fit into the `tokens_left` of the window."""
        before, lost = self.room, [earlier.cut and earlier.kind in _ACCIDENTS for earlier in self.replies]
        if lost[-1] and sum(lost) <= _DOUBLED:
            self.room = max(before, int(min(self.first_room * 2 ** sum(lost), tokens_left)))
        # A text that is too long had room enough.
        if lost[-1] and self.room >= 2 * before:
            return
        kinds, words = [earlier.kind for earlier in self.replies], reply.words
        # The first empty reply is only reported.
        is_reported = reply.kind == "empty" and not (len(kinds) > 1 and kinds[-2] in _ACCIDENTS)
        # For the first that is too long the limit stays, and the complaint says by how much it was missed.
        is_reported |= reply.kind == "long" and kinds.count("long") == 1
        if not is_reported and reply.kind not in ("short", "loop", "echo", "foreign"):
            self._times_shrunk += 1
            first, last = self.limits[0], self.limits[-1]
            lower = self.limits[min(self._times_shrunk, len(self.limits) - 1)]
            if words <= _SLIGHTLY * first:
                lower = self.limit - (words - first) if first < words and reply.kind == "long" else lower
                lower = max(lower, last, round(_MIN_SHARE * first))
            # At least one word less: the same limit would be the same request.
            self.limit = max(MIN_WORDS, min(self.limit - 1, lower))
        self.room = max(self.first_room, int(min(self.room, tokens_left - _COMPLAINT_TOKENS)))
        assert reply.flaw is not None, "a text without a flaw is used as it is"
        fits = tokens_left >= needed + _COMPLAINT_TOKENS + self.room
        complaint = reply.flaw.complaint(words, self.limit, unit)
        self.complaint = Complaint.about(reply.distinct if fits else "", complaint)


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
    is_sign: Callable[[str], bool] = lambda _: False
    """Returns whether a text is the sign that there is nothing to write, which needs no length."""

    async def within(
        self,
        prompt: Prompt[Any, str],
        input_within: Callable[[int], BaseModel],
        words: int,
        label: str,
        maximum: int = 0,
        at_worst: int = 0,
        source: str = "",
        cap: int = 0,
        *,
        free: bool = False,
        limits: Sequence[int] = (),
        examine: Examine | None = None,
    ) -> Completion:
        """Ask until a reply has at most `words` (or `maximum`) words, or `cap` tokens if there is a cap, ends a
        sentence, and summarizes its `source`, if there is one; or is the sign that there is nothing to write. An
        `examine` finds flaws of its own. There is a try for each of the `limits`, and more for lost replies. Else keep
        the reply closest to `words`, or after a few tries a whole text of up to `at_worst`. `input_within` returns the
        prompt's input for a word limit. A `free` text may be longer: `words` is what it usually needs, and `maximum`
        what there is room for. Raises `RefusedReply` if two replies are not a summary, whose calls are withdrawn."""
        # The full limit, then each time a tenth less.
        shrunk = [max(MIN_WORDS, round(words * (1 - _SHRINK_REGENERATION * n))) for n in range(MAX_TRIES + 1)]
        usual = partial(self.flaw, source=source, words=words, limit=words, maximum=maximum, cap=cap, free=free)
        examine = examine or (lambda text: None if self.is_sign(text) else usual(text))
        tries = _Tries(limits or shrunk, max(self.tokens(max(words, maximum)), cap) + self.beside)
        counted: list[_Reply] = []
        # Replies that were lost by accident are counted apart.
        while len(counted) < len(tries.limits) and len(tries.replies) - len(counted) <= MAX_TRIES:
            request = tries.request(prompt, input_within(tries.limit), self.temperature, self.sample, label)
            try:
                reply = self._checked(request, await self.model.ask(request), examine)
            except EmptyReply as error:
                is_cut = error.finish_reason == "length"
                reply = _Reply(request, "", 0, "", is_cut, True, Flaw("empty", "empty"))
            if reply.flaw is None:
                return Completion(reply.text, reply.words, len(tries.replies) + 1)
            tries.replies.append(reply)
            foreign = [earlier for earlier in tries.replies if earlier.kind == "foreign"]
            if reply.kind == "foreign" and len(foreign) >= _REFUSALS:
                reason = f"the model wrote something other than a summary: {one_line(reply.text, _LONGEST_QUOTE)}"
                withdraw: Any = getattr(self.model, "withdraw", None)
                for earlier in foreign if withdraw else ():
                    await withdraw(earlier.request, reason)
                raise RefusedReply(reason, text=reply.text, usage=Usage(), place=request.label)
            counted = [earlier for earlier in tries.replies if earlier.kind not in _ACCIDENTS]
            long = [earlier for earlier in counted if earlier.kind == "long" and earlier.words <= at_worst]
            # Texts whose length is their only flaw.
            whole = [earlier for earlier in long if not earlier.cut and ends_sentence(earlier.text)]
            if len(counted) >= _FEW_TRIES and whole:
                shortest = min(whole, key=lambda earlier: earlier.words)
                return Completion(shortest.text, shortest.words, len(tries.replies))
            tokens_left = await off_loop(self.spare, prompt, request.given) if self.spare else inf
            tries.adapt(reply, tokens_left, self.tokens(reply.words), "characters" if self.characters else "words")
        parts = [reply.usable_part(examine) for reply in tries.replies]
        _, best = min(parts, key=lambda part: (not part[1].text, not part[0], abs(part[1].words - words)))
        return replace(best, attempts=len(tries.replies))

    def _checked(self, request: Request[Any, str], reply: Reply[str], examine: Examine) -> _Reply:
        """Return the text in a reply, with its flaw."""
        room = request.sampling.max_tokens or 0
        # A server that ignores the limit of a reply may go on for megabytes, each of which takes seconds to check.
        prose = prose_in(self.read(reply.value)[: _CHARACTERS_A_TOKEN * room + _SPARE_CHARACTERS])
        # A rule, or a row of stars, is not text.
        text = prose if has_words(prose) else ""
        if self.instructions is not None:
            text = without_copies(text, self.instructions(request.prompt, request.given), list(texts_in(request.given)))
        cut = reply.finish_reason == "length" and not CLOSED.search(reply.value)
        distinct = strip_loops(text)
        if has_words(prose) and 2 * count_words(text) < count_words(prose):
            flaw: Flaw | None = Flaw("echo", "repeats the instructions")
        elif distinct != text or (cut and turn_at_end(reply.value)):
            # A loop of openings may be cleaned up entirely, so the raw reply is checked.
            flaw = Flaw("loop", "says the same over and over")
        elif not text:
            flaw = Flaw("empty", "empty")
        else:
            flaw = examine(text)
            # A text that is too long was not cut for lack of room.
            if cut and (flaw is None or flaw.kind not in ("long", "foreign")):
                flaw = Flaw("cut", "breaks off before its end")
        return _Reply(request, text, count_words(text), distinct, cut, not prose, flaw)

    def flaw(
        self, text: str, source: str, words: int, limit: int, maximum: int = 0, cap: int = 0, *, free: bool = False
    ) -> Flaw | None:
        """Return the flaw of a text that does not summarize its source in about so many words, that has more than `cap`
        tokens, or without a cap more than its limit, or that ends in the middle of a sentence."""
        if source and is_no_summary(text, source, words, self.language):
            return Flaw("foreign", "has almost nothing in common with its source")
        amount, unit, most = count_words(text), "words", max(limit, maximum)
        if cap:
            amount, unit, most, limit = self.count(text), "tokens", cap, cap
        if amount > most and not free:
            return Flaw("long", f"{amount} {unit}, over the limit of {limit}")
        return None if ends_sentence(text) else Flaw("unfinished", "ends in the middle of a sentence")

    def tokens(self, words: int) -> int:
        """Return the tokens that a reply of this many words needs."""
        return max(16, int(words * self.tokens_per_word) + 1)


def spare_tokens(
    window: int, tokenizer: Tokenizer, book: PromptBook, prompt: Prompt[Any, str], inputs: BaseModel
) -> int:
    """Return how many tokens of a window a prompt leaves."""
    return window - tokenizer.count(book.render(prompt, inputs)) - MARGIN


def max_intermediate_words(words: int, stage: Stage = "revision", ceiling: int = 0) -> int:
    """Return the most words that an intermediate text may have, never more than the ceiling if there is one."""
    most = int(words * (1 + _TOLERANCE[stage]))
    return min(most, ceiling or most)
