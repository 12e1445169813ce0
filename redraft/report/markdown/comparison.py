"""Comparisons as Markdown: of two summaries, with winners, votes and reasons, and of runs, with scores and items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from redraft.builtin.facade import IDENTITY
from redraft.evaluators.figures import Interval
from redraft.evaluators.metric_info import PREFERENCE
from redraft.prompts.coherence import ASPECTS
from redraft.report.history.judges import judged_by
from redraft.report.history.summaries import SummaryComparison
from redraft.report.markdown.figures import decimal, percent
from redraft.report.markdown.layout import QUOTE, item, joined, line, section, table
from redraft.text.places import place_of
from redraft.text.words import count, dollars, enumeration, score, spaced

if TYPE_CHECKING:
    from redraft.report.dossier.comparison import RunComparison

WINNERS = {"a": "A", "b": "B", "tie": "tie", "unsure": "cannot tell"}
_REASON, _JUDGE, _SHOWN, _FLIPPED, _HALF = 300, 50, 6, 10, 0.5


def comparison_markdown(comparison: SummaryComparison, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a comparison: the winner and the votes by aspect, or why there is no verdict; both summaries' statistics,
    reservations and the judges' answers. `names` are the names of models for people."""
    result, preference = comparison.result, comparison.preference
    blocks = [f"no verdict: {line(preference.reason, _REASON)}"]
    if preference.outcome != "failed":
        blocks = [table(_votes(comparison))]
    both = (comparison.a, comparison.b)
    rows = [
        ["", "A", "B"],
        ["words", *(f"{summary.words:,}" for summary in both)],
        ["sentences", *(f"{summary.sentences:,}" for summary in both)],
    ]
    figures = [summary.statistics for summary in both]
    if all(figures):
        rows.append(["compression", *(decimal(parts["compression"]["tokens"], 1) for parts in figures)])
        for name, key in (("new trigrams", "novel_ngrams"), ("repeated trigrams", "repeated_ngrams")):
            rows.append([name, *(percent(parts[key]["3"]) for parts in figures)])
    blocks += [table(rows), "\n".join(f"- {note}" for note in _reservations(comparison))]
    if not comparison.same:
        blocks.append(f"judged by: {line(judged_by(result.run, result.evaluations, names)[PREFERENCE])}")
    return joined([*blocks, section("Judgings", _judgings(comparison, names))])


def _votes(comparison: SummaryComparison) -> list[list[str]]:
    """Return the winner and the votes by aspect as rows of a table, the last column of which says how many ties lean to
    one side or follow the order; it is left out if none does."""
    rows = [["aspect", "better", "A", "B", "tie", "no verdict", "ties"]]
    for aspect in ASPECTS:
        votes = comparison.aspects[aspect]
        ties = [
            f"{votes[f'leaning_{side}']} leaning to {side.upper()}" for side in "ab" if votes.get(f"leaning_{side}")
        ]
        ties += [f"{votes['order_decides']} by the order"] if votes.get("order_decides") else []
        numbers = [f"{votes.get(name, 0):,}" for name in ("a", "b", "tie", "unjudged")]
        rows.append([aspect, WINNERS.get(votes["winner"], "–"), *numbers, " and ".join(ties)])
    return rows if any(row[-1] for row in rows[1:]) else [row[:-1] for row in rows]


def _reservations(comparison: SummaryComparison) -> Iterator[str]:
    """Yield the reservations about a verdict."""
    preference = comparison.preference
    if comparison.same:
        yield "A and B are the same text; no model was asked"
    if comparison.same or preference.outcome == "failed":
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
    if not preference.details["document_read"]:
        any_read = any(judging["document_read"] for judging in comparison.judgings)
        who = "not every judge has read the document" if any_read else "no judge has read the document"
        yield f"{who}: with the summaries it does not fit the window"


def _judgings(comparison: SummaryComparison, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the judges' answers in each order; they refer to the first and the second summary."""
    judgings = [judging for judging in comparison.judgings if judging["a_first"] or judging["b_first"]]
    for judging in judgings[:_SHOWN]:
        name = str(judging["judge"])
        judge = "built-in model" if name == IDENTITY else line(names.get(name, name), _JUDGE)
        for key, which in (("a_first", "A is the first"), ("b_first", "B is the first")):
            answer = judging[key]
            winners = [f"{aspect} {WINNERS[answer[aspect]]}" for aspect in ASPECTS] if answer else ["no verdict"]
            reason = line(answer["reason"], _REASON) if answer else ""
            yield from item(f"{judge}, {which}: {', '.join(winners)}", [reason] if reason else [])
    if (more := len(judgings) - _SHOWN) > 0:
        yield f"- ... and {count(more, 'judging')} more (--json has them all)"


def compared_runs_markdown(comparison: RunComparison) -> str:
    """Return a comparison of runs on one document: warnings, the scores of each, their paired differences, and the
    questions and key facts that some summaries have and others lack."""
    runs, document = comparison.runs, comparison.document
    rows = [["", *(run.letter for run in runs)]]
    rows.append(["words", *(f"{run.result.draft.words:,}" if run.result.draft else "–" for run in runs)])
    for metric in dict.fromkeys(metric for run in runs for metric in run.scores):
        scores = [run.scores.get(metric) for run in runs]
        rows.append(
            [spaced(metric), *(f"{score(cell.score)}{_ends(cell.interval)}" if cell else "–" for cell in scores)]
        )
    rows.append(["cost", *(dollars(run.result.usage.cost_usd) for run in runs)])
    differences = [
        f"- {spaced(difference.metric)}, {difference.first} minus {difference.second}:"
        f" {difference.difference:+.2f}{_ends(difference.interval)}"
        if difference.difference is not None
        else f"- {spaced(difference.metric)}, {difference.first} and {difference.second}: {line(difference.reason)}"
        for difference in comparison.differences
    ]
    flipped = [compared for compared in comparison.items if compared.standing == "flipped"]
    items = []
    for compared in flipped[:_FLIPPED]:
        having = [
            letter
            for letter, item in compared.verdicts.items()
            if item and item.value is not None and item.value >= _HALF
        ]
        span = compared.item.evidence.span if compared.item.evidence else None
        place = f" ({line(place_of(document, span))})" if span else ""
        items.append(f"- only {enumeration(having)}: {line(compared.item.text, QUOTE)}{place}")
    if len(flipped) > _FLIPPED:
        items.append(f"- ... and {len(flipped) - _FLIPPED:,} more (--format json has them all)")
    blocks = [
        f"# {line(comparison.title)}",
        "\n".join(f"- {run.letter}: {line(run.label)}, run {run.result.run.id}" for run in runs),
        table(rows, right=True),
        "\n".join(f"- warning: {line(warning)}" for warning in comparison.warnings),
        section("Differences", differences),
        section("Stated by some and not by others", items),
    ]
    return joined(blocks)


def _ends(interval: Interval | None) -> str:
    """Return a 95% interval in parentheses after a space; empty without one."""
    return f" ({interval.low:.2f} to {interval.high:.2f})" if interval else ""
