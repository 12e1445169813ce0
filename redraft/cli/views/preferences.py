"""Views of a comparison of two summaries: the winner per aspect, the votes and the judges' reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.cli.terminal import wrapped
from redraft.cli.views.render import aligned, count
from redraft.prompts.coherence import ASPECTS
from redraft.report.history.summaries import SummaryComparison
from redraft.text.sanitizer import one_line

WINNERS = {"a": "A", "b": "B", "tie": "tie", "unsure": "cannot tell"}
_NONE = "-"
_REASON = 300
_JUDGE = 50
_SHOWN = 6


def outcome(winner: str | None) -> str:
    """Return the result in a few letters, for lists."""
    return "" if winner is None else "tie" if winner == "tie" else f"{WINNERS[winner]} preferred"


def comparison_lines(comparison: SummaryComparison) -> Iterator[str]:
    """Yield a comparison's view for people."""
    parts = (
        aligned([_row(aspect, comparison.aspects[aspect]) for aspect in ASPECTS]),
        aligned(_figures(comparison)),
        list(_notes(comparison)),
        [] if comparison.same else list(wrapped(comparison.certificate.line(), "judged by: ", "  ")),
        list(_judgings(comparison.judgings)),
    )
    for number, lines in enumerate(part for part in parts if part):
        yield from ["", *lines] if number else lines


def _row(aspect: str, votes: Mapping[str, Any]) -> tuple[str, str, str]:
    return aspect, WINNERS.get(votes["winner"], _NONE), _votes(votes)


def _votes(votes: Mapping[str, Any]) -> str:
    """Return the votes, with the ties that lean to one side or follow the order."""
    number = votes["a"] + votes["b"] + votes["tie"]
    if not number:
        return ""
    parts = [f"A {votes['a']}, B {votes['b']}, tie {votes['tie']}"]
    leaning = [f"{votes[f'leaning_{side}']} leaning to {side.upper()}" for side in "ab" if votes[f"leaning_{side}"]]
    within = [*leaning, *([f"{votes['order_decides']} by the order"] if votes["order_decides"] else [])]
    parts += [f"of the ties {' and '.join(within)}"] if within else []
    return f"({count(number, 'judging')}: {'; '.join(parts)})"


def _figures(comparison: SummaryComparison) -> list[tuple[str, ...]]:
    """Return the rows of a table of both summaries' statistics."""
    both = (comparison.a, comparison.b)
    rows = [("", "A", "B"), ("words", *(f"{one.words:,}" for one in both))]
    rows.append(("sentences", *(f"{one.sentences:,}" for one in both)))
    measured = [one.statistics for one in both]
    if all(measured):
        rows += [
            ("compression", *(f"{one['compression']['tokens']:,.1f}" for one in measured)),
            ("new trigrams", *(_share(one["novel_ngrams"]["3"]) for one in measured)),
            ("repeated trigrams", *(_share(one["repeated_ngrams"]["3"]) for one in measured)),
        ]
    return rows


def _share(share: float | None) -> str:
    return _NONE if share is None else f"{share:.1%}"


def _notes(comparison: SummaryComparison) -> Iterator[str]:
    """Yield the reservations about a verdict."""
    preference = comparison.preference
    if comparison.same:
        yield "A and B are the same text; no model was asked"
        return
    if preference.outcome == "failed":
        yield from wrapped(f"no verdict: {one_line(preference.reason, _REASON)}", "", "  ")
        return
    decided = {aspect: comparison.aspects[aspect]["order_decides"] for aspect in ASPECTS}
    if biased := [f"{aspect} in {number:,}" for aspect, number in decided.items() if number]:
        yield from wrapped(
            f"warning: in {count(preference.judged, 'judging')} the order decides {', '.join(biased)}. A judge that"
            " always names the first, or the second, has no preference; it counts as a tie.",
            "",
            "  ",
        )
    if preference.unjudged:
        trouble = one_line(str(preference.details.get("trouble", "")), _REASON)
        yield from wrapped(f"{count(preference.unjudged, 'judging')} without a verdict: {trouble}", "", "  ")
    if not comparison.document_read:
        some = any(judging["document_read"] for judging in comparison.judgings)
        who = "not every judge has read the document" if some else "no judge has read the document"
        yield from wrapped(f"{who}: with the summaries it does not fit the window (--context-tokens)", "", "  ")


def _judgings(judgings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the judges' answers in each order; they refer to the first and the second summary."""
    judgings = [judging for judging in judgings if judging["a_first"] or judging["b_first"]]
    for judging in judgings[:_SHOWN]:
        judge = one_line(judging["judge"], _JUDGE)
        for key, which in (("a_first", "A is the first"), ("b_first", "B is the first")):
            said = judging[key]
            named = ", ".join(f"{aspect} {WINNERS[said[aspect]]}" for aspect in ASPECTS) if said else "no verdict"
            yield from wrapped(named, f"{judge}, {which}: ", "  ")
            if said and (reason := one_line(said["reason"], _REASON)):
                yield from wrapped(reason, "  ", "  ")
    if (more := len(judgings) - _SHOWN) > 0:
        yield f"... and {count(more, 'judging')} more (--json has them all)"
