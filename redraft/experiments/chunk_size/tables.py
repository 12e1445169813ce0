"""The tables of the experiment on the size of chunks: marks by size (HAMLET, table 9), cost, and failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from redraft.experiments.cells import number
from redraft.experiments.chunk_size.marking import Marked, SizeOutcome
from redraft.experiments.chunk_size.pictures import DIMENSIONS, MARKS
from redraft.reports.report import Report
from redraft.reports.tables import Cell, Table, figure, mean, plain, unmarked

_ALL_JUDGES = "all judges"
_MOST_SIZES = 8


def chunk_report(outcome: SizeOutcome) -> Report:
    """The report of the experiment."""
    design, marked = outcome.design, outcome.marked
    about = [
        f"judges: {', '.join(plain(judge) for judge in design.judges)}",
        *(f"marks are by {unmarked(one.line())}" for one in outcome.certificates),
        f"documents: {', '.join(plain(document.title) for document in outcome.documents)}",
        f"chunks: at most {design.sample} of each size, chosen with seed {design.seed}",
        _counted(marked),
    ]
    if outcome.stopped is not None:
        about.append(f"stopped: {plain(outcome.stopped.message)}; the same command with a higher limit goes on")
    return Report(
        "chunk-size",
        "How large a chunk has to be to draw key facts from it",
        tuple(about),
        {
            "judges": list(design.judges),
            "sizes": list(design.sizes),
            "sample": design.sample,
            "seed": design.seed,
            "documents": [{"id": document.id, "title": document.title} for document in outcome.documents],
            "certificates": [one.to_json() for one in outcome.certificates],
        },
        (_mark_table(outcome), _cost_table(outcome), _failure_table(outcome)),
        [one.to_json() for one in marked],
        tuple(_headline(outcome)),
    )


def _counted(marked: Sequence[Marked]) -> str:
    done = sum(one.marks is not None for one in marked)
    failed = sum(one.failure is not None for one in marked)
    return (
        f"items: {len(marked)} (chunks × judges): {done} done, {failed} failed, {len(marked) - done - failed} not made"
    )


def _headline(outcome: SizeOutcome) -> Iterator[str]:
    """The marks of each size, over all judges."""
    for size in outcome.design.sizes[:_MOST_SIZES]:
        found = _means([one for one in outcome.marked if one.size == size])
        marks = zip(MARKS, found, strict=False)
        yield f"{size:,} tokens: " + ", ".join(f"{name} {figure(number(mark))}" for name, mark in marks)
    yield _counted(outcome.marked)
    if outcome.stopped is not None:
        yield f"stopped: {plain(outcome.stopped.message)}"


def _mark_table(outcome: SizeOutcome) -> Table:
    judges = list(dict.fromkeys(one.judge for one in outcome.marked))
    rows: list[tuple[Cell, ...]] = []
    for size in outcome.design.sizes:
        own = [one for one in outcome.marked if one.size == size]
        rows += [(size, judge, *_means([one for one in own if one.judge == judge])) for judge in judges]
        if len(judges) > 1:
            rows.append((size, _ALL_JUDGES, *_means(own)))
    return Table(
        "chunk_sizes",
        "Marks of chunks by their size (HAMLET, table 9)",
        "Means of the marks from 1 to 5 over chunks, over several judges the mean of their means of each chunk, and of"
        " the facts and connections that they counted. The rest at a document's end is left out where it is less than"
        " half a chunk.",
        _basis(outcome),
        ("size", "judge", *MARKS, "tokens", "chunks", "of", "failed"),
        tuple(rows),
    )


def _means(marked: Sequence[Marked]) -> list[Cell]:
    """The means over chunks of the means over judges, and what they rest on."""
    ordered = sorted(marked, key=_place)
    chunks = [[one.marks for one in some if one.marks] for _, some in groupby(ordered, key=_place)]
    known = [marks for marks in chunks if marks]
    means: list[Cell] = [mean([mean([getattr(one, name) for one in marks]) for marks in known]) for name in DIMENSIONS]
    tokens = mean([one.tokens for one in marked if one.marks])
    return [*means, tokens, len(known), len(chunks), sum(one.failure is not None for one in marked)]


def _place(one: Marked) -> tuple[str, int]:
    return one.document, one.chunk


def _cost_table(outcome: SizeOutcome) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size in outcome.design.sizes:
        used = [one for own, one in outcome.usage if own == size]
        costs = [one.cost_usd for one in used]
        rows.append(
            (
                size,
                sum(one.size == size and one.marks is not None for one in outcome.marked),
                sum(one.calls for one in used),
                sum(one.cached for one in used),
                sum(one.prompt_tokens for one in used),
                sum(one.completion_tokens for one in used),
                None if None in costs else sum(cost or 0.0 for cost in costs),
            )
        )
    return Table(
        "cost",
        "What it took",
        "By size, over all judges. Answers from the cache cost nothing; where a price is not known, neither is the"
        " cost.",
        _basis(outcome),
        ("size", "marked", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
        tuple(rows),
    )


def _failure_table(outcome: SizeOutcome) -> Table:
    return Table(
        "failures",
        "What failed",
        "Repeat the command to try it again; what is done is not done again.",
        _basis(outcome),
        ("document", "size", "chunk", "judge", "code", "message"),
        tuple(
            (one.title, one.size, one.chunk, one.judge, one.failure.code, one.failure.message)
            for one in outcome.marked
            if one.failure
        ),
    )


def _basis(outcome: SizeOutcome) -> str:
    marked = outcome.marked
    done = sum(one.marks is not None for one in marked)
    failed = sum(one.failure is not None for one in marked)
    return (
        f"Rests on {done} of {len(marked)} items, one chunk before one judge each; {failed} failed. A judge marks a"
        " chunk in every respect or not at all, so that no verdict is open."
    )
