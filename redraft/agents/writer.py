"""The writer: turns chunks and summaries into summaries that keep to a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from redraft.errors import EmptyReply
from redraft.models.base import Model, Request, Sampling
from redraft.prompts import drafting
from redraft.prompts.contract import Prompt
from redraft.text.sentences import ends_sentence
from redraft.text.words import count_words

MAX_TRIES = 6
# Each further try asks for a little less.
_SHRINK_REGENERATION = 0.1
_SHRINK_COMPRESSION = 0.05
COMPRESSION_TOLERANCE = 0.2
# A tidied summary that lost more than this was rewritten, not tidied.
_TIDY_KEEPS = 0.6
MIN_WORDS = 5


@dataclass(frozen=True, slots=True)
class Written:
    """A text, how many tries it took, and what is wrong with it if the best of them is not valid."""

    text: str
    words: int
    attempts: int
    flaw: str = ""


class Writer:
    """Writes with one model. `tokens_per_word` sizes the room for replies in the document's language."""

    def __init__(
        self,
        model: Model,
        *,
        query: str | None = None,
        temperature: float | None = None,
        sample: int = 0,
        tokens_per_word: float,
    ) -> None:
        self._model = model
        self._query = query
        self._temperature = temperature
        self._sample = sample
        self._tokens_per_word = tokens_per_word

    async def summarize_chunk(self, excerpt: str, words: int, label: str) -> Written:
        """Summarize one chunk within `words`."""
        return await self._within(
            drafting.SUMMARIZE_CHUNK,
            lambda limit: drafting.ChunkGiven(excerpt=excerpt, words=limit, query=self._query),
            words,
            label,
        )

    async def summarize_whole(self, document: str, words: int, label: str) -> Written:
        """Summarize a whole document within `words`."""
        return await self._within(
            drafting.SUMMARIZE_WHOLE,
            lambda limit: drafting.WholeGiven(document=document, words=limit, query=self._query),
            words,
            label,
        )

    async def merge(self, summaries: Sequence[str], context: str, words: int, label: str) -> Written:
        """Merge consecutive summaries within `words`, knowing the merged summary before them, if there is one."""
        texts = list(summaries)
        if not context:
            return await self._within(
                drafting.MERGE,
                lambda limit: drafting.MergeGiven(summaries=texts, words=limit, query=self._query),
                words,
                label,
            )
        return await self._within(
            drafting.MERGE_ONWARD,
            lambda limit: drafting.MergeOnwardGiven(context=context, summaries=texts, words=limit, query=self._query),
            words,
            label,
        )

    async def begin(self, excerpt: str, words: int, room: int, label: str) -> Written:
        """Begin a running summary. `words` is what to aim at; up to `room` the reply is heard to its end."""
        return await self._complete(
            drafting.BEGIN,
            lambda target: drafting.ChunkGiven(excerpt=excerpt, words=target, query=self._query),
            words,
            room,
            label,
        )

    async def update(self, excerpt: str, summary: str, words: int, room: int, label: str) -> Written:
        """Work a chunk into a running summary."""
        return await self._complete(
            drafting.UPDATE,
            lambda target: drafting.UpdateGiven(excerpt=excerpt, summary=summary, words=target, query=self._query),
            words,
            room,
            label,
        )

    async def compress(self, summary: str, target: int, limit: int, label: str) -> Written:
        """Shorten a running summary to within a fifth of `target` words; the closest of six tries is kept."""
        current = count_words(summary)

        def flaw(text: str, _asked: int) -> str:
            words = count_words(text)
            if not text or not ends_sentence(text):
                return _unfinished(text)
            if words > limit:
                return f"{words} words, over the limit of {limit}"
            if abs(words - target) > COMPRESSION_TOLERANCE * target:
                return f"{words} words, not within a fifth of the target of {target}"
            return ""

        written = await self._tries(
            drafting.COMPRESS,
            lambda asked: drafting.CompressGiven(
                summary=summary, current_words=current, words=asked, query=self._query
            ),
            [max(MIN_WORDS, int(target * (1 - _SHRINK_COMPRESSION * n))) for n in range(MAX_TRIES)],
            flaw,
            target,
            self.tokens(max(limit, current)),
            label,
        )
        # Whatever was wrong with the tries, a compression that made the summary longer is none.
        if not written.text or written.words >= current:
            return replace(written, text=summary, words=current, flaw=written.flaw or "could not be shortened")
        return written

    async def tidy(self, summary: str, label: str) -> Written:
        """Remove the traces of the process. A reply that changed more than that is not taken."""
        words = count_words(summary)
        given = drafting.TidyGiven(summary=summary)
        text = await self._text(Request(drafting.TIDY, given, self._sampling(drafting.TIDY, self.tokens(words)), label))
        tidied = count_words(text)
        if not ends_sentence(text) or not _TIDY_KEEPS * words <= tidied <= words:
            return Written(summary, words, 1, "the tidied text was cut off or rewritten, so the untidied one is kept")
        return Written(text, tidied, 1)

    async def _within(
        self, prompt: Prompt[Any, str], given: Callable[[int], BaseModel], words: int, label: str
    ) -> Written:
        """Ask until the reply keeps to the limit and ends a sentence; the closest is kept if none does."""

        def flaw(text: str, _asked: int) -> str:
            written = count_words(text)
            if written > words:
                return f"{written} words, over the limit of {words}"
            return "" if text and ends_sentence(text) else _unfinished(text)

        return await self._tries(prompt, given, _shrinking(words), flaw, words, self.tokens(words), label)

    async def _complete(
        self, prompt: Prompt[Any, str], given: Callable[[int], BaseModel], words: int, room: int, label: str
    ) -> Written:
        """Ask until the reply ends a sentence; its length is for compression to mend."""

        def flaw(text: str, _asked: int) -> str:
            return "" if text and ends_sentence(text) else _unfinished(text)

        return await self._tries(prompt, given, _shrinking(words), flaw, words, self.tokens(room), label)

    async def _tries(
        self,
        prompt: Prompt[Any, str],
        given: Callable[[int], BaseModel],
        limits: Sequence[int],
        flaw: Callable[[str, int], str],
        wanted: int,
        max_tokens: int,
        label: str,
    ) -> Written:
        """One try for each limit until a reply has no flaw; then the one whose length is closest to `wanted`."""
        flawed: list[Written] = []
        for attempt, limit in enumerate(limits, 1):
            tried = label if attempt == 1 else f"{label} try {attempt}"
            # A try with the limit of an earlier one would be the same request: it is a further sample of it.
            sample = self._sample * MAX_TRIES + limits[: attempt - 1].count(limit)
            sampling = replace(self._sampling(prompt, max_tokens), sample=sample)
            text = await self._text(Request(prompt, given(limit), sampling, tried))
            problem = flaw(text, limit)
            written = Written(text, count_words(text), attempt, problem)
            if not problem:
                return written
            flawed.append(written)
        best = min(flawed, key=lambda one: (not one.text, not ends_sentence(one.text), abs(one.words - wanted)))
        return replace(best, attempts=len(flawed))

    async def _text(self, request: Request[Any, str]) -> str:
        try:
            return (await self._model.ask(request)).value.strip()
        except EmptyReply:
            return ""

    def _sampling(self, prompt: Prompt[Any, str], max_tokens: int) -> Sampling:
        temperature = prompt.temperature if self._temperature is None else self._temperature
        return Sampling(temperature, max_tokens, self._sample * MAX_TRIES)

    def tokens(self, words: int) -> int:
        """The room that a reply of so many words needs."""
        return max(16, int(words * self._tokens_per_word) + 1)


def _shrinking(words: int) -> list[int]:
    """The limits to ask for: the full one, then at most six times again, each time for a tenth less."""
    return [max(MIN_WORDS, round(words * (1 - _SHRINK_REGENERATION * n))) for n in range(MAX_TRIES + 1)]


def _unfinished(text: str) -> str:
    return "does not end a sentence" if text else "empty"
