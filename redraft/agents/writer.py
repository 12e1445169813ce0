"""The writer: turns chunks and summaries into summaries within a limit. The outliner: outlines a document once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import BaseModel

from redraft.agents.judge import ItemResults, Judge
from redraft.agents.structured_writer import MAX_TRIES, MIN_WORDS, Flaw, StructuredWriter
from redraft.domain import Completion, Span, TextKind
from redraft.errors import RefusedReply, RejectedRequest, ReplyError
from redraft.llm.base import Request, Sampling
from redraft.prompts import summarization
from redraft.prompts.contract import InputT, Prompt, ValueT
from redraft.prompts.silence import NOTHING_AHEAD, is_answer, is_sign
from redraft.prompts.summarization import (
    MAX_NAMES,
    MAX_POINTS,
    OUTLINE,
    DocumentOutline,
    Outline,
    OutlineInput,
    PartSummary,
    outline_text,
)
from redraft.store.connection import off_loop
from redraft.text.reply_cleanup import needs_tidying, prose_in
from redraft.text.sentences import first_sentences, sentences
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words

# Each further try asks for this much less.
_SHRINK_COMPRESSION = 0.05
COMPRESSION_TOLERANCE = 0.2
# The least share of a summary that tidying keeps.
_TIDY_KEEPS = 0.6
_TIDY_TRIES = 2


# What a reply to a prompt of a strategy has room for besides its words; and how often that room is doubled.
_ASKED_WORDS, _REPLY_FRAME, _DOUBLED = 600, 128, 3
_LONGEST = 400
"""The longest reply, in characters, that may mean there is nothing to say."""


class Writer:
    """Writes summaries with one model, all for the same question, if any."""

    def __init__(
        self, structured_writer: StructuredWriter, *, query: str | None = None, kind: TextKind = "other"
    ) -> None:
        """`kind` is the kind of document; prompts state what a summary of it needs."""
        language, characters = structured_writer.language, structured_writer.characters
        self._asked: dict[str, Any] = {"query": query, "language": language, "characters": characters, "kind": kind}
        self.says_nothing: Callable[[str], bool] = is_no_answer if query else lambda _: False
        """Returns whether a text is the sign that there is nothing to say to the question; without one there is."""
        self._structured_writer = replace(structured_writer, is_sign=self.says_nothing)

    async def ask(
        self, prompt: Prompt[InputT, ValueT], inputs: InputT, label: str, *, words: int = _ASKED_WORDS
    ) -> ValueT:
        """Ask a prompt of your own, such as one of a strategy, and return its value: a text, or the model that it
        `returns`. A text is what stands within its `<summary>` tags, if it has them, without a fence or heading line.

        `label` names the call in the ledger and in errors; `words` is what a reply needs, and one that is cut off gets
        more. A known reply comes from the cache; any other call is recorded and counts against the budget. Raises
        `ReplyError` for a reply that cannot be used, and `BudgetError` where no call is left.
        """
        writer = self._structured_writer
        temperature = prompt.temperature if writer.temperature is None else writer.temperature
        room, last = writer.tokens(words) + _REPLY_FRAME, _DOUBLED
        for turn in range(_DOUBLED + 1):
            request = Request(prompt, inputs, Sampling(temperature, room << turn, writer.sample), label)
            try:
                reply = await writer.model.ask(request)
            except ReplyError as error:
                if turn == last or not error.needs_more_tokens:
                    raise
            else:
                if turn == last or not reply.is_truncated:
                    value = reply.value
                    return cast("ValueT", prose_in(value)) if isinstance(value, str) else value
        raise AssertionError("the last turn returns or raises")

    async def summarize_chunk(
        self, excerpt: str, words: int, label: str, maximum: int = 0, *, place: str = "", before: str = "", cap: int = 0
    ) -> Completion:
        """Summarize one chunk within `words`, or `maximum` if that is more, or `cap` tokens. `place` describes its
        position in the document, and `before` holds the preceding lines."""
        asking = self._asking(summarization.SUMMARIZE_CHUNK, excerpt=excerpt, place=place, before=before)
        return await self._structured_writer.within(*asking, words, label, maximum, source=excerpt, cap=cap)

    async def summarize_whole(self, document: str, words: int, label: str, *, cap: int = 0) -> Completion:
        """Summarize a whole document within `words`, or `cap` tokens."""
        asking = self._asking(summarization.SUMMARIZE_WHOLE, document=document)
        return await self._structured_writer.within(*asking, words, label, source=document, cap=cap)

    async def merge(
        self,
        summaries: Sequence[str],
        context: str,
        words: int,
        label: str,
        maximum: int = 0,
        *,
        outline: Outline | None = None,
        cap: int = 0,
    ) -> Completion:
        """Merge consecutive summaries within `words`, or `maximum` if that is more, or `cap` tokens. `context` is the
        merged summary before them."""
        source = "\n".join([context, *summaries])
        fields: dict[str, Any] = {"summaries": list(summaries)}
        if outline is not None:
            fields |= {"outline": outline_text(outline), "kind": outline.kind}
        prompt: Prompt[Any, str] = summarization.MERGE
        if context:
            prompt, fields["context"] = summarization.MERGE_ONWARD, context
        asking = self._asking(prompt, **fields)
        return await self._structured_writer.within(*asking, words, label, maximum, source=source, cap=cap)

    def _asking(self, prompt: Prompt[Any, str], **fields: Any) -> tuple[Prompt[Any, str], Callable[[int], BaseModel]]:
        """Return a prompt, and what gives its input for a limit."""
        return prompt, lambda limit: prompt.given(words=limit, **{**self._asked, **fields})

    async def begin(self, excerpt: str, words: int, room: int, label: str, *, place: str = "") -> Completion:
        """Begin a running summary of about `words` words; up to `room` words the reply is not cut."""
        asking = self._asking(summarization.BEGIN, excerpt=excerpt, place=place)
        return await self._structured_writer.within(*asking, words, label, room, source=excerpt, free=True)

    async def update(
        self, excerpt: str, summary: str, words: int, room: int, label: str, *, place: str = ""
    ) -> Completion:
        """Update a running summary with a chunk."""
        asking = self._asking(summarization.UPDATE, excerpt=excerpt, summary=summary, place=place)
        source = f"{summary}\n{excerpt}"
        return await self._structured_writer.within(*asking, words, label, room, source=source, free=True)

    async def compress(self, summary: str, target: int, limit: int, label: str, *, cap: int = 0) -> Completion:
        """Shorten a running summary to within a fifth of `target` words; the closest of six tries is kept."""
        writer, current = self._structured_writer, count_words(summary)

        def examine(text: str) -> Flaw | None:
            flaw, words = writer.flaw(text, summary, target, limit, cap=cap), count_words(text)
            if flaw or abs(words - target) <= COMPRESSION_TOLERANCE * target:
                return flaw
            off = f"{words} words, not within a fifth of the target of {target}"
            return Flaw("long" if words > target else "short", off)

        try:
            completion = await writer.within(
                *self._asking(summarization.COMPRESS, summary=summary, current_words=current),
                target,
                label,
                max(limit, current),
                limits=[max(MIN_WORDS, int(target * (1 - _SHRINK_COMPRESSION * n))) for n in range(MAX_TRIES)],
                examine=examine,
            )
        except RefusedReply as error:
            return Completion(summary, current, 1, error.message)
        # A compression that made the summary longer is dropped.
        if not completion.text or completion.words >= current:
            return replace(completion, text=summary, words=current, flaw=completion.flaw or "could not be shortened")
        return completion

    async def tidy(self, summary: str, label: str) -> Completion:
        """Remove traces of the process, if any; a reply that changes more than that is discarded."""
        writer, words = self._structured_writer, count_words(summary)
        if not needs_tidying(summary):
            return Completion(summary, words, 0)

        def examine(text: str) -> Flaw | None:
            lacks = count_words(text) < _TIDY_KEEPS * words
            short = Flaw("short", "most of the summary is missing") if lacks else None
            return writer.flaw(text, summary, words, words) or short

        tidy_input, limits = summarization.TidyInput(summary=summary), [words] * _TIDY_TRIES
        try:
            completion = await writer.within(
                summarization.TIDY, lambda _: tidy_input, words, label, limits=limits, examine=examine
            )
        except RefusedReply as error:
            return Completion(summary, words, 1, f"{error.message}, so the untidied text is kept")
        if completion.flaw:
            problem = "the tidied text was cut off or rewritten, so the untidied one is kept"
            return Completion(summary, words, completion.attempts, problem)
        return completion


def is_no_answer(text: str) -> bool:
    """Return whether every sentence of a reply means that there is nothing to say, by the prompt's sign or in words."""
    if len(text) > _LONGEST:
        return False
    reason = NOTHING_AHEAD.sub("", text)
    texts = [reason[span.start : span.end] for span in sentences(reason)]
    # The sign alone suffices; any other text has to say the same.
    return (bool(texts) or reason != text) and all(
        is_sign(statement) or not is_answer(statement) for statement in texts
    )


