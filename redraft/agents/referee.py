"""The referee: says which of two summaries of a document is better, asked in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all
from redraft.agents.judge import Judge
from redraft.domain import Document, content_id
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import PREFER_SUMMARY, PreferenceReply, PreferInput
from redraft.text.languages import other_language_in
from redraft.text.sanitizer import one_line
from redraft.text.tokens import Tokenizer

PREFERENCE_TOKENS = 400
# Tokens of the reply schema and the fences.
_FRAME = 300
_LONGEST_REASON = 400


@dataclass(frozen=True, slots=True)
class SwappedAnswers:
    """A judge's answers with `a` first and with `b` first; None without a verdict."""

    judge: str
    a_first: PreferenceReply | None
    b_first: PreferenceReply | None
    document_read: bool
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Referee:
    """Asks one judge; `window` is the token limit of a prompt and its reply, None for a model without one."""

    judge: Judge
    tokenizer: Tokenizer
    window: int | None

    def reads_document(self, document_tokens: int, a: str, b: str) -> bool:
        """Return whether the document fits into the window together with the two summaries."""
        return fits(prompt_tokens(self.judge.book, self.tokenizer, a, b) + document_tokens, self.window)

    async def prefer(self, document: Document, document_tokens: int, a: str, b: str) -> SwappedAnswers:
        """Ask for the better summary in both orders; the document is shown if it fits."""
        if not self.judge.can_read(other_language_in(document)):
            trouble = "the built-in model judges English only, and the document is in another language"
            return SwappedAnswers(self.judge.name, None, None, False, trouble)
        needed = prompt_tokens(self.judge.book, self.tokenizer, a, b)
        if not fits(needed, self.window):
            trouble = f"the two summaries need {needed:,} tokens, and the window has {self.window:,} (--context-tokens)"
            return SwappedAnswers(self.judge.name, None, None, False, trouble)
        read = self.reads_document(document_tokens, a, b)
        orders = [(a, b), (b, a)]

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[PreferenceReply]:
            (number,) = numbers
            first, second = orders[number]
            prefer_input = PreferInput(document=document.text if read else None, first=first, second=second)
            label = f"preference, {'AB'[number]} first"
            reply = await self.judge.ask(PREFER_SUMMARY, prefer_input, PREFERENCE_TOKENS, label, attempt)
            preference_reply = reply.value.model_copy(update={"reason": one_line(reply.value.reason, _LONGEST_REASON)})
            return Entries([(number, preference_reply)], reply.repaired)

        async def judged(numbers: Sequence[int]) -> ItemResults[PreferenceReply]:
            shuffled = numbers[::-1] if _begins_with_later(self.judge.name, a, b) else numbers
            return await ask_all([[number] for number in shuffled], ask)

        beside = document.id if read else None
        items = [[beside, content_id(first), content_id(second)] for first, second in orders]
        results = await self.judge.cached_verdicts(PREFER_SUMMARY, PreferenceReply, items, judged)
        return SwappedAnswers(self.judge.name, results.verdicts.get(0), results.verdicts.get(1), read, results.trouble)


def prompt_tokens(book: PromptBook, tokenizer: Tokenizer, a: str, b: str) -> int:
    """Return the tokens of a prompt and its reply without the document."""
    around = tokenizer.count(book.source(PREFER_SUMMARY.name)) + _FRAME + PREFERENCE_TOKENS
    return around + tokenizer.count(a) + tokenizer.count(b)


def fits(tokens: int, window: int | None) -> bool:
    """Return whether a prompt and its reply fit a window."""
    return window is None or tokens <= window


def _begins_with_later(judge: str, a: str, b: str) -> bool:
    """Return which order is asked first: pseudo-random, but the same for the same texts."""
    earlier, later = sorted((a, b))
    drawn = int(content_id("\n".join((judge, earlier, later)))[:8], 16) % 2
    return (a == earlier) == bool(drawn)
