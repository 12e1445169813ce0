"""A comparison of runs as a page and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any

from jinja2 import Environment

from redraft.evaluators.metric_info import METRICS, metric_named
from redraft.evaluators.statistics import MIN_VALUES, RESAMPLES, Interval
from redraft.llm.addresses import address_in, provider_of, shown_name
from redraft.report.dossier.contents import JudgedItem
from redraft.report.history.lineage import GIVEN_SAID
from redraft.report.markdown.evaluation import QUOTE, joined, section, table
from redraft.report.pages import html
from redraft.report.pages.html import FIFTHS, Clause, assets, capitalized, in_language, source_shares
from redraft.report.tables import figure, line
from redraft.settings import EXTRACTIVE
from redraft.studio.comparison import ALIGNED, REVISED_BY, RunComparison, ScoreDifference, Standing
from redraft.text.places import place_of
from redraft.text.words import count, count_words, dollars, enumeration, score, spaced

PACKAGE = "redraft.studio"
"""The package with the templates and the static files of the studio's own."""
_FLIPPED = 10
_SEEN_DIFFERENCE = 0.0005
"""A smaller difference would be shown as zero."""
_ALIKE = 1.25
"""The greatest ratio of lengths of summaries that are compared without a word on it."""
_STANDINGS: dict[Standing, str] = {
    "flipped": "Flipped: some have it, some do not",
    "changed": "In all or in none, with different verdicts",
    "open": "Not judged in every run (not counted)",
    "same": "The same in all runs",
}


def environment(*packages: str) -> Environment:
    """Return the templates of the studio, of the pages that it shows, and of packages that extend it."""
    pages = html.environment(PACKAGE, *packages)
    pages.filters.update(metric_title=metric_title, model_name=model_name, signed=signed)
    return pages


def signed(value: float) -> str:
    """Format a difference with its sign."""
    return "0" if abs(value) < _SEEN_DIFFERENCE else f"{'+' if value > 0 else '−'}{figure(abs(value), 2)}"


def metric_title(metric: str) -> str:
    """Return the name of a metric for users."""
    evaluator = metric_named(metric) if metric in METRICS else None
    return (evaluator and evaluator.title) or capitalized(spaced(metric))


def model_name(identity: str) -> str:
    """Return the name for people of a model, from the identity under which its questions or facts are stored."""
    if provider_of(identity) == EXTRACTIVE:
        return EXTRACTIVE
    address = address_in(identity)
    return shown_name(identity.removesuffix(f"@{address}"), address)


def comparison_page(comparison: RunComparison) -> str:
    """Return the page as a standalone file, with its styles and its script."""
    variables = comparison_view(comparison)
    parts = assets(variables["sheets"], "comparison.js", PACKAGE)
    return environment().get_template("comparison.html").render(variables, assets=parts)