_REPLY_TOKENS, _TAG_TOKENS = 900, 5
"""The room for an outline: a line, twelve turning points and twenty names; and for naming a part."""
MIN_WINDOW = 4_096
"""In a smaller window an outline would displace the text itself."""
_AROUND = 20


@dataclass(frozen=True, slots=True)
class Outliner:
    """Outlines one document with a model, which is asked once."""

    judge: Judge
    tokenizer: Tokenizer
    window: int
    language: str | None = None

    async def outline(self, summaries: Sequence[tuple[Span, str]] = ()) -> DocumentOutline | None:
        """Return the stored outline of a document, or one from the summaries of its parts, shortened to fit the window;
        None if there is neither, or no reply is readable."""

        async def outlined(numbers: Sequence[int]) -> ItemResults[DocumentOutline]:
            parts = await off_loop(self._fitting, [summary for _, summary in summaries]) if numbers else []
            if not parts:
                return ItemResults()
            outline_input, room = OutlineInput(summaries=parts, language=self.language), len(parts) * _TAG_TOKENS
            try:
                reply = await self.judge.ask(OUTLINE, outline_input, _REPLY_TOKENS + room, "outline")
            except (ReplyError, RejectedRequest) as error:
                return ItemResults(trouble=error.message)
            values = reply.value.model_dump()
            values |= {"turning_points": values["turning_points"][:MAX_POINTS], "cast": values["cast"][:MAX_NAMES]}
            outline = DocumentOutline(**values, places={part.id: summaries[part.id][0] for part in parts})
            return ItemResults({0: outline} if outline.line.strip() else {})

        results = await self.judge.verdicts(OUTLINE, DocumentOutline, [[self.judge.document]], outlined)
        return results.verdicts.get(0)

    def _fitting(self, summaries: Sequence[str]) -> list[PartSummary]:
        """Return the summaries, each cut to its share of the window at a sentence."""
        prompt_tokens = self.tokenizer.count(self.judge.book.render(OUTLINE, OutlineInput(summaries=[])))
        reply_room = _REPLY_TOKENS + len(summaries) * _TAG_TOKENS
        room = self.window - prompt_tokens - reply_room - 2 * _AROUND
        if summaries and sum(self.tokenizer.count(summary) + _AROUND for summary in summaries) > room:
            share = room // len(summaries) - _AROUND
            summaries = [first_sentences(summary, share, self.tokenizer.count) for summary in summaries]
        return [PartSummary(id=at, summary=summary) for at, summary in enumerate(summaries) if summary]
