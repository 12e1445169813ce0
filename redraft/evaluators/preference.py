"""Preference: which of two summaries is better, overall and in detail, structure and logic (BooookScore, appendix C).

A judge is asked twice, with each summary in first place once, since judges are biased by position. If both replies
prefer the same summary, that is the verdict. A preference in one order and a tie in the other is a tie that leans to
it. If the replies prefer different summaries, the judge followed the order; that is a tie too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from redraft.agents.accounts import gather_all
from redraft.agents.referee import Referee, SwappedAnswers
from redraft.domain import Document, Evaluation
from redraft.evaluators.metric_info import PREFERENCE
from redraft.evaluators.votes import DISPUTED, ItemVerdicts, agreement, majority
from redraft.prompts.coherence import ASPECTS, Aspect, Choice, PreferenceReply
from redraft.prompts.contract import UNSURE

VERSION = 1

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
        "document_read": all(heard.document_read for heard, said in zip(panel, verdicts, strict=True) if said),
        "aspects": {aspect: _counted(aspect, verdicts) for aspect in ASPECTS},
        "agreement": agreement([_by_item(verdict) for verdict in verdicts]),
        "judgings": [_shown(heard, said) for heard, said in zip(panel, verdicts, strict=True)],
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