def comparison_view(
    comparison: RunComparison, say: Callable[[str], str] = str, names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the variables for the templates of a comparison. `say` words messages for the reader, and `names` are the
    names of models for people."""
    document, names = comparison.document, names or {}
    pairs = groupby(comparison.differences, attrgetter("first", "second"))
    labels = {run.letter: label_for_people(run.label, names) for run in comparison.runs}
    shares = {
        f"{run.letter}: {labels[run.letter]}": source_shares(run.sentences, len(document.text))
        for run in comparison.runs
    }
    return {
        "sheets": ("plots.css", "base.css", "comparison.css"),
        "c": comparison,
        "line": f"{count(len(comparison.runs), 'run')} on one document of {count(count_words(document.text), 'word')}",
        "verdict": comparison_verdict(comparison),
        "offline_check": any(run.result.offline_checked for run in comparison.runs),
        "runs": {run.letter: run for run in comparison.runs},
        "standings": _STANDINGS,
        "metrics": tuple(dict.fromkeys(metric for run in comparison.runs for metric in run.scores)),
        "pairs": {pair: [*differences] for pair, differences in pairs},
        "fifths": FIFTHS,
        "shares": {label: of_fifths for label, of_fifths in shares.items() if of_fifths},
        "labels": labels,
        "aligned": ALIGNED,
        "resamples": RESAMPLES,
        **{function.__name__: function for function in (mark, presence)},
        "of_summary": lambda run: "" if run.result.settings.language else in_language(document),
        "say": say,
        "names": names,
        "least": MIN_VALUES,
        "of_document": in_language(document),
    }


def comparison_verdict(comparison: RunComparison) -> tuple[Clause, ...]:
    """Return a clause for each metric that all runs can be compared by: for which run it is higher if the items that
    were judged can tell, and the scores if no interval says so."""
    parts = []
    for metric in dict.fromkeys(difference.metric for difference in comparison.differences):
        differences = [difference for difference in comparison.differences if difference.metric == metric]
        if any(difference.difference is None for difference in differences):
            continue
        figures = {run.letter: run.scores[metric].score for run in comparison.runs if metric in run.scores}
        best = max(figures, key=lambda letter: figures[letter])
        by_best = [difference for difference in differences if best in (difference.first, difference.second)]
        if len(set(figures.values())) == 1:
            parts.append(f"{spaced(metric)} is equal")
        elif all(mark(difference)[0] == "clear" for difference in by_best):
            parts.append(f"{spaced(metric)} is {'higher' if len(figures) == 2 else 'highest'} for {best}")
        elif any(mark(difference)[0] == "even" for difference in by_best):
            parts.append(f"no clear difference in {spaced(metric)}")
        else:
            listed = [f"{score(figure)} for {letter}" for letter, figure in figures.items()]
            parts.append(f"{spaced(metric)} {enumeration(listed)}")
    parts[:1] = [part[:1].upper() + part[1:] for part in parts[:1]]
    clauses: list[Clause] = [("note", "", part) for part in parts]
    lengths = [run.result.draft.words for run in comparison.runs if run.result.draft]
    if parts and max(lengths) > _ALIKE * min(lengths):
        clauses.append(("unsure", "!", f"they have {enumeration(map(str, lengths))} words: the longer has more room"))
    return tuple(clauses)


def label_for_people(label: str, names: Mapping[str, str]) -> str:
    """Return the label of a run, which begins with its model or who revised a summary, with the name for people."""
    lead = label[: label.find(REVISED_BY) + len(REVISED_BY)] if label.startswith(f"{GIVEN_SAID}, {REVISED_BY}") else ""
    rest = label.removeprefix(lead)
    model = next((name for name in names if f"{rest}, ".startswith((f"{name}, ", f"{name} ("))), "")
    return lead + names[model] + rest[len(model) :] if model else label


def mark(difference: ScoreDifference) -> tuple[str, str, str]:
    """Return a difference as a class, a sign, and what the sign means."""
    value, interval = difference.difference, difference.interval
    if value is None:
        return "unsure", "–", "not compared"
    if interval is None:
        return "unsure", "?", "no interval"
    if interval.low <= 0 <= interval.high:
        return "even", "≈", "no clear difference"
    return "clear", "▲" if value > 0 else "▼", f"higher for {difference.first if value > 0 else difference.second}"


def presence(item: JudgedItem | None) -> tuple[str, str, str]:
    """Return whether a summary has an item, as a class, a sign and words, so that colour is not the only cue."""
    if item is None or not item.verdict:
        return "none", "·", "not asked"
    verdict = spaced(item.verdict)
    if item.value is None:
        return "none", "–", "no verdict"
    if item.verdict == "contradicted":
        return "odd", "!", verdict
    if 0 < item.value < 1:
        return "odd", "±", f"{verdict}, {score(item.value)}"
    return ("yes", "✓", verdict) if item.is_stated else ("no", "✗", verdict)


def compared_runs_markdown(comparison: RunComparison, verdict: str) -> str:
    """Return a comparison of runs on one document: the scores of each, the verdict, warnings, paired differences, and
    the questions and key facts that some summaries have and others lack."""
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
        f" {difference.difference:+.2f}{_ends(difference.interval, '{:.2f}'.format)}"
        if difference.difference is not None
        else f"- {spaced(difference.metric)}, {difference.first} and {difference.second}: {line(difference.reason)}"
        for difference in comparison.differences
    ]
    flipped = [compared for compared in comparison.items if compared.standing == "flipped"]
    items = []
    for compared in flipped[:_FLIPPED]:
        having = [letter for letter, item in compared.verdicts.items() if item and item.is_stated]
        span = compared.item.evidence.span if compared.item.evidence else None
        place = f" ({line(place_of(document, span))})" if span else ""
        items.append(f"- only {enumeration(having)}: {line(compared.item.text, QUOTE)}{place}")
    if len(flipped) > _FLIPPED:
        items.append(f"- ... and {len(flipped) - _FLIPPED:,} more (--format json has them all)")
    blocks = [
        f"# {line(comparison.title)}",
        "\n".join(f"- {run.letter}: {line(run.label)}, run {run.result.run.id}" for run in runs),
        table(rows, right=True),
        verdict,
        "\n".join(f"- warning: {line(warning)}" for warning in comparison.warnings),
        section("Differences", differences),
        section("Stated by some and not by others", items),
    ]
    return joined(blocks)


def _ends(interval: Interval | None, form: Callable[[float], str] = score) -> str:
    """Return a 95% interval in parentheses after a space, with its ends in the form of scores or of differences; empty
    without one."""
    return f" ({form(interval.low)} to {form(interval.high)})" if interval else ""
