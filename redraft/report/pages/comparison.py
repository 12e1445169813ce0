"""The page that compares runs."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any, NamedTuple

from markupsafe import Markup

from redraft.evaluators.metric_info import OFFLINE_CHECK
from redraft.report.dossier.comparison.build import SHARE, signed
from redraft.report.dossier.comparison.contents import (
    ComparedContestant,
    ComparedDocument,
    ComparedItem,
    ComparedRun,
    FifthDifference,
    RunComparison,
    RunVerdict,
    ScoreDifference,
    Standing,
)
from redraft.report.dossier.contents import Range
from redraft.report.drawings import Difference, density, parts_of
from redraft.report.drawings import differences as differences_drawing
from redraft.report.pages.assets import assets, template
from redraft.report.pages.dossier import THIRDS, in_language
from redraft.report.pages.formatting import HtmlTable, capitalized
from redraft.text.words import count, dollars, score, spaced


def used(beside: RunComparison) -> HtmlTable:
    """Return the contestants, and what each used."""
    several = len(beside.documents) > 1
    runs = {run.name: run for run in beside.runs}
    rows = []
    for contestant in beside.contestants:
        first = runs[contestant.runs[0]]
        rows.append(
            (
                contestant.letter,
                contestant.label,
                count(len(contestant.runs), "run") if several else f"{first.run}, {first.created[:10]}",
                round(contestant.words),
                ", ".join(dict.fromkeys(judge for name in contestant.runs for judge in runs[name].judges)) or "–",
                dollars(contestant.cost_usd),
                round(contestant.tokens),
                round(contestant.seconds, 1),
            )
        )
    named, run = ("system", "runs") if several else ("settings", "run")
    return HtmlTable(("", named, run, "words", "judged by", "cost", "tokens", "seconds"), tuple(rows))


def metrics(beside: RunComparison) -> tuple[str, ...]:
    """Return the metrics of the contestants."""
    return tuple(
        dict.fromkeys(
            contestant_score.metric for contestant in beside.contestants for contestant_score in contestant.scores
        )
    )


def scores(beside: RunComparison) -> HtmlTable:
    """Return a row per metric with the score of each contestant, its interval, and the number of documents or items."""
    rows = tuple(
        (spaced(metric), *(_score(beside, contestant, metric) for contestant in beside.contestants))
        for metric in metrics(beside)
    )
    return HtmlTable(("metric", *(compared_contestant.letter for compared_contestant in beside.contestants)), rows)


def _score(beside: RunComparison, contestant: ComparedContestant, metric: str) -> str:
    found = next(
        (contestant_score for contestant_score in contestant.scores if contestant_score.metric == metric), None
    )
    if found is None:
        return "–"
    told = f"{score(found.mean)}{between(found.interval)}"
    scores = [score for run in beside.runs if run.name in contestant.runs for score in run.scores]
    if any(score.offline_check for score in scores if score.metric == metric):
        told += f" · {OFFLINE_CHECK}"
    if len(beside.documents) > 1:
        return f"{told} · {count(found.documents, 'document')}"
    run = next(run for run in beside.runs if run.name == contestant.runs[0])
    one = next(score for score in run.scores if score.metric == metric)
    left = f", {one.unjudged:,} without a verdict" if one.unjudged else ""
    return f"{told} · {count(one.judged, 'item')}{left}"


def between(interval: Range | None) -> str:
    """Format an interval to follow its value; empty for None."""
    return "" if interval is None else f" [{interval.low:.2f} to {interval.high:.2f}]".replace("-", "−")


class SignedDifference(NamedTuple):
    """A difference as a sign, the meaning of the sign, and a sentence."""

    kind: str
    sign: str
    means: str
    metric: str
    says: str


class DifferenceTables(NamedTuple):
    """The differences between two contestants."""

    first: ComparedContestant
    second: ComparedContestant
    said: tuple[SignedDifference, ...]


def differences(beside: RunComparison) -> tuple[DifferenceTables, ...]:
    """Return the differences for each pair of contestants."""
    by_letter = {contestant.letter: contestant for contestant in beside.contestants}
    pairs = dict.fromkeys((difference.first, difference.second) for difference in beside.differences)
    return tuple(
        DifferenceTables(
            by_letter[first],
            by_letter[second],
            tuple(
                _said(difference)
                for difference in beside.differences
                if (difference.first, difference.second) == (first, second)
            ),
        )
        for first, second in pairs
    )


def _said(one: ScoreDifference) -> SignedDifference:
    kind, sign, means = (
        ("unsure", "?", "no interval") if one.difference is not None else ("unsure", "–", "not compared")
    )
    if one.interval is not None and one.difference is not None:
        if one.interval.has_zero:
            kind, sign, means = "even", "≈", "includes 0"
        else:
            more = one.first if one.difference > 0 else one.second
            kind, sign, means = "clear", "▲" if one.difference > 0 else "▼", f"higher for {more}"
    return SignedDifference(kind, sign, means, spaced(one.metric), one.says)


def by_document(beside: RunComparison) -> tuple[HtmlTable, ...]:
    """Return a table per metric, with the scores of the contestants on each document."""
    return tuple(
        HtmlTable(
            ("document", "flipped", *(f"{contestant.letter}: {spaced(metric)}" for contestant in beside.contestants)),
            tuple(_rows(beside, metric)),
        )
        for metric in metrics(beside)
    )


def _rows(beside: RunComparison, metric: str) -> Iterator[tuple[str | int | float | None, ...]]:
    for document in beside.documents:
        runs = [run for run in beside.runs if run.document == document.id]
        flipped = sum(item.standing == "flipped" and item.metric == metric for item in document.items)
        told: list[float | None] = []
        for contestant in beside.contestants:
            found = [
                score.score
                for run in runs
                if run.contestant == contestant.letter
                for score in run.scores
                if score.metric == metric and score.score is not None
            ]
            told.append(fmean(found) if found else None)
        yield (document.title, flipped, *told)


class Fifths(NamedTuple):
    """The differences of two contestants by one measure, by fifth of the document."""

    title: str
    rows: HtmlTable


def by_fifth(beside: RunComparison) -> tuple[Fifths, ...]:
    """Return a table per pair and measure, with the values in each fifth and their difference."""
    fifths = []
    for first, second, measure in dict.fromkeys(
        (difference.first, difference.second, difference.measure) for difference in beside.fifths
    ):
        rows = tuple(
            (
                _fifth(difference),
                *difference.values,
                f"{signed(difference.difference)}{between(difference.interval)}",
                count(difference.pairs, "summary" if difference.over == "summaries" else difference.over[:-1]),
            )
            for difference in beside.fifths
            if (difference.first, difference.second, difference.measure) == (first, second, measure)
        )
        head = ("part of the document", first, second, f"{first} minus {second}", "over")
        fifths.append(Fifths(f"{measure_label(measure)}: {first} and {second}", HtmlTable(head, rows)))
    return tuple(fifths)


def measure_label(measure: str) -> str:
    """Return the label of a measure of a part of the document."""
    if measure == SHARE:
        return "share of the summary taken from this part"
    return f"{spaced(measure)} of the items in this part"


# With more pairs than this, tables are clearer than pictures.
_MAX_PAIRS = 6


def pictures(beside: RunComparison) -> dict[str, list[Markup]]:
    """Return the drawings by part of the page."""
    return {"scores": list(_of_scores(beside)), "places": list(_of_places(beside))}


def _names(beside: RunComparison) -> dict[str, str]:
    return {contestant.letter: f"{contestant.letter}: {contestant.label}" for contestant in beside.contestants}


def _of_scores(beside: RunComparison) -> Iterator[Markup]:
    rows: dict[tuple[str, str], list[Difference]] = {}
    for found in beside.differences:
        if found.interval is not None and found.difference is not None:
            row = Difference(spaced(found.metric), found.difference, found.interval.low, found.interval.high)
            rows.setdefault((found.first, found.second), []).append(row)
    for (first, second), own in list(rows.items())[:_MAX_PAIRS]:
        yield differences_drawing(f"Paired differences, {first} minus {second}", (first, second), own)


def _of_places(beside: RunComparison) -> Iterator[Markup]:
    placed = {run.name: run.positions for run in beside.runs if run.positions}
    names = _names(beside)
    if len(beside.documents) == 1 and placed:
        yield density({names[name]: positions.density for name, positions in placed.items()})
        thirds = {names[name]: positions.thirds for name, positions in placed.items()}
        yield parts_of(thirds, THIRDS, "third of the document")
    elif placed:
        fifths = {names[contestant.letter]: contestant.fifths for contestant in beside.contestants if contestant.fifths}
        yield parts_of(fifths, [f"{20 * at} to {20 * at + 20}%" for at in range(5)], "fifth of their documents")
        yield from _fifths(beside)


def _fifths(beside: RunComparison) -> Iterator[Markup]:
    rows: dict[tuple[str, str, str], list[Difference]] = {}
    for found in beside.fifths:
        if found.interval is not None and found.difference is not None:
            row = Difference(_fifth(found), found.difference, found.interval.low, found.interval.high)
            rows.setdefault((found.first, found.second, found.measure), []).append(row)
    for (first, second, measure), own in list(rows.items())[: 2 * _MAX_PAIRS]:
        title = f"{capitalized(measure_label(measure))}, {first} minus {second}"
        yield differences_drawing(title, (first, second), own)


def _fifth(one: FifthDifference) -> str:
    return f"{20 * (one.fifth - 1)} to {20 * one.fifth}%"


STYLES = ("plots.css", "base.css", "comparison.css")
SCRIPT = "comparison.js"
_HALF = 0.5
_GROUPS: dict[Standing, str] = {
    "flipped": "Flipped: some have it, some do not",
    "changed": "In all or in none, with different verdicts",
    "open": "Not judged in every run (not counted)",
    "same": "The same in all runs",
}


def comparison_page(beside: RunComparison) -> str:
    """Return the page as a standalone file, with its styles and its script."""
    return template("comparison.html").render(**view(beside), assets=assets(STYLES, SCRIPT))


def view(beside: RunComparison) -> dict[str, Any]:
    """Return the variables for the templates of a comparison."""
    runs = {run.name: run for run in beside.runs}
    several = len(beside.documents) > 1
    return {
        "sheets": STYLES,
        "c": beside,
        "several": several,
        "line": _line(beside),
        "documents": tuple(_documents(beside, runs)),
        "metrics": tuple(dict.fromkeys(item.metric for document in beside.documents for item in document.items)),
        "flips": sum(item.standing == "flipped" for document in beside.documents for item in document.items),
        "items": sum(len(document.items) for document in beside.documents),
        "used": used(beside),
        "scores": scores(beside),
        "differences": differences(beside),
        "by_document": by_document(beside) if several else (),
        "by_fifth": by_fifth(beside),
        "pictures": pictures(beside),
        "had": had,
        "in_language": in_language,
        "of_document": in_language("" if several else beside.documents[0].language),
        "summary_languages": {run.name: run.language for run in beside.runs},
        "labels": {contestant.letter: contestant.label for contestant in beside.contestants},
    }


class ItemPresence(NamedTuple):
    """Whether a summary has an item: as a class, a sign and a word."""

    kind: str
    sign: str
    word: str


def had(verdict: RunVerdict) -> ItemPresence:
    """Return the verdict on an item in a run, in a form that does not depend on colour."""
    if not verdict.verdict:
        return ItemPresence("none", "·", "not asked")
    word = verdict.verdict.replace("_", " ")
    if verdict.value is None:
        return ItemPresence("none", "–", "no verdict")
    if verdict.verdict == "contradicted":
        return ItemPresence("odd", "!", word)
    if 0 < verdict.value < 1:
        return ItemPresence("odd", "±", f"{word}, {score(verdict.value)}")
    return ItemPresence("yes", "✓", word) if verdict.value >= _HALF else ItemPresence("no", "✗", word)


class ShownDocument(NamedTuple):
    """A document as the page shows it."""

    document: ComparedDocument
    runs: tuple[ComparedRun, ...]
    groups: tuple[tuple[Standing, str, tuple[ComparedItem, ...]], ...]


def _documents(beside: RunComparison, runs: dict[str, ComparedRun]) -> Iterator[ShownDocument]:
    for document in beside.documents:
        of_standing = {name: tuple(item for item in document.items if item.standing == name) for name in _GROUPS}
        groups = tuple((name, title, of_standing[name]) for name, title in _GROUPS.items())
        yield ShownDocument(
            document, tuple(runs[name] for name in document.runs), tuple(group for group in groups if group[2])
        )


def _line(beside: RunComparison) -> str:
    runs = count(len(beside.runs), "run")
    if len(beside.documents) > 1:
        return f"{runs} on {count(len(beside.documents), 'document')}"
    return f"{runs} on one document of {count(beside.documents[0].words, 'word')}"
