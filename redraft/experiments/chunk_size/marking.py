"""The experiment on the size of chunks: judges mark chunks of several sizes (HAMLET, appendix B)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import ceil
from random import Random

from redraft.agents.accounts import together
from redraft.agents.fact_checker import Factfinder
from redraft.agents.judge import Judge
from redraft.domain import Chunk, Document, Evaluation, Totals
from redraft.errors import BudgetError, UsageError
from redraft.events import StageStarted
from redraft.experiments.records import status_of
from redraft.experiments.seats import JudgesDesign, check_seats
from redraft.experiments.work import Attempt, RunBatch, part_at_work
from redraft.history.certificates import Certificate, certificate
from redraft.prompts.factual import JUDGE_CHUNK, ChunkMarks
from redraft.runs.experiment_runner import Bench, Failure
from redraft.runs.model_pool import located
from redraft.runs.prepare import Order, Prepared, prepare
from redraft.settings import Judging, Part, Settings
from redraft.text.words import count_words

SIZES = (1024, 2048, 4096, 8192)
"""The paper's."""
MARKING = "marking"
_MARKS, _VERSION = "chunk_marks", 1
CHUNK_SIZE = "chunk-size"
"""What its runs are for, and the command that repeats them."""
# What the prompt says beside the chunk, the schema of the reply, and the reply.
_BESIDE = 1536


@dataclass(frozen=True, slots=True)
class SizeDesign(JudgesDesign):
    """Which sizes are compared, on how many chunks, and by whom."""

    sizes: tuple[int, ...] = SIZES
    sample: int = 100
    """The most chunks of each size, over all documents."""
    seed: int = 0

    def settings(self, size: int) -> Settings:
        """How chunks of one size are made and marked."""
        first, place = self.judges[0], {"model", "base_url", "key_env", "price"}
        own = self.own[first].model_dump(include=place) if first in self.own else {}
        return self.reading(first, self.window, chunk_tokens=size, **own)

    def drawn(self, judge: str) -> float | None:
        """The temperature of a judge: its own, or else that of the command."""
        return self.own[judge].temperature if judge in self.own else self.temperature

    @property
    def window(self) -> int:
        """The window that the largest chunk needs."""
        return 1024 * ceil((max(self.sizes) + _BESIDE) / 1024)

    def order(self) -> Order:
        """The order to mark chunks."""
        judging = located(Judging(judges=self.judges, models=dict(self.own)), self.settings(self.sizes[0]))
        return Order(Part(kind=CHUNK_SIZE, judging=judging), prompts=(JUDGE_CHUNK,))


@dataclass(frozen=True, slots=True)
class Marked:
    """One chunk before one judge. Neither marks nor a failure: the budget was used up before."""

    document: str
    title: str
    size: int
    chunk: int
    tokens: int
    judge: str
    run: str
    marks: ChunkMarks | None = None
    failure: Failure | None = None

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        return status_of(self.failure, done=self.marks is not None)

    def to_json(self) -> dict[str, object]:
        """The record in `items.json`."""
        return {**asdict(self), "marks": self.marks.model_dump() if self.marks else None}


@dataclass(frozen=True, slots=True)
class SizeOutcome:
    """All that came of the experiment."""

    design: SizeDesign
    documents: tuple[Document, ...]
    marked: tuple[Marked, ...]
    usage: tuple[tuple[int, Totals], ...]
    """What each run used, with the size of its chunks."""
    stopped: BudgetError | None = None
    certificates: tuple[Certificate, ...] = ()
    """What stands behind the marks of each judge who was asked."""

    @property
    def complete(self) -> bool:
        """Whether every chunk was marked by every judge."""
        return self.stopped is None and all(one.marks is not None for one in self.marked)


@dataclass(frozen=True, slots=True)
class Batch:
    """The chosen chunks of one size of one document."""

    size: int
    prepared: Prepared
    chunks: tuple[Chunk, ...]


