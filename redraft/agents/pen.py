"""Writing within limits: ask, look at what comes back, ask for less, and keep the closest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from redraft.errors import EmptyReply
from redraft.models.base import Model, Request, Sampling
from redraft.prompts.contract import Prompt
from redraft.text.sentences import ends_sentence
from redraft.text.words import count_words

MAX_TRIES = 6
# Each further try asks for a little less.
_SHRINK_REGENERATION = 0.1
MIN_WORDS = 5

Flaw = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Written:
    """A text, how many tries it took, and what is wrong with it if the best of them is not valid."""

    text: str
    words: int
    attempts: int
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class Pen:
    """A model that writes. `tokens_per_word` sizes the room for replies in the document's language."""

    model: Model
    tokens_per_word: float
    temperature: float | None = None
    sample: int = 0

    async def within(
        self, prompt: Prompt[Any, str], given: Callable[[int], BaseModel], words: int, label: str
    ) -> Written:
        """Ask until the reply keeps to the limit and ends a sentence; the closest is kept if none does."""

        def flaw(text: str) -> str:
            written = count_words(text)
            if written > words:
                return f"{written} words, over the limit of {words}"
            return unfinished(text)

        return await self.tries(prompt, given, shrinking(words), flaw, words, self.tokens(words), label)

    async def complete(
        self, prompt: Prompt[Any, str], given: Callable[[int], BaseModel], words: int, room: int, label: str
    ) -> Written:
        """Ask until the reply ends a sentence; its length is for compression to mend."""
        return await self.tries(prompt, given, shrinking(words), unfinished, words, self.tokens(room), label)

    async def tries(
        self,
        prompt: Prompt[Any, str],
        given: Callable[[int], BaseModel],
        limits: Sequence[int],
        flaw: Flaw,
        wanted: int,
        max_tokens: int,
        label: str,
    ) -> Written:
        """One try for each limit until a reply has no flaw; then the one whose length is closest to `wanted`."""
        flawed: list[Written] = []
        for attempt, limit in enumerate(limits, 1):
            tried = label if attempt == 1 else f"{label} try {attempt}"
            # A try with the limit of an earlier one would be the same request: it is a further sample of it.
            sample = self.sample * MAX_TRIES + limits[: attempt - 1].count(limit)
            sampling = replace(self.sampling(prompt, max_tokens), sample=sample)
            text = await self.text(Request(prompt, given(limit), sampling, tried))
            problem = flaw(text)
            written = Written(text, count_words(text), attempt, problem)
            if not problem:
                return written
            flawed.append(written)
        best = min(flawed, key=lambda one: (not one.text, not ends_sentence(one.text), abs(one.words - wanted)))
        return replace(best, attempts=len(flawed))

    async def text(self, request: Request[Any, str]) -> str:
        """The reply's text; nothing where the model wrote nothing."""
        try:
            return (await self.model.ask(request)).value.strip()
        except EmptyReply:
            return ""

    def sampling(self, prompt: Prompt[Any, str], max_tokens: int) -> Sampling:
        """How a reply to `prompt` is drawn."""
        temperature = prompt.temperature if self.temperature is None else self.temperature
        return Sampling(temperature, max_tokens, self.sample * MAX_TRIES)

    def tokens(self, words: int) -> int:
        """The room that a reply of so many words needs."""
        return max(16, int(words * self.tokens_per_word) + 1)


def shrinking(words: int) -> list[int]:
    """The limits to ask for: the full one, then at most six times again, each time for a tenth less."""
    return [max(MIN_WORDS, round(words * (1 - _SHRINK_REGENERATION * n))) for n in range(MAX_TRIES + 1)]


def unfinished(text: str) -> str:
    """What is wrong with a text that does not end as a text ends."""
    if not text:
        return "empty"
    return "" if ends_sentence(text) else "does not end a sentence"
