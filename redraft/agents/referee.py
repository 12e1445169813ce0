"""The referee: says which of two summaries of a document is better, asked in both orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all
from redraft.agents.judge import Judge, in_batches
from redraft.domain import Document, content_id
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import PREFER_SUMMARY, PreferenceReply, PreferInput
from redraft.prompts.contract import InputT, Prompt
from redraft.prompts.revision import CHOOSE_DRAFT, ChooseInput, DraftChoice
from redraft.text.languages import other_language_in
from redraft.text.sanitizer import one_line
from redraft.text.tokens import Tokenizer

ChoiceT = TypeVar("ChoiceT", PreferenceReply, DraftChoice)
PREFERENCE_TOKENS = 400
# Tokens of the reply schema and the fences.
_FRAME = 300
_LONGEST_REASON = 1_000


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

    async def prefer(self, document: Document, document_tokens: int, a: str, b: str) -> SwappedAnswers:
        """Ask for the better summary in both orders; the document is shown if it fits."""
        if not self.judge.can_read(other_language_in(document)):
            trouble = "the built-in model judges English only, and the document is in another language"
            return SwappedAnswers(self.judge.name, None, None, False, trouble)
        needed = prompt_tokens(self.judge.book, self.tokenizer, a, b)
        if not fits(needed, self.window):
            trouble = f"the two summaries need {needed:,} tokens, and the window has {self.window:,}"
            return SwappedAnswers(self.judge.name, None, None, False, trouble)
        read = fits(needed + document_tokens, self.window)
        results = await self._both_orders(
            PREFER_SUMMARY,
            PreferenceReply,
            lambda first, second: PreferInput(document=document.text if read else None, first=first, second=second),
            a,
            b,
            [document.id if read else None],
        )
        return SwappedAnswers(self.judge.name, results.verdicts.get(0), results.verdicts.get(1), read, results.trouble)

    async def choose(self, notes: ChooseInput, revision: str, best: str) -> list[DraftChoice]:
        """Return which of two drafts is better, for the revision in first place and then in second; nothing where one
        of the two replies is missing. `notes` hold what both are compared by."""
        items = [item.model_dump(mode="json") for item in notes.must_know]
        results = await self._both_orders(
            CHOOSE_DRAFT,
            DraftChoice,
            lambda first, second: notes.model_copy(update={"first": first, "second": second}),
            revision,
            best,
            [items, notes.errors, notes.query],
        )
        return [results.verdicts[0], results.verdicts[1]] if len(results.verdicts) == 2 else []

    async def _both_orders(
        self,
        prompt: Prompt[InputT, Any],
        kind: type[ChoiceT],
        build_input: Callable[[str, str], InputT],
        a: str,
        b: str,
        key: list[object],
    ) -> ItemResults[ChoiceT]:
        """Ask with each text in first place once; `key` is what else the verdict depends on."""
        orders = [(a, b), (b, a)]

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[ChoiceT]:
            (number,) = numbers
            label = f"preference, {'AB'[number]} first"
            reply = await self.judge.ask(prompt, build_input(*orders[number]), PREFERENCE_TOKENS, label, attempt)
            choice = reply.value.model_copy(update={"reason": one_line(reply.value.reason, _LONGEST_REASON)})
            return Entries([(number, choice)], reply.repaired)

        async def judged(numbers: Sequence[int]) -> ItemResults[ChoiceT]:
            # Which order is asked first is pseudo-random, but the same for the same texts.
            earlier, later = sorted((a, b))
            drawn = int(content_id("\n".join((self.judge.name, earlier, later)))[:8], 16) % 2
            later_first = (a == earlier) == bool(drawn)
            return await ask_all(in_batches(numbers[::-1] if later_first else numbers, 1), ask)

        items = [[*key, content_id(first), content_id(second)] for first, second in orders]
        return await self.judge.verdicts(prompt, kind, items, judged)


def prompt_tokens(book: PromptBook, tokenizer: Tokenizer, a: str, b: str) -> int:
    """Return the tokens of a prompt and its reply without the document."""
    around = tokenizer.count(book.source(PREFER_SUMMARY.name)) + _FRAME + PREFERENCE_TOKENS
    return around + tokenizer.count(a) + tokenizer.count(b)


def fits(tokens: int, window: int | None) -> bool:
    """Return whether a prompt and its reply fit a window."""
    return window is None or tokens <= window
