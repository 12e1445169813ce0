"""The tables of a comparison, in words."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

from redraft.evaluators.metric_info import SELF_CHECK
from redraft.report.dossier.comparison.contents import ComparedRuns, Range, RunsBeside, ScoreDifference
from redraft.report.dossier.comparison.pairs import SEEN, SHARE
from redraft.report.pages.formatting import HtmlTable, many, score, spaced


def used(beside: RunsBeside) -> HtmlTable:
    """Who is compared, and what each took."""
    several = len(beside.documents) > 1
    runs = {run.name: run for run in beside.runs}
    rows = []
    for one in beside.contestants:
        first = runs[one.runs[0]]
        rows.append(
            (
                one.letter,
                one.label,
                many(len(one.runs), "run") if several else f"{first.run}, {first.created[:10]}",
                round(one.words),
                ", ".join(dict.fromkeys(judge for name in one.runs for judge in runs[name].judges)) or "–",
                money(one.cost_usd),
                round(one.tokens),
                round(one.seconds, 1),
            )
        )
    run = "runs" if several else "run"
    return HtmlTable(("", "contestant", run, "words", "judged by", "USD", "tokens", "seconds"), tuple(rows))


def money(value: float | None) -> str:
    """What something cost."""
    return "not known" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def metrics(beside: RunsBeside) -> tuple[str, ...]:
    """The metrics that contestants are compared by."""
    return tuple(dict.fromkeys(one.metric for contestant in beside.contestants for one in contestant.scores))


def scores(beside: RunsBeside) -> HtmlTable:
    """By metric the score of each contestant, with its interval and what that rests on."""
    rows = tuple(
        (spaced(metric), *(_score(beside, contestant, metric) for contestant in beside.contestants))
        for metric in metrics(beside)
    )
    return HtmlTable(("metric", *(one.letter for one in beside.contestants)), rows)


def _score(beside: RunsBeside, contestant: ComparedRuns, metric: str) -> str:
    found = next((one for one in contestant.scores if one.metric == metric), None)
    if found is None:
        return "–"
    told = f"{score(found.mean)}{between(found.interval)}"
    scored = [one for run in beside.runs if run.name in contestant.runs for one in run.scores]
    if any(one.self_check for one in scored if one.metric == metric):
        told += f" · {SELF_CHECK}"
    if len(beside.documents) > 1:
        return f"{told} · {many(found.documents, 'document')}"
    run = next(run for run in beside.runs if run.name == contestant.runs[0])
    one = next(one for one in run.scores if one.metric == metric)
    left = f", {one.unjudged:,} without a verdict" if one.unjudged else ""
    return f"{told} · {many(one.judged, 'item')}{left}"


def between(interval: Range | None) -> str:
    """An interval behind its figure."""
    return "" if interval is None else f" [{interval.low:.2f} to {interval.high:.2f}]".replace("-", "−")


def signed(value: float) -> str:
    """A difference with its sign."""
    return "0" if abs(value) < SEEN else f"{value:+.3f}".replace("-", "−")


class SignedDifference(NamedTuple):
    """A difference as a sign, what that means, and its sentence."""

    kind: str
    sign: str
    means: str
    metric: str
    says: str


class DifferenceTables(NamedTuple):
    """What two contestants differ by."""

    first: ComparedRuns
    second: ComparedRuns
    said: tuple[SignedDifference, ...]


def differences(beside: RunsBeside) -> tuple[DifferenceTables, ...]:
    """By pair of contestants."""
    by_letter = {one.letter: one for one in beside.contestants}
    pairs = dict.fromkeys((one.first, one.second) for one in beside.differences)
    return tuple(
        DifferenceTables(
            by_letter[first],
            by_letter[second],
            tuple(_said(one) for one in beside.differences if (one.first, one.second) == (first, second)),
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


def by_document(beside: RunsBeside) -> tuple[HtmlTable, ...]:
    """By metric a table of the documents, with the scores of the contestants on each."""
    return tuple(
        HtmlTable(
            ("document", "flipped", *(f"{one.letter}: {spaced(metric)}" for one in beside.contestants)),
            tuple(_rows(beside, metric)),
        )
        for metric in metrics(beside)
    )


def _rows(beside: RunsBeside, metric: str) -> Iterator[tuple[str | int | float | None, ...]]:
    for document in beside.documents:
        runs = [run for run in beside.runs if run.document == document.id]
        flipped = sum(item.standing == "flipped" and item.metric == metric for item in document.items)
        told: list[float | None] = []
        for one in beside.contestants:
            found = [
                each.score
                for run in runs
                if run.contestant == one.letter
                for each in run.scores
                if each.metric == metric and each.score is not None
            ]
            told.append(fmean(found) if found else None)
        yield (document.title, flipped, *told)


class Fifths(NamedTuple):
    """Where two contestants differ by one measure."""

    title: str
    rows: HtmlTable


def by_fifth(beside: RunsBeside) -> tuple[Fifths, ...]:
    """By pair and measure what each comes to in each fifth, and by how much they differ."""
    found = []
    for first, second, measure in dict.fromkeys((one.first, one.second, one.measure) for one in beside.fifths):
        rows = tuple(
            (
                f"{20 * (one.fifth - 1)} to {20 * one.fifth} %",
                *one.values,
                f"{signed(one.difference)}{between(one.interval)}",
                many(one.pairs, "summary" if one.over == "summaries" else one.over[:-1]),
            )
            for one in beside.fifths
            if (one.first, one.second, one.measure) == (first, second, measure)
        )
        head = ("part of the document", first, second, f"{first} minus {second}", "over")
        found.append(Fifths(f"{measure_said(measure)}: {first} beside {second}", HtmlTable(head, rows)))
    return tuple(found)


def measure_said(measure: str) -> str:
    """What a measure of a part of the document is called."""
    if measure == SHARE:
        return "share of the summary that comes from there"
    return f"{spaced(measure)} of what stands there"
