"""The chunk-size experiment: judges mark chunks of several sizes (HAMLET, appendix)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from operator import attrgetter
from random import Random

from redraft.agents.accounts import gather_all
from redraft.agents.judge import Judge
from redraft.domain import Chunk, Document, Totals, computed, record_json
from redraft.errors import BudgetError, Set, UsageError
from redraft.evaluators.reference.keyfacts import ALL
from redraft.events import StageStarted
from redraft.lab.experiments.experiment import AGAIN, Experiment, Row, distinct, group_by, sum_fields, table, where
from redraft.lab.experiments.plan import JudgesDesign, check_models
from redraft.lab.experiments.runner import (
    GuardedStage,
    RunBatch,
    by_status,
    failure_cells,
    open_part,
    run_certificate,
    status_of,
)
from redraft.prompts.factual import JUDGE_CHUNK, ChunkRating, JudgeChunkInput
from redraft.report.history.certificates import Certificate
from redraft.report.tables import Table, figure, mean, plain, unmarked
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import with_addresses
from redraft.runs.prepare import PreparedDocument, RunSpec, prepare
from redraft.settings import DraftConfig, ExperimentPart, JudgeConfig
from redraft.text.words import has_words

SIZES = (1024, 2048, 4096, 8192)
"""The sizes of the paper, in tokens."""
MARKING = "marking"
# Tokens of a reply with the marks of a chunk.
_MARKS_TOKENS = 150
_MARKS, _VERSION = "chunk_marks", 1
CHUNK_SIZE = "chunk-size"
"""The experiment's name in its runs, and the command that repeats it."""
# Tokens besides the chunk: the rest of the prompt, the schema of the reply, and the reply.
_BESIDE = 1536


@dataclass(frozen=True, slots=True)
class ChunkSizeDesign(JudgesDesign):
    """The sizes to compare, the number of chunks and the judges."""

    sizes: tuple[int, ...] = SIZES
    sample: int = 100
    """The maximum number of chunks of each size, over all documents."""
    seed: int = 0

    def settings(self, size: int) -> DraftConfig:
        """Return the settings for making and marking chunks of one size."""
        first, place = self.judges[0], {"model", "base_url", "key_env", "price"}
        own = self.own[first].model_dump(include=place) if first in self.own else {}
        return self.judge_settings(first, self.window, chunk_tokens=size, **own)

    def judge_temperature(self, judge: str) -> float | None:
        """Return a judge's temperature: its own, or else that of the command."""
        return self.own[judge].temperature if judge in self.own else self.temperature

    @property
    def window(self) -> int:
        """The window that the largest chunk needs."""
        return 1024 * ceil((max(self.sizes) + _BESIDE) / 1024)

    def order(self) -> RunSpec:
        """Return the spec of a run that marks chunks."""
        judging = with_addresses(JudgeConfig(judges=self.judges, models=dict(self.own)), self.settings(self.sizes[0]))
        return RunSpec(ExperimentPart(kind=CHUNK_SIZE, judging=judging), prompts=(JUDGE_CHUNK,))


@dataclass(frozen=True, slots=True)
class MarkedChunk:
    """One chunk before one judge. It has neither marks nor a failure if the budget ran out first."""

    document: str
    title: str
    size: int
    chunk: int
    tokens: int
    judge: str
    run: str
    marks: ChunkRating | None = None
    failure: Failure | None = None

    @computed
    def status(self) -> str:
        """The status: `done`, `failed` or `not made`."""
        return status_of(self.failure, done=self.marks is not None)


@dataclass(frozen=True, slots=True)
class ChunkSizeOutcome:
    """The outcome of the experiment."""

    design: ChunkSizeDesign
    documents: tuple[Document, ...]
    marked: tuple[MarkedChunk, ...]
    usage: tuple[tuple[int, Totals], ...]
    """The usage of each run, with its chunk size."""
    stopped: BudgetError | None = None
    certificates: tuple[Certificate, ...] = ()
    """The certificate for the marks of each judge that was called."""

    @property
    def complete(self) -> bool:
        """True if every judge marked every chunk."""
        return self.stopped is None and all(chunk.marks is not None for chunk in self.marked)


@dataclass(frozen=True, slots=True)
class ChunkSample:
    """The sampled chunks of one size of one document."""

    size: int
    prepared: PreparedDocument
    chunks: tuple[Chunk, ...]


