"""Preference: which of two summaries is better, overall and in detail, structure and logic (BooookScore, appendix C).

A judge is asked twice, with each summary in first place once, since judges are biased by position. If both replies
prefer the same summary, that is the verdict. A preference in one order and a tie in the other is a tie that leans to
it. If the replies prefer different summaries, the judge followed the order; that is a tie too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all, gather_all
from redraft.agents.judge import Judge, in_batches
from redraft.domain import Document, Evaluation, content_id
from redraft.evaluators.metric_info import PREFERENCE
from redraft.evaluators.votes import DISPUTED, ItemVerdicts, agreement, majority
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import ASPECTS, PREFER_SUMMARY, Aspect, Choice, PreferenceReply, PreferInput
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


@dataclass(frozen=True, slots=True)
class PreferenceVerdict:
    """One judge's verdict from both orders."""

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


def winner_of(verdicts: Sequence[PreferenceVerdict]) -> Winner | None:
    """Return the majority verdict; a tie without a majority, None without verdicts."""
    voted = majority([{0: verdict.winner} for verdict in verdicts], [0]).get(0)
    return "tie" if voted == DISPUTED else next((v.winner for v in verdicts if v.winner == voted), None)


async def prefer(referees: Sequence[Referee], document: Document, document_tokens: int, a: str, b: str) -> Evaluation:
    """Ask every judge in both orders. A judging of which one order brought no verdict is unjudged, never a tie."""
    panel = await gather_all(referee.prefer(document, document_tokens, a, b) for referee in referees)
    verdicts = [_verdicts(heard) for heard in panel]
    judged_count = sum(bool(verdict) for verdict in verdicts)
    trouble = next((heard.trouble for heard in panel if heard.trouble), "")
    unsure = next((heard.a_first.reason for heard in panel if heard.a_first and heard.b_first), "")
    details: dict[str, object] = {
        "same": False,
        "document_read": all(heard.document_read for heard, verdict in zip(panel, verdicts, strict=True) if verdict),
        "aspects": {aspect: _counted(aspect, verdicts) for aspect in ASPECTS},
        "agreement": agreement([_by_item(verdict) for verdict in verdicts]),
        "judgings": [_shown(heard, verdict) for heard, verdict in zip(panel, verdicts, strict=True)],
    }
    return Evaluation(
        PREFERENCE,
        VERSION,
        "measured" if judged_count else "failed",
        judged=judged_count,
        unjudged=len(panel) - judged_count,
        details=details | ({"trouble": trouble} if trouble else {}),
        reason="" if judged_count else trouble or unsure or "no judge gave a verdict in both orders",
    )


def same() -> Evaluation:
    """Return the evaluation of two identical summaries: a tie, without asking a judge."""
    details: dict[str, object] = {
        "same": True,
        "document_read": False,
        "aspects": {aspect: _counted(aspect, []) | {"winner": "tie"} for aspect in ASPECTS},
        "agreement": None,
        "judgings": [],
    }
    return Evaluation(PREFERENCE, VERSION, "measured", details=details)


def _verdicts(heard: SwappedAnswers) -> dict[Aspect, PreferenceVerdict]:
    """Return a judge's verdict on every aspect it decided; nothing where a reply is missing."""
    a_first, b_first = _named(heard.a_first, "a", "b"), _named(heard.b_first, "b", "a")
    shared = [aspect for aspect in ASPECTS if aspect in a_first and aspect in b_first]
    return {aspect: settled(a_first[aspect], b_first[aspect]) for aspect in shared}


def _named(reply: PreferenceReply | None, first: Side, second: Side) -> dict[Aspect, Winner]:
    """Return the summaries that a reply prefers, mapped back from their positions; nothing without a reply."""
    places: Mapping[Choice, Winner] = {"first": first, "second": second, "tie": "tie"}
    choices = {aspect: getattr(reply, aspect) for aspect in ASPECTS} if reply else {}
    return {aspect: places[choice] for aspect, choice in choices.items() if choice != UNSURE}


def _counted(aspect: Aspect, verdicts: Sequence[Mapping[Aspect, PreferenceVerdict]]) -> dict[str, object]:
    """Count the votes on an aspect. Leaning verdicts, and those decided by order, count as ties too."""
    votes = [verdict[aspect] for verdict in verdicts if aspect in verdict]
    votes_for = Counter(vote.winner for vote in votes)
    return {
        "winner": winner_of(votes),
        "a": votes_for["a"],
        "b": votes_for["b"],
        "tie": votes_for["tie"],
        "leaning_a": sum(vote.leaning == "a" for vote in votes),
        "leaning_b": sum(vote.leaning == "b" for vote in votes),
        "order_decides": sum(vote.order_decides for vote in votes),
        "unjudged": len(verdicts) - len(votes),
    }


def _by_item(verdicts: Mapping[Aspect, PreferenceVerdict]) -> ItemVerdicts:
    return {n: verdicts[aspect].winner for n, aspect in enumerate(ASPECTS) if aspect in verdicts}


def _shown(heard: SwappedAnswers, verdicts: Mapping[Aspect, PreferenceVerdict]) -> dict[str, object]:
    """Return one judge's verdict as JSON."""
    return {
        "judge": heard.judge,
        "document_read": heard.document_read,
        "verdicts": {
            aspect: {"winner": verdict.winner, "leaning": verdict.leaning, "order_decides": verdict.order_decides}
            for aspect, verdict in verdicts.items()
        },
        "a_first": _reply(heard.a_first, "a", "b"),
        "b_first": _reply(heard.b_first, "b", "a"),
        "trouble": heard.trouble,
    }


def _reply(reply: PreferenceReply | None, first: Side, second: Side) -> dict[str, str] | None:
    winners = _named(reply, first, second)
    entry: dict[str, str] = {aspect: winners.get(aspect, UNSURE) for aspect in ASPECTS}
    return entry | {"reason": reply.reason} if reply else None


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
