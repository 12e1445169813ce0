"""The page that compares runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from redraft.evaluators.figures import MIN_VALUES, RESAMPLES
from redraft.report.dossier.comparison import (
    ALIGNED,
    HALF,
    REVISED_BY,
    RunComparison,
    ScoreDifference,
    Standing,
)
from redraft.report.dossier.contents import JudgedItem
from redraft.report.drawings import sources
from redraft.report.history.lineage import GIVEN_SAID
from redraft.report.pages.assets import assets, template
from redraft.report.pages.dossier import Clause, source_shares
from redraft.report.pages.formatting import in_language
from redraft.text.words import count, count_words, enumeration, score, spaced

STYLES = ("plots.css", "base.css", "comparison.css")
SCRIPT = "comparison.js"
_ALIKE = 1.25
"""The greatest ratio of lengths of summaries that are compared without a word on it."""
_STANDINGS: dict[Standing, str] = {
    "flipped": "Flipped: some have it, some do not",
    "changed": "In all or in none, with different verdicts",
    "open": "Not judged in every run (not counted)",
    "same": "The same in all runs",
}


def comparison_page(comparison: RunComparison) -> str:
    """Return the page as a standalone file, with its styles and its script."""
    return template("comparison.html").render(**view(comparison), assets=assets(STYLES, SCRIPT))


def view(
    comparison: RunComparison, say: Callable[[str], str] = str, names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the variables for the templates of a comparison. `say` words messages for the reader, and `names` are the
    names of models for people."""
    document, names = comparison.document, names or {}
    pairs = dict[tuple[str, str], list[ScoreDifference]]()
    for difference in comparison.differences:
        pairs.setdefault((difference.first, difference.second), []).append(difference)
    labels = {run.letter: label_for_people(run.label, names) for run in comparison.runs}
    shares = {
        f"{run.letter}: {labels[run.letter]}": run_shares
        for run in comparison.runs
        if (run_shares := source_shares(run.sentences, len(document.text)))
    }
    return {
        "sheets": STYLES,
        "c": comparison,
        "line": f"{count(len(comparison.runs), 'run')} on one document of {count(count_words(document.text), 'word')}",
        "verdict": verdict(comparison),
        "offline_check": any(run.result.offline_checked for run in comparison.runs),
        "runs": {run.letter: run for run in comparison.runs},
        "standings": _STANDINGS,
        "metrics": tuple(dict.fromkeys(metric for run in comparison.runs for metric in run.scores)),
        "pairs": pairs,
        "sources": sources(shares) if shares else "",
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


def verdict(comparison: RunComparison) -> tuple[Clause, ...]:
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
    return ("yes", "✓", verdict) if item.value >= HALF else ("no", "✗", verdict)
