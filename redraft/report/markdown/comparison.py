"""The comparison of two summaries as Markdown: winners, votes and reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from redraft.builtin.facade import IDENTITY
from redraft.prompts.coherence import ASPECTS
from redraft.report.history.summaries import SummaryComparison
from redraft.report.markdown.figures import decimal, percent
from redraft.report.markdown.layout import item, joined, line, section, table
from redraft.text.words import count

_WINNERS = {"a": "A", "b": "B", "tie": "tie", "unsure": "cannot tell"}
_REASON, _JUDGE, _SHOWN = 300, 50, 6


def winner_word(winner: str | None) -> str:
    """Return the result in a few letters, for lists."""
    return "" if winner is None else "tie" if winner == "tie" else f"{_WINNERS[winner]} preferred"


def comparison_markdown(comparison: SummaryComparison) -> str:
    """Return a comparison: the winner and the votes by aspect, both summaries' statistics, reservations and the judges'
    answers."""
    columns = ("a", "b", "tie", "unjudged")
    aspects = [
        [aspect, _WINNERS.get(votes["winner"], "–"), *(f"{votes.get(name, 0):,}" for name in columns), _ties(votes)]
        for aspect, votes in ((aspect, comparison.aspects[aspect]) for aspect in ASPECTS)
    ]
    head = ["aspect", "better", "A", "B", "tie", "no verdict", "ties"]
    shown = slice(len(head) if any(row[-1] for row in aspects) else -1)
    return joined(
        [
            table([row[shown] for row in (head, *aspects)]),
            table([*_statistics(comparison)]),
            "\n".join(f"- {note}" for note in _notes(comparison)),
            "" if comparison.same else f"judged by: {line(comparison.judged_by)}",
            section("Judgings", _judgings(comparison)),
        ]
    )


def _ties(votes: Mapping[str, Any]) -> str:
    """Return how many ties lean to one side or follow the order."""
    ties = [f"{votes[f'leaning_{side}']} leaning to {side.upper()}" for side in "ab" if votes.get(f"leaning_{side}")]
    return " and ".join(ties + ([f"{votes['order_decides']} by the order"] if votes.get("order_decides") else []))


def _statistics(comparison: SummaryComparison) -> Iterator[list[str]]:
    """Yield the rows of a table with the lengths of both summaries and what is new in them."""
    both = (comparison.a, comparison.b)
    yield ["", "A", "B"]
    yield ["words", *(f"{summary.words:,}" for summary in both)]
    yield ["sentences", *(f"{summary.sentences:,}" for summary in both)]
    figures = [summary.statistics for summary in both]
    if all(figures):
        yield ["compression", *(decimal(parts["compression"]["tokens"], 1) for parts in figures)]
        for name, key in (("new trigrams", "novel_ngrams"), ("repeated trigrams", "repeated_ngrams")):
            yield [name, *(percent(parts[key]["3"]) for parts in figures)]


def _notes(comparison: SummaryComparison) -> Iterator[str]:
    """Yield the reservations about a verdict."""
    preference = comparison.preference
    if comparison.same:
        yield "A and B are the same text; no model was asked"
        return
    if preference.outcome == "failed":
        yield f"no verdict: {line(preference.reason, _REASON)}"
        return
    by_order = {aspect: comparison.aspects[aspect]["order_decides"] for aspect in ASPECTS}
    if biased := [f"{aspect} in {number:,}" for aspect, number in by_order.items() if number]:
        yield (
            f"warning: in {count(preference.judged, 'judging')} the order decides {', '.join(biased)}. A judge"
            " that always names the first, or the second, has no preference; it counts as a tie."
        )
    if preference.unjudged:
        trouble = line(str(preference.details.get("trouble", "")), _REASON)
        yield f"{count(preference.unjudged, 'judging')} without a verdict: {trouble}"
    if not comparison.document_read:
        any_read = any(judging["document_read"] for judging in comparison.judgings)
        who = "not every judge has read the document" if any_read else "no judge has read the document"
        yield f"{who}: with the summaries it does not fit the window"


def _judgings(comparison: SummaryComparison) -> Iterator[str]:
    """Yield the judges' answers in each order; they refer to the first and the second summary."""
    judgings = [judging for judging in comparison.judgings if judging["a_first"] or judging["b_first"]]
    for judging in judgings[:_SHOWN]:
        for key, which in (("a_first", "A is the first"), ("b_first", "B is the first")):
            answer = judging[key]
            winners = [f"{aspect} {_WINNERS[answer[aspect]]}" for aspect in ASPECTS] if answer else ["no verdict"]
            reason = line(answer["reason"], _REASON) if answer else ""
            judge = "built-in model" if judging["judge"] == IDENTITY else line(judging["judge"], _JUDGE)
            head = f"{judge}, {which}: {', '.join(winners)}"
            yield from item(head, [reason] if reason else [])
    if (more := len(judgings) - _SHOWN) > 0:
        yield f"- ... and {count(more, 'judging')} more (--json has them all)"