async def chunk_sizes(
    documents: Sequence[Document], design: ChunkSizeDesign, runner: ExperimentRunner
) -> ChunkSizeOutcome:
    """Have all sampled chunks marked within the limits. A failure is recorded and does not stop the rest."""
    if design.context_tokens is not None and design.context_tokens < design.window:
        raise UsageError(
            f"chunks of {max(design.sizes):,} tokens need a larger window than {design.context_tokens:,} tokens",
            fix=("use ", Set("context_tokens", design.window), ", or leave it out; or use smaller ", Set("sizes")),
        )
    runner.share_budget("chunk-size", repr(design), *(document.id for document in documents))
    order = design.order()
    batches = await asyncio.to_thread(sample_chunks, documents, design)
    for batch in batches:
        runner.note_token_counts(batch.prepared)
        check_models(runner, (batch.prepared.settings, order.judging))
        await runner.open_own_run(batch.prepared.document, batch.prepared.settings, order)
    runner.observer(StageStarted("chunks", len(design.judges) * sum(len(batch.chunks) for batch in batches)))
    runs = RunBatch(runner, len(batches))

    async def marked(batch: ChunkSample) -> tuple[list[MarkedChunk], Totals]:
        done, run = await _marked(batch, order, design, runner)
        runs.report_progress(f"{batch.prepared.document.title}, chunks of {batch.size} tokens")
        return done, runner.store.calls.totals(run)

    done = await gather_all(marked(batch) for batch in batches)
    usage = tuple((batch.size, totals) for batch, (_, totals) in zip(batches, done, strict=True))
    chunks = tuple(chunk for marked_chunks, _ in done for chunk in marked_chunks)
    behind = await asyncio.to_thread(_certificates, chunks, design, runner)
    return ChunkSizeOutcome(design, tuple(documents), chunks, usage, runner.stopped, behind)


def _certificates(
    marked: Sequence[MarkedChunk], design: ChunkSizeDesign, runner: ExperimentRunner
) -> tuple[Certificate, ...]:
    """Return a certificate for the marks of each judge; all runs have the same judges and prompts."""
    certificates: list[Certificate] = []
    for judge in design.judges:
        chunks = [chunk for chunk in marked if chunk.judge == judge and (chunk.marks or chunk.failure)]
        if chunks:
            run = runner.store.runs.get(chunks[0].run)
            assert run.judging is not None
            alone = run.judging.model_copy(update={"judges": (judge,)})
            done = sum(chunk.marks is not None for chunk in chunks)
            run = replace(run, purpose=run.purpose.model_copy(update={"judging": alone}))
            certificates.append(run_certificate(runner, run, _MARKS, _VERSION, done, len(chunks) - done))
    return tuple(certificates)


def sample_chunks(documents: Sequence[Document], design: ChunkSizeDesign) -> list[ChunkSample]:
    """Return the sampled chunks: for each size a random sample over all documents, the same for the same seed."""
    batches: list[ChunkSample] = []
    for size in design.sizes:
        prepared = [prepare(document, design.settings(size)) for document in documents]
        pool = [(number, chunk) for number, one in enumerate(prepared) for chunk in _whole(one, size)]
        chosen = sorted(Random(f"{design.seed} {size}").sample(range(len(pool)), min(design.sample, len(pool))))
        for number, prepared_document in enumerate(prepared):
            if chunks := tuple(pool[at][1] for at in chosen if pool[at][0] == number):
                batches.append(ChunkSample(size, prepared_document, chunks))
    return batches


def _whole(prepared: PreparedDocument, size: int) -> list[Chunk]:
    """Return the chunks that have words, without those shorter than half a chunk unless there is only one."""
    text = prepared.document.text
    worded = [chunk for chunk in prepared.chunks if has_words(text[chunk.span.start : chunk.span.end])]
    return [chunk for chunk in worded if 2 * chunk.tokens >= size or len(worded) == 1]


async def _marked(
    batch: ChunkSample, order: RunSpec, design: ChunkSizeDesign, runner: ExperimentRunner
) -> tuple[list[MarkedChunk], str]:
    run = await runner.open_run(batch.prepared, order)
    chunks: list[MarkedChunk] = []
    step = f"chunks of {batch.size} tokens"
    # When the budget ends, keep what has been done.
    with suppress(BudgetError):
        async with open_part(run, batch.prepared, order.judging, runner, step) as pool:
            judges = {
                name: Judge(model.model, model.book, runner.store.judgments, temperature=design.judge_temperature(name))
                for name, model in zip(design.judges, pool.judges, strict=True)
            }
            chunks = await gather_all(
                _mark(batch, chunk, name, judge, run.id, runner)
                for chunk in batch.chunks
                for name, judge in judges.items()
            )
            if runner.stopped is not None and any(marked_chunk.marks is None for marked_chunk in chunks):
                raise runner.stopped
    return chunks, run.id


async def _mark(
    batch: ChunkSample, chunk: Chunk, by: str, judge: Judge, run: str, runner: ExperimentRunner
) -> MarkedChunk:
    document, marks = batch.prepared.document, None
    name = f"chunk {chunk.index + 1}/{len(batch.prepared.chunks)} of {batch.size} tokens"
    with GuardedStage(MARKING, runner) as stage:
        excerpt = JudgeChunkInput(excerpt=document.text[chunk.span.start : chunk.span.end])
        marks = (await judge.ask(JUDGE_CHUNK, excerpt, _MARKS_TOKENS, name)).value
    head = (document.id, document.title, batch.size, chunk.index, chunk.tokens, by, run)
    return MarkedChunk(*head, marks, stage.failure)


_DIMENSIONS = ("validity", "coherence", "cross_content", "major_facts", "connections")
"""What chunks are marked on; the last two are counts."""
_MARKS_OF_TABLES = tuple(name.replace("_", " ") for name in _DIMENSIONS)
_MAX_SIZES = 8


