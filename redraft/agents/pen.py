"""Writing within limits: ask, look at what comes back, say what is wrong with it, and keep the closest.

A reply that is empty, or that breaks off, may be an accident of the way: it is asked for once more in the same words,
one that broke off with twice the room. Whatever else is wrong with a reply is told to the model when it is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

from pydantic import BaseModel

from redraft.errors import EmptyReply
from redraft.models.base import Complaint, Model, Request, Sampling
from redraft.prompts.contract import Prompt
from redraft.store.threads import off_loop
from redraft.text.framing import unframed
from redraft.text.sentences import ends_sentence
from redraft.text.words import count_words

MAX_TRIES = 6
"""How often more a text is asked for that has a flaw, and as often one that got lost on the way."""
# Each further try asks for a little less.
_SHRINK_REGENERATION = 0.1
MIN_WORDS = 5
# A text on the way to the result may be over its limit by so much: to ask again costs more than it saves.
_TOLERANCE = 0.05
# About what is said around a reply that is complained of, in tokens.
_COMPLAINT_TOKENS = 120

Kind = Literal["empty", "cut", "unfinished", "long", "short"]
_ACCIDENTS = ("empty", "cut")


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a text: what kind of thing, and in words for the record."""

    kind: Kind
    said: str


Examine = Callable[[str], Flaw | None]
"""What is wrong with a text, if anything is."""
Spare = Callable[[Prompt[Any, str], BaseModel], int]
"""How many tokens of the window a prompt leaves for what is said after it."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text, how many tries it took, and what is wrong with it if the best of them is not valid."""

    text: str
    words: int
    attempts: int
    flaw: str = ""


@dataclass(slots=True)
class _Course:
    """How far the asking for one text has come."""

    room: int
    shrunk: int = 0
    told: int = 0
    lost: int = 0
    lost_in_a_row: int = 0
    complaint: Complaint | None = None
    flawed: list[Written] = field(default_factory=list)
    answered: list[tuple[object, ...]] = field(default_factory=list)

    def count(self, flaw: Flaw) -> None:
        """Note a flaw. What may be an accident is no reason to ask for less, and what is too short is none either."""
        accident = flaw.kind in _ACCIDENTS
        self.lost += accident
        self.told += not accident
        self.lost_in_a_row = self.lost_in_a_row + 1 if accident else 0
        self.shrunk += flaw.kind in ("unfinished", "long")


