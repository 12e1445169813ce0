"""Preference: which of two summaries is better, overall and in detail, structure and logic (BooookScore, appendix C).

A judge is asked twice, with each summary in first place once, since judges are biased by position. If both replies
prefer the same summary, that is the verdict. A preference in one order and a tie in the other is a tie that leans to
it. If the replies prefer different summaries, the judge followed the order; that is a tie too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from redraft.agents.judge import Attempt, Entries, ItemResults, Judge, ask_all, gather_all, in_batches
from redraft.builtin.facade import IDENTITY
from redraft.domain import Document, Evaluation, Outcome, content_id
from redraft.evaluators.base import agreement
from redraft.evaluators.metric_info import PREFERENCE
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import ASPECTS, PREFER_SUMMARY, Aspect, PreferenceReply, PreferInput
from redraft.prompts.contract import UNSURE, InputT, Prompt
from redraft.prompts.revision import CHOOSE_DRAFT, ChooseInput, DraftChoice
from redraft.text.languages import other_language_in
from redraft.text.sanitizer import one_line
from redraft.text.tokens import Tokenizer

VERSION = 1
ChoiceT = TypeVar("ChoiceT", PreferenceReply, DraftChoice)
PREFERENCE_TOKENS = 400
# Tokens of the reply schema and the fences.
_FRAME = 300
_LONGEST_REASON = 1_000

Side = Literal["a", "b"]
Winner = Literal["a", "b", "tie"]
# The summaries by their places in the two prompts.
_BY_PLACE: tuple[Mapping[str, Winner], ...] = (
    {"first": "a", "second": "b", "tie": "tie"},
    {"first": "b", "second": "a", "tie": "tie"},
)


class PreferenceVerdict(NamedTuple):
    """One judge's verdict on an aspect from both orders."""

    winner: Winner
    leaning: Side | None = None
    """The summary preferred in one order, where the other order is a tie."""
    order_decides: bool = False
    """Whether the two orders prefer different summaries."""


def settled(a_first: Winner, b_first: Winner) -> PreferenceVerdict:
    """Return the verdict from two replies, with `a` in first place in the first reply and `b` in the second."""
    if a_first == b_first:
        return PreferenceVerdict(a_first)
    if a_first != "tie" and b_first != "tie":
        return PreferenceVerdict("tie", order_decides=True)
    return PreferenceVerdict("tie", leaning="a" if "a" in (a_first, b_first) else "b")


async def prefer(referees: Sequence[Referee], document: Document, document_tokens: int, a: str, b: str) -> Evaluation:
    """Ask every judge in both orders. A judging of which one order brought no verdict is unjudged, never a tie."""
    judgings = await gather_all(referee.prefer(document, document_tokens, a, b) for referee in referees)
    verdicts = [by_aspect for by_aspect, _ in judgings]
    judged_count = sum(map(bool, verdicts))
    trouble = next((shown["trouble"] for _, shown in judgings if shown["trouble"]), "")
    if all(referee.judge.model.identity == IDENTITY for referee in referees):
        trouble = trouble or "the built-in model does not compare summaries: name a language model as judge"
    unsure = next((shown["a_first"]["reason"] for _, shown in judgings if shown["a_first"] and shown["b_first"]), "")
    by_aspect = [{n: by[aspect].winner for n, aspect in enumerate(ASPECTS) if aspect in by} for by in verdicts]
    details = {
        "same": False,
        "document_read": all(shown["document_read"] for by_aspect, shown in judgings if by_aspect),
        "aspects": {aspect: count_votes(aspect, verdicts) for aspect in ASPECTS},
        "agreement": agreement(by_aspect),
        "judgings": [shown for _, shown in judgings],
        **({"trouble": trouble} if trouble else {}),
    }
    reason = "" if judged_count else trouble or unsure or "no judge gave a verdict in both orders"
    outcome: Outcome = "measured" if judged_count else "failed"
    unjudged = len(judgings) - judged_count
    return Evaluation(PREFERENCE, VERSION, outcome, None, judged_count, unjudged, details=details, reason=reason)


def same() -> Evaluation:
    """Return the evaluation of two identical summaries: a tie, without asking a judge."""
    aspects = {aspect: count_votes(aspect, []) | {"winner": "tie"} for aspect in ASPECTS}
    details = {"same": True, "document_read": False, "aspects": aspects, "agreement": None, "judgings": []}
    return Evaluation(PREFERENCE, VERSION, "measured", details=details)