def _basis(outcome: ChunkSizeOutcome) -> str:
    status = [chunk.status for chunk in outcome.marked]
    return (
        f"Based on {status.count('done')} of {len(status)} items (one chunk and one judge each);"
        f" {status.count('failed')} failed. A judge gives a chunk all marks or none."
    )


@table(
    "chunk_sizes",
    "Marks by chunk size (HAMLET, table 9)",
    "Mean marks (1 to 5) over chunks, and mean numbers of facts and connections counted; with several judges, the"
    " mean of their means per chunk. A document's last chunk is left out if it is less than half the size.",
    ("size", "judge", *_MARKS_OF_TABLES, "tokens", "chunks", "of", "failed"),
    _basis,
)
def mark_table(outcome: ChunkSizeOutcome) -> Iterator[Row]:
    judges = {judge: judge for judge in distinct(outcome.marked, "judge")}
    for size in outcome.design.sizes:
        for name, judge in (judges | ({"all judges": ALL} if len(judges) > 1 else {})).items():
            chunks = where(outcome.marked, size=size, judge=judge)
            yield (size, name, *_means(chunks), *_rests(chunks))


def _means(marked: Sequence[MarkedChunk]) -> list[float | None]:
    """Return the mean of each mark over chunks; with several judges, each chunk counts with their mean."""
    chunks = group_by(sorted(marked, key=attrgetter("document", "chunk")), "document", "chunk").values()
    known = [marks for marked_chunks in chunks if (marks := [chunk.marks for chunk in marked_chunks if chunk.marks])]
    return [mean([mean([getattr(rating, name) for rating in marks]) for marks in known]) for name in _DIMENSIONS]


def _rests(marked: Sequence[MarkedChunk]) -> Row:
    """Return the mean tokens of the marked chunks, how many were marked, of how many, and the number of failures."""
    chunks = group_by(marked, "document", "chunk").values()
    known = sum(any(chunk.marks for chunk in marked_chunks) for marked_chunks in chunks)
    tokens = mean([chunk.tokens for chunk in marked if chunk.marks])
    return (tokens, known, len(chunks), sum(chunk.failure is not None for chunk in marked))


@table(
    "cost",
    "Cost",
    "By size, over all judges. Cached answers cost nothing; where a price is unknown, so is the cost.",
    ("size", "marked", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
    _basis,
)
def cost_table(outcome: ChunkSizeOutcome) -> Iterator[Row]:
    for size in outcome.design.sizes:
        marked = sum(chunk.marks is not None for chunk in where(outcome.marked, size=size))
        yield (size, marked, *sum_fields(totals for own, totals in outcome.usage if own == size))


@table("failures", "What failed", AGAIN, ("document", "size", "chunk", "judge", "code", "message"), _basis)
def failure_table(outcome: ChunkSizeOutcome) -> Iterator[Row]:
    for chunk in outcome.marked:
        if chunk.failure:
            yield (chunk.title, chunk.size, chunk.chunk, chunk.judge, *failure_cells(chunk.failure)[1:])


def _settings(outcome: ChunkSizeOutcome) -> Mapping[str, object]:
    return {
        **record_json(outcome.design),
        "documents": [{"id": document.id, "title": document.title} for document in outcome.documents],
        "certificates": [record_json(certificate) for certificate in outcome.certificates],
    }


def _counted(outcome: ChunkSizeOutcome) -> str:
    return f"items: {len(outcome.marked)} (chunks × judges): {by_status(outcome.marked)}"


def _headline(outcome: ChunkSizeOutcome, _: Sequence[Table]) -> Iterator[str]:
    for size in outcome.design.sizes[:_MAX_SIZES]:
        found = _means(where(outcome.marked, size=size))
        marks = zip(_MARKS_OF_TABLES, found, strict=True)
        yield f"{size:,} tokens: " + ", ".join(f"{name} {figure(mark, 2)}" for name, mark in marks)
    yield _counted(outcome)


def _about(outcome: ChunkSizeOutcome) -> Iterator[str]:
    design = outcome.design
    yield f"judges: {', '.join(plain(judge) for judge in design.judges)}"
    yield from (f"marks are by {unmarked(certificate.line())}" for certificate in outcome.certificates)
    yield f"documents: {', '.join(plain(document.title) for document in outcome.documents)}"
    yield f"chunks: at most {design.sample} of each size, chosen with seed {design.seed}"
    yield _counted(outcome)


EXPERIMENT: Experiment[ChunkSizeDesign, ChunkSizeOutcome] = Experiment(
    CHUNK_SIZE,
    "Chunk size for extracting key facts",
    run=chunk_sizes,
    is_some=lambda outcome: any(marked_chunk.marks for marked_chunk in outcome.marked),
    about=_about,
    settings=_settings,
    tables=lambda outcome: (mark_table(outcome), cost_table(outcome), failure_table(outcome)),
    items=lambda outcome: outcome.marked,
    headline=_headline,
)