async def chunk_sizes(documents: Sequence[Document], design: SizeDesign, bench: Bench) -> SizeOutcome:
    """Have all chosen chunks marked, as far as the limits allow. What fails is recorded, and stops nothing else."""
    if design.context_tokens is not None and design.context_tokens < design.window:
        raise UsageError(
            f"chunks of {max(design.sizes):,} tokens need a larger window than {design.context_tokens:,} tokens",
            hint=f"use --context-tokens {design.window}, or leave it out; or use smaller --sizes",
        )
    bench.draw_on("chunk-size", repr(design), *(document.id for document in documents))
    order = design.order()
    batches = await asyncio.to_thread(batches_of, documents, design)
    for batch in batches:
        bench.note(batch.prepared)
        check_seats(bench, (batch.prepared.settings, order.judging))
        await bench.begun(batch.prepared.document, batch.prepared.settings, order)
    bench.observer(StageStarted("chunks", len(design.judges) * sum(len(batch.chunks) for batch in batches)))
    runs = RunBatch(bench, len(batches))

    async def marked(batch: Batch) -> tuple[list[Marked], Totals]:
        done, run = await _marked(batch, order, design, bench)
        runs.tell(f"{batch.prepared.document.title}, chunks of {batch.size} tokens")
        return done, bench.store.calls.totals(run)

    done = await together(marked(batch) for batch in batches)
    usage = tuple((batch.size, used) for batch, (_, used) in zip(batches, done, strict=True))
    found = tuple(one for some, _ in done for one in some)
    behind = await asyncio.to_thread(_certificates, found, design, bench)
    return SizeOutcome(design, tuple(documents), found, usage, bench.stopped, behind)


def _certificates(marked: Sequence[Marked], design: SizeDesign, bench: Bench) -> tuple[Certificate, ...]:
    """What stands behind the marks of each judge; of all runs the judges are the same, under the same prompts."""
    found: list[Certificate] = []
    for judge in design.judges:
        own = [one for one in marked if one.judge == judge and (one.marks or one.failure)]
        if own:
            run = bench.store.runs.get(own[0].run)
            assert run.judging is not None
            alone = run.judging.model_copy(update={"judges": (judge,)})
            done = sum(one.marks is not None for one in own)
            counts = Evaluation(_MARKS, _VERSION, "scored", None, done, len(own) - done)
            purpose = run.purpose.model_copy(update={"judging": alone})
            found.append(certificate(bench.store, replace(run, purpose=purpose), counts))
    return tuple(found)


def batches_of(documents: Sequence[Document], design: SizeDesign) -> list[Batch]:
    """The chosen chunks: of each size a random sample of the chunks of all documents, the same for the same seed."""
    batches: list[Batch] = []
    for size in design.sizes:
        prepared = [prepare(document, design.settings(size)) for document in documents]
        pool = [(number, chunk) for number, one in enumerate(prepared) for chunk in _whole(one, size)]
        chosen = sorted(Random(f"{design.seed} {size}").sample(range(len(pool)), min(design.sample, len(pool))))
        for number, one in enumerate(prepared):
            if own := tuple(pool[at][1] for at in chosen if pool[at][0] == number):
                batches.append(Batch(size, one, own))
    return batches


def _whole(prepared: Prepared, size: int) -> list[Chunk]:
    """The chunks with words, without the rest at the end where it is less than half a chunk."""
    text = prepared.document.text
    worded = [chunk for chunk in prepared.chunks if count_words(text[chunk.span.start : chunk.span.end])]
    return [chunk for chunk in worded if 2 * chunk.tokens >= size or len(worded) == 1]


async def _marked(batch: Batch, order: Order, design: SizeDesign, bench: Bench) -> tuple[list[Marked], str]:
    """The marks of a batch, in a run of its own."""
    run = await bench.opened(batch.prepared, order)
    done: list[Marked] = []
    # What there is when the budget ends, is there.
    with suppress(BudgetError):
        async with part_at_work(run, batch.prepared, order.judging, bench) as staff:
            judges = {
                name: Judge(one.model, one.book, bench.store.judgments, temperature=design.drawn(name))
                for name, one in zip(design.judges, staff.judges, strict=True)
            }
            done = await together(
                _mark(batch, chunk, name, judge, run.id, bench)
                for chunk in batch.chunks
                for name, judge in judges.items()
            )
            if bench.stopped is not None and any(one.marks is None for one in done):
                raise bench.stopped
    return done, run.id


async def _mark(batch: Batch, chunk: Chunk, by: str, judge: Judge, run: str, bench: Bench) -> Marked:
    document, marks = batch.prepared.document, None
    name = f"chunk {chunk.index + 1}/{len(batch.prepared.chunks)} of {batch.size} tokens"
    with Attempt(MARKING, bench) as tried:
        marks = await Factfinder(judge).mark(document.text[chunk.span.start : chunk.span.end], name)
    head = (document.id, document.title, batch.size, chunk.index, chunk.tokens, by, run)
    return Marked(*head, marks, tried.failure)
