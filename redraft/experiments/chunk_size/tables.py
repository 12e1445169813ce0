"""The tables of the experiment on the size of chunks: marks by size (HAMLET, table 9), cost, failures; the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from redraft.experiments.chunk_size.marking import CHUNK_SIZE, Marked, SizeDesign, SizeOutcome, chunk_sizes
from redraft.experiments.chunk_size.planning import plan_table
from redraft.experiments.experiment import Experiment
from redraft.experiments.records import by_status, failed, json_of
from redraft.experiments.tables import AGAIN, Row, summed, table
from redraft.reports.tables import Table, figure, mean, plain, unmarked

_DIMENSIONS = ("validity", "coherence", "cross_content", "major_facts", "connections")
"""What chunks are marked in; the last two are counted."""
_MARKS = tuple(name.replace("_", " ") for name in _DIMENSIONS)
_MOST_SIZES = 8


def _basis(outcome: SizeOutcome) -> str:
    status = [one.status for one in outcome.marked]
    return (
        f"Rests on {status.count('done')} of {len(status)} items, one chunk before one judge each;"
        f" {status.count('failed')} failed. A judge marks a chunk in every respect or not at all, so that no verdict is"
        " open."
    )


@table(
    "chunk_sizes",
    "Marks of chunks by their size (HAMLET, table 9)",
    "Means of the marks from 1 to 5 over chunks, over several judges the mean of their means of each chunk, and of the"
    " facts and connections that they counted. The rest at a document's end is left out where it is less than half a"
    " chunk.",
    ("size", "judge", *_MARKS, "tokens", "chunks", "of", "failed"),
    _basis,
)
def mark_table(outcome: SizeOutcome) -> Iterator[Row]:
    """The marks of each size, by each judge and by all of them where there are several."""
    judges = list(dict.fromkeys(one.judge for one in outcome.marked))
    for size in outcome.design.sizes:
        own = [one for one in outcome.marked if one.size == size]
        for judge in judges:
            by_it = [one for one in own if one.judge == judge]
            yield (size, judge, *_means(by_it), *_rests(by_it))
        if len(judges) > 1:
            yield (size, "all judges", *_means(own), *_rests(own))


def _chunks(marked: Sequence[Marked]) -> list[list[Marked]]:
    ordered = sorted(marked, key=_place)
    return [list(some) for _, some in groupby(ordered, key=_place)]


def _place(one: Marked) -> tuple[str, int]:
    return one.document, one.chunk


def _means(marked: Sequence[Marked]) -> list[float | None]:
    """The means over chunks of the means over judges."""
    known = [marks for some in _chunks(marked) if (marks := [one.marks for one in some if one.marks])]
    return [mean([mean([getattr(one, name) for one in marks]) for marks in known]) for name in _DIMENSIONS]


def _rests(marked: Sequence[Marked]) -> Row:
    """The mean tokens of the chunks that were marked, how many these are, of how many, and what failed."""
    chunks = _chunks(marked)
    known = sum(any(one.marks for one in some) for some in chunks)
    tokens = mean([one.tokens for one in marked if one.marks])
    return (tokens, known, len(chunks), sum(one.failure is not None for one in marked))


@table(
    "cost",
    "What it took",
    "By size, over all judges. Answers from the cache cost nothing; where a price is not known, neither is the cost.",
    ("size", "marked", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
    _basis,
)
def cost_table(outcome: SizeOutcome) -> Iterator[Row]:
    """What each size took."""
    for size in outcome.design.sizes:
        marked = sum(one.size == size and one.marks is not None for one in outcome.marked)
        yield (size, marked, *summed(one for own, one in outcome.usage if own == size))


@table("failures", "What failed", AGAIN, ("document", "size", "chunk", "judge", "code", "message"), _basis)
def failure_table(outcome: SizeOutcome) -> Iterator[Row]:
    """What failed, and why."""
    for one in outcome.marked:
        if one.failure:
            yield (one.title, one.size, one.chunk, one.judge, *failed(one.failure)[1:])


def _settings(outcome: SizeOutcome) -> Mapping[str, object]:
    return {
        **json_of(outcome.design, "judges sizes sample seed"),
        "documents": [{"id": document.id, "title": document.title} for document in outcome.documents],
        "certificates": [one.to_json() for one in outcome.certificates],
    }


def _counted(outcome: SizeOutcome) -> str:
    return f"items: {len(outcome.marked)} (chunks × judges): {by_status(outcome.marked)}"


def _headline(outcome: SizeOutcome, _: Sequence[Table]) -> Iterator[str]:
    """The marks of each size, over all judges."""
    for size in outcome.design.sizes[:_MOST_SIZES]:
        found = _means([one for one in outcome.marked if one.size == size])
        marks = zip(_MARKS, found, strict=True)
        yield f"{size:,} tokens: " + ", ".join(f"{name} {figure(mark)}" for name, mark in marks)
    yield _counted(outcome)


def _about(outcome: SizeOutcome) -> Iterator[str]:
    design = outcome.design
    yield f"judges: {', '.join(plain(judge) for judge in design.judges)}"
    yield from (f"marks are by {unmarked(one.line())}" for one in outcome.certificates)
    yield f"documents: {', '.join(plain(document.title) for document in outcome.documents)}"
    yield f"chunks: at most {design.sample} of each size, chosen with seed {design.seed}"
    yield _counted(outcome)


EXPERIMENT: Experiment[SizeDesign, SizeOutcome] = Experiment(
    CHUNK_SIZE,
    "How large a chunk has to be to draw key facts from it",
    run=chunk_sizes,
    plan=plan_table,
    is_some=lambda outcome: any(one.marks for one in outcome.marked),
    about=_about,
    settings=_settings,
    tables=lambda outcome: (mark_table(outcome), cost_table(outcome), failure_table(outcome)),
    items=lambda outcome: [one.to_json() for one in outcome.marked],
    headline=_headline,
)
