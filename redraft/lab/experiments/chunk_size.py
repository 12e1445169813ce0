"""The chunk-size experiment: judges mark chunks of several sizes (HAMLET, appendix)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from random import Random

from redraft.agents.judge import Judge, gather_all
from redraft.domain import Chunk, Document
from redraft.errors import BudgetError, Set, UsageError
from redraft.evaluators.reference.keyfacts import ALL
from redraft.graphs.prepared import PreparedDocument
from redraft.lab.experiments.experiment import MAX_LINES, Experiment, JudgedPart, NamedFrame
from redraft.lab.experiments.frames import Frame, frame_of, groups, mean_of, summarize
from redraft.lab.experiments.orders import Asked, ChunkSizeOrder, NamedModel, Seats
from redraft.lab.experiments.runner import Cell, GuardedStage, Item, RunBatch, check_work
from redraft.order import ExperimentPart, Order, OrderParts
from redraft.prompts.factual import JUDGE_CHUNK, ChunkRating, ExcerptInput
from redraft.report.tables import Table, figure, number
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.runs.models import with_addresses
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig, JudgeConfig
from redraft.text.words import has_words

MARKING = "marking"
MARKS = ("validity", "coherence", "cross content", "major facts", "connections")
"""What chunks are marked on; the last two are counts."""
ALL_JUDGES = "all judges"
# Tokens of a reply with the marks of a chunk.
_MARKS_TOKENS = 150
# Tokens besides the chunk: the rest of the prompt, the schema of the reply, and the reply.
_BESIDE = 1536


@dataclass(frozen=True, slots=True)
class MarkedChunk(Item, made="marks"):
    """One chunk before one judge."""

    size: int
    chunk: int
    tokens: int
    judge: str
    marks: ChunkRating | None = None

    @property
    def label(self) -> str:
        """The chunk and its judge."""
        return f"chunk {self.chunk + 1} of {self.size} tokens by {self.judge}"


@dataclass(frozen=True, slots=True)
class SampledChunks(Cell):
    """The sampled chunks of one size of one document, before one judge."""

    size: int
    judge: NamedModel
    prepared: PreparedDocument
    chunks: tuple[Chunk, ...]
    order: Order


class ChunkSizeDesign(ChunkSizeOrder, Seats, Experiment[SampledChunks, MarkedChunk]):
    """Judges mark chunks of several sizes."""

    name = "chunk-size"
    title = "Chunk size for extracting key facts"
    item = "one chunk and one judge each"

    @classmethod
    def asked(cls, request: Asked) -> ChunkSizeDesign:
        """Return the design that was asked for."""
        if not request.judges:
            raise UsageError("no model judges", fix=("name one with ", Set("judges")))
        return cls(judges=request.judges, **request.fields(ChunkSizeOrder))

    def settings(self, judge: NamedModel, size: int) -> DraftConfig:
        """Return a judge's settings for marking chunks of one size."""
        has_own = "context_tokens" in judge.settings.model_fields_set
        window = {} if has_own else {"context_tokens": self.window}
        return self.keyed(judge.settings, strategy="given", chunk_tokens=size, **window)

    @property
    def window(self) -> int:
        """The window that the largest chunk needs."""
        return 1024 * ceil((max(self.chunk_sizes) + _BESIDE) / 1024)

    async def cells(self, documents: Sequence[Document], runner: ExperimentRunner) -> list[SampledChunks]:
        """Return for each size a random sample over all documents, always the same."""
        windows = [self.settings(judge, self.chunk_sizes[0]).context_tokens for judge in self.judges]
        if min(windows) < self.window:
            largest, smaller = max(self.chunk_sizes), (", or leave it out; or use smaller ", Set("chunk_sizes"))
            problem = f"chunks of {largest:,} tokens need a larger window than {min(windows):,} tokens"
            raise UsageError(problem, fix=("use ", Set("context_tokens", self.window), *smaller))
        cells = await asyncio.to_thread(self.sample_chunks, documents)
        for cell in cells:
            check_work(runner, (cell.prepared.settings, cell.order.judging))
            order = cell.order.model_copy(update={"settings": cell.prepared.settings})
            await runner.open_own_run(cell.prepared, order)
        return cells

    async def run_cell(self, cell: SampledChunks, batch: RunBatch) -> tuple[SampledChunks, list[MarkedChunk]]:
        """Have the chunks marked by the judge."""
        runner, judge, prepared = batch.runner, cell.judge, cell.prepared
        batch.of += 1
        of_cell = (cell.document.id, cell.document.title, cell.size)
        items = [MarkedChunk(*of_cell, chunk.index, chunk.tokens, judge.name) for chunk in cell.chunks]
        step = f"chunks of {cell.size} tokens"

        async def mark(item: MarkedChunk) -> MarkedChunk:
            chunk, marks = prepared.chunks[item.chunk], None
            name = f"chunk {item.chunk + 1}/{len(prepared.chunks)} of {cell.size} tokens"
            with GuardedStage(MARKING, runner) as stage:
                excerpt = ExcerptInput(excerpt=cell.document.text[chunk.span.start : chunk.span.end])
                marks = (await marker.ask(JUDGE_CHUNK, excerpt, _MARKS_TOKENS, name)).value
            return replace(item, marks=marks, failure=stage.failure, runs=cell.runs)

        # When the budget ends, keep what has been done.
        with suppress(BudgetError):
            async with batch.own_work(prepared, cell.order, step, cell.order.judging) as (run, _, pool):
                cell = replace(cell, runs={MARKING: run.id})
                asked, verdicts, temperature = pool.judges[0], runner.store.verdicts, judge.settings.temperature
                marker = Judge(asked.model, asked.book, verdicts, temperature=temperature)
                items = await gather_all(map(mark, items))
                if runner.stopped is not None and not all(item.marks for item in items):
                    raise runner.stopped
        batch.report_progress(f"{cell.document.title}, {step}, by {judge.name}")
        return cell, items

    def judged_parts(self, items: Sequence[MarkedChunk], cells: Sequence[SampledChunks]) -> Iterator[JudgedPart]:
        """Return the marks of each judge."""
        runs = {cell.judge.name: cell.runs[MARKING] for cell in reversed(cells) if cell.runs}
        for judge in [judge.name for judge in self.judges if judge.name in runs]:
            status = [item.status for item in items if item.judge == judge]
            counts = status.count("done"), status.count("failed")
            if any(counts):
                yield runs[judge], "chunk_marks", 1, *counts

    def frames(self, items: Sequence[MarkedChunk], _cells: Sequence[SampledChunks]) -> Iterator[NamedFrame]:
        """Yield the marks by size and judge (table 9)."""
        yield "chunk_sizes", size_frame(items, self.chunk_sizes)

    def headline(self, _items: Sequence[MarkedChunk], tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the mean marks of each size, over all judges."""
        sizes = {record["size"]: record for record in tables["chunk_sizes"].records}
        for size, record in list(sizes.items())[:MAX_LINES]:
            yield f"{size:,} tokens: " + ", ".join(f"{mark} {figure(number(record[mark]), 2)}" for mark in MARKS)

    def sample_chunks(self, documents: Sequence[Document]) -> list[SampledChunks]:
        """Return the sampled chunks, without those shorter than half a chunk unless a document has no other."""
        cells: list[SampledChunks] = []
        for size in self.chunk_sizes:
            prepared = [prepare(document, self.settings(self.judge, size)) for document in documents]
            pool: list[tuple[int, Chunk]] = []
            for index, document in enumerate(prepared):
                text = document.document.text
                worded = [chunk for chunk in document.chunks if has_words(text[chunk.span.start : chunk.span.end])]
                pool += [(index, chunk) for chunk in worded if 2 * chunk.tokens >= size or len(worded) == 1]
            chosen = sorted(Random(f"0 {size}").sample(range(len(pool)), min(self.sample_size, len(pool))))
            for judge, (index, document) in product(self.judges, enumerate(prepared)):
                if chunks := tuple(pool[place][1] for place in chosen if pool[place][0] == index):
                    # All judges mark the same chunks, which are measured as the first one reads.
                    own = replace(prepare(documents[index], self.settings(judge, size)), stored=document.chunks)
                    parts = OrderParts(settings=own.settings, judging=self.judging_by(JudgeConfig(), judge))
                    judging = with_addresses(parts).judging
                    order = ExperimentPart(kind=ChunkSizeDesign.name, judging=judging, prompts=(JUDGE_CHUNK,))
                    cells.append(SampledChunks(own.document, size, judge, own, chunks, order))
        return cells


def size_frame(items: Sequence[MarkedChunk], sizes: Sequence[int]) -> Frame:
    """Return the mean marks by size and judge; with several judges, each chunk counts with their mean."""
    frame = frame_of(
        {
            **{name: getattr(item, name) for name in ("document", "size", "chunk", "tokens", "judge", "status")},
            **{mark: item.marks and getattr(item.marks, mark.replace(" ", "_")) for mark in MARKS},
        }
        for item in items
    )

    def row(chosen: Frame) -> dict[str, object]:
        done = chosen[chosen["status"] == "done"]
        chunks = [group for _, group in groups(done, "document", "chunk")]
        means = {mark: mean_of(mean_of(group[mark]) for group in chunks) for mark in MARKS}
        counts = {"chunks": len(chunks), "of": len(chosen[["document", "chunk"]].drop_duplicates())}
        failed = int((chosen["status"] == "failed").sum())
        return {**means, "tokens": mean_of(done["tokens"]), **counts, "failed": failed}

    judges = list(frame["judge"].unique())
    table = summarize(frame, {"size": sizes, "judge": [*judges, *([ALL] if len(judges) > 1 else [])]}, row)
    return table.replace({"judge": {ALL: ALL_JUDGES}})


EXPERIMENT = ChunkSizeDesign