def count_votes(aspect: Aspect, verdicts: Sequence[Mapping[Aspect, PreferenceVerdict]]) -> dict[str, object]:
    """Count the votes on an aspect. Leaning verdicts, and those decided by order, count as ties too."""
    votes = [verdict[aspect] for verdict in verdicts if aspect in verdict]
    winners: Counter[Winner] = Counter(vote.winner for vote in votes)
    majority = (winner for winner in winners if 2 * winners[winner] > len(votes))
    return {
        # A tie without a majority, and none without votes.
        "winner": next(majority, "tie" if votes else None),
        **{winner: winners[winner] for winner in get_args(Winner)},
        **{f"leaning_{side}": sum(vote.leaning == side for vote in votes) for side in get_args(Side)},
        "order_decides": sum(vote.order_decides for vote in votes),
        "unjudged": len(verdicts) - len(votes),
    }


@dataclass(frozen=True, slots=True)
class Referee:
    """Asks one judge; `window` is the token limit of a prompt and its reply, None for a model without one."""

    judge: Judge
    tokenizer: Tokenizer
    window: int | None

    async def prefer(
        self, document: Document, document_tokens: int, a: str, b: str
    ) -> tuple[dict[Aspect, PreferenceVerdict], dict[str, Any]]:
        """Ask for the better summary in both orders; the document is shown if it fits. Return the verdict on every
        aspect that both replies decide, and verdicts and replies as JSON."""
        tokens, trouble = prompt_tokens(self.judge.book, self.tokenizer, a, b), ""
        if not self.judge.can_read(other_language_in(document)):
            trouble = "the built-in model judges English only, and the document is in another language"
        elif self.window is not None and tokens > self.window:
            trouble = f"the two summaries need {tokens:,} tokens, and the window has {self.window:,}"
        is_read = not trouble and (self.window is None or tokens + document_tokens <= self.window)
        results: ItemResults[PreferenceReply] = ItemResults(trouble=trouble)
        if not trouble:
            text, key = (document.text, document.id) if is_read else (None, None)
            inputs = PreferInput(document=text, first="", second="")
            results = await self._both_orders(PREFER_SUMMARY, PreferenceReply, inputs, a, b, [key])
        shown_replies: list[dict[str, Any] | None] = [None, None]
        for order, reply in results.verdicts.items():
            choices = [(aspect, _BY_PLACE[order].get(getattr(reply, aspect), UNSURE)) for aspect in ASPECTS]
            shown_replies[order] = dict(choices, reason=reply.reason)
        a_first, b_first = shown_replies
        pairs = {aspect: (a_first[aspect], b_first[aspect]) for aspect in ASPECTS} if a_first and b_first else {}
        verdicts = {aspect: settled(*winners) for aspect, winners in pairs.items() if UNSURE not in winners}
        return verdicts, {
            "judge": self.judge.name,
            "document_read": is_read,
            "verdicts": {aspect: verdict._asdict() for aspect, verdict in verdicts.items()},
            "a_first": a_first,
            "b_first": b_first,
            "trouble": results.trouble,
        }

    async def choose(self, notes: ChooseInput, revision: str, best: str) -> list[DraftChoice]:
        """Return which of two drafts is better, for the revision in first place and then in second; nothing where one
        of the two replies is missing. `notes` hold what both are compared by."""
        items = [item.model_dump(mode="json") for item in notes.must_know]
        key = [items, notes.errors, notes.query]
        results = await self._both_orders(CHOOSE_DRAFT, DraftChoice, notes, revision, best, key)
        return [results.verdicts[0], results.verdicts[1]] if len(results.verdicts) == 2 else []

    async def _both_orders(
        self, prompt: Prompt[InputT, Any], kind: type[ChoiceT], inputs: InputT, a: str, b: str, key: list[object]
    ) -> ItemResults[ChoiceT]:
        """Ask with each text in first place once; `key` is what else the verdict depends on."""
        orders = [(a, b), (b, a)]

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[ChoiceT]:
            (number,) = numbers
            label, (first, second) = f"preference, {'AB'[number]} first", orders[number]
            in_order = inputs.model_copy(update={"first": first, "second": second})
            reply = await self.judge.ask(prompt, in_order, PREFERENCE_TOKENS, label, attempt)
            choice = reply.value.model_copy(update={"reason": one_line(reply.value.reason, _LONGEST_REASON)})
            return reply, [(number, choice)]

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