@dataclass(frozen=True, slots=True)
class Pen:
    """A model that writes. `tokens_per_word` sizes the room for replies in the document's language.

    Without `spare` the model's window has no end.
    """

    model: Model
    tokens_per_word: float
    temperature: float | None = None
    sample: int = 0
    spare: Spare | None = None
    language: str | None = None
    """The language to write in; without one it is that of what is read."""
    characters: bool = False
    """Whether that language puts no spaces between words, so that lengths are told in characters."""

    async def within(
        self,
        prompt: Prompt[Any, str],
        given: Callable[[int], BaseModel],
        words: int,
        label: str,
        most: int = 0,
        sign: Callable[[str], bool] | None = None,
    ) -> Written:
        """Ask until the reply keeps to the limit and ends a sentence; the closest is kept if none does.

        `words` is what is asked for; a reply of up to `most`, where that is more, will do, and so will one that is the
        `sign` that there is nothing to write.
        """

        def examine(text: str) -> Flaw | None:
            return None if sign and sign(text) else too_long(text, words, most) or unfinished(text)

        return await self.tries(prompt, given, shrinking(words), examine, words, self.tokens(max(words, most)), label)

    async def complete(
        self,
        prompt: Prompt[Any, str],
        given: Callable[[int], BaseModel],
        words: int,
        room: int,
        label: str,
        sign: Callable[[str], bool] | None = None,
    ) -> Written:
        """Ask until the reply ends a sentence; its length is for compression to mend."""

        def examine(text: str) -> Flaw | None:
            return None if sign and sign(text) else unfinished(text)

        return await self.tries(prompt, given, shrinking(words), examine, words, self.tokens(room), label)

    async def tries(
        self,
        prompt: Prompt[Any, str],
        given: Callable[[int], BaseModel],
        limits: Sequence[int],
        examine: Examine,
        wanted: int,
        max_tokens: int,
        label: str,
    ) -> Written:
        """Ask until a reply has no flaw, as often as there are limits; then keep the one closest to `wanted` in length.

        Replies that are lost on the way, empty or broken off, are not counted among these.
        """
        course = _Course(max_tokens)
        while course.told < len(limits) and course.lost <= MAX_TRIES:
            asked = given(limits[course.shrunk])
            text, cut = await self._heard(prompt, asked, course, label)
            flaw = _flaw(text, cut, examine)
            written = Written(text, count_words(text), len(course.flawed) + 1, flaw.said if flaw else "")
            if flaw is None:
                return written
            course.flawed.append(written)
            course.count(flaw)
            left = await off_loop(self.spare, prompt, asked) if self.spare else inf
            if cut:
                course.room = max(course.room, int(min(2 * max_tokens, left)))
            if course.lost_in_a_row != 1:
                limit = limits[min(course.shrunk, len(limits) - 1)]
                fits = left >= self.tokens(written.words) + _COMPLAINT_TOKENS + course.room
                course.complaint = Complaint.about(
                    text if fits else "", _told(flaw, written.words, limit, self.characters)
                )
        best = min(course.flawed, key=lambda one: (not one.text, not ends_sentence(one.text), abs(one.words - wanted)))
        return replace(best, attempts=len(course.flawed))

    async def _heard(self, prompt: Prompt[Any, str], given: BaseModel, course: _Course, label: str) -> tuple[str, bool]:
        """The next reply's text, nothing where the model wrote nothing, and whether it broke off for want of room."""
        same = (given, course.room, course.complaint)
        # What was answered before would be answered from memory: it is a further sample of it.
        sample = self.sample * MAX_TRIES + course.answered.count(same)
        sampling = Sampling(self.temperature_of(prompt), course.room, sample)
        tried = f"{label} try {len(course.flawed) + 1}" if course.flawed else label
        try:
            reply = await self.model.ask(Request(prompt, given, sampling, tried, course.complaint))
        except EmptyReply as error:
            return "", error.finish_reason == "length"
        text = unframed(reply.value)
        if text:
            course.answered.append(same)
        return text, reply.finish_reason == "length"

    def temperature_of(self, prompt: Prompt[Any, str]) -> float:
        """How freely a reply to `prompt` is drawn."""
        return prompt.temperature if self.temperature is None else self.temperature

    def tokens(self, words: int) -> int:
        """The room that a reply of so many words needs."""
        return max(16, int(words * self.tokens_per_word) + 1)


def shrinking(words: int) -> list[int]:
    """The limits to ask for: the full one, then at most six times again, each time for a tenth less."""
    return [max(MIN_WORDS, round(words * (1 - _SHRINK_REGENERATION * n))) for n in range(MAX_TRIES + 1)]


def tolerated(words: int) -> int:
    """The most words of a text that is not the result yet, where so many are asked for."""
    return int(words * (1 + _TOLERANCE))


def too_long(text: str, words: int, most: int = 0) -> Flaw | None:
    """What is wrong with a text of more words than it may have: `words`, or else `most`."""
    written = count_words(text)
    return Flaw("long", f"{written} words, over the limit of {words}") if written > max(words, most) else None


def unfinished(text: str) -> Flaw | None:
    """What is wrong with a text that does not end as a text ends."""
    return None if ends_sentence(text) else Flaw("unfinished", "does not end a sentence")


def _flaw(text: str, cut: bool, examine: Examine) -> Flaw | None:
    if not text:
        return Flaw("empty", "empty")
    found = examine(text)
    # What is too long already is not too long for want of room.
    return Flaw("cut", "breaks off before its end") if cut and (found is None or found.kind != "long") else found


def _told(flaw: Flaw, words: int, limit: int, characters: bool) -> str:
    """What a model is told that is asked again, for a text of so many words, to keep to a limit."""
    unit = "characters" if characters else "words"
    keep = f"keep to {limit} {unit}"
    match flaw.kind:
        case "empty":
            return "it is empty"
        case "long":
            return f"it has {words} {unit}, {words - limit} too many; {keep}"
        case "short":
            return f"it has {words} {unit}, {limit - words} too few; {keep}"
        case "cut":
            return f"it breaks off before its end; {keep}"
        case "unfinished":
            return f"its last sentence has no end; {keep}"
