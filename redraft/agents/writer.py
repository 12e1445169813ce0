"""The writer: turns chunks and summaries into summaries that keep to a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redraft.agents.pen import MAX_TRIES, MIN_WORDS, Flaw, Pen, Written, too_long, unfinished
from redraft.prompts import drafting
from redraft.text.words import count_words

# Each further try asks for a little less.
_SHRINK_COMPRESSION = 0.05
COMPRESSION_TOLERANCE = 0.2
# A tidied summary that lost more than this was rewritten, not tidied.
_TIDY_KEEPS = 0.6
_TIDY_TRIES = 2


class Writer:
    """Writes summaries with one pen, all of them towards the same question where there is one."""

    def __init__(self, pen: Pen, *, query: str | None = None) -> None:
        self._pen = pen
        self._query = query

    async def summarize_chunk(self, excerpt: str, words: int, label: str) -> Written:
        """Summarize one chunk within `words`."""
        return await self._pen.within(
            drafting.SUMMARIZE_CHUNK,
            lambda limit: drafting.ChunkGiven(excerpt=excerpt, words=limit, query=self._query),
            words,
            label,
        )

    async def summarize_whole(self, document: str, words: int, label: str) -> Written:
        """Summarize a whole document within `words`."""
        return await self._pen.within(
            drafting.SUMMARIZE_WHOLE,
            lambda limit: drafting.WholeGiven(document=document, words=limit, query=self._query),
            words,
            label,
        )

    async def merge(self, summaries: Sequence[str], context: str, words: int, label: str) -> Written:
        """Merge consecutive summaries within `words`, knowing the merged summary before them, if there is one."""
        texts = list(summaries)
        if not context:
            return await self._pen.within(
                drafting.MERGE,
                lambda limit: drafting.MergeGiven(summaries=texts, words=limit, query=self._query),
                words,
                label,
            )
        return await self._pen.within(
            drafting.MERGE_ONWARD,
            lambda limit: drafting.MergeOnwardGiven(context=context, summaries=texts, words=limit, query=self._query),
            words,
            label,
        )

    async def begin(self, excerpt: str, words: int, room: int, label: str) -> Written:
        """Begin a running summary. `words` is what to aim at; up to `room` the reply is heard to its end."""
        return await self._pen.complete(
            drafting.BEGIN,
            lambda target: drafting.ChunkGiven(excerpt=excerpt, words=target, query=self._query),
            words,
            room,
            label,
        )

    async def update(self, excerpt: str, summary: str, words: int, room: int, label: str) -> Written:
        """Work a chunk into a running summary."""
        return await self._pen.complete(
            drafting.UPDATE,
            lambda target: drafting.UpdateGiven(excerpt=excerpt, summary=summary, words=target, query=self._query),
            words,
            room,
            label,
        )

    async def compress(self, summary: str, target: int, limit: int, label: str) -> Written:
        """Shorten a running summary to within a fifth of `target` words; the closest of six tries is kept."""
        current = count_words(summary)

        def examine(text: str) -> Flaw | None:
            if problem := too_long(text, limit) or unfinished(text):
                return problem
            words = count_words(text)
            if abs(words - target) <= COMPRESSION_TOLERANCE * target:
                return None
            said = f"{words} words, not within a fifth of the target of {target}"
            return Flaw("long" if words > target else "short", said)

        written = await self._pen.tries(
            drafting.COMPRESS,
            lambda asked: drafting.CompressGiven(
                summary=summary, current_words=current, words=asked, query=self._query
            ),
            [max(MIN_WORDS, int(target * (1 - _SHRINK_COMPRESSION * n))) for n in range(MAX_TRIES)],
            examine,
            target,
            self._pen.tokens(max(limit, current)),
            label,
        )
        # Whatever was wrong with the tries, a compression that made the summary longer is none.
        if not written.text or written.words >= current:
            return replace(written, text=summary, words=current, flaw=written.flaw or "could not be shortened")
        return written

    async def tidy(self, summary: str, label: str) -> Written:
        """Remove the traces of the process. A reply that changed more than that is not taken."""
        words = count_words(summary)

        def examine(text: str) -> Flaw | None:
            if problem := too_long(text, words) or unfinished(text):
                return problem
            cut = count_words(text) < _TIDY_KEEPS * words
            return Flaw("short", "most of the summary is missing") if cut else None

        written = await self._pen.tries(
            drafting.TIDY,
            lambda _: drafting.TidyGiven(summary=summary),
            [words] * _TIDY_TRIES,
            examine,
            words,
            self._pen.tokens(words),
            label,
        )
        if written.flaw:
            told = "the tidied text was cut off or rewritten, so the untidied one is kept"
            return Written(summary, words, written.attempts, told)
        return written
