"""An active run, as the nodes of every graph see it: its texts, its models, and where results are stored."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

from redraft.agents.answerer import Answerer
from redraft.agents.arbiter import Arbiter
from redraft.agents.decider import Decider
from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge, wording_of
from redraft.agents.reviser import Reviser
from redraft.agents.structured_writer import StructuredWriter, spare_tokens
from redraft.agents.writer import Outliner, Writer
from redraft.builtin.facade import shortened
from redraft.domain import (
    GIVEN,
    Chunk,
    Completion,
    Document,
    Draft,
    Evaluation,
    Gap,
    Parent,
    ParentKind,
    Piece,
    Round,
    Span,
    Usage,
    widened,
)
from redraft.errors import (
    Advice,
    EmptyReply,
    IncompleteError,
    NoAnswerError,
    RedraftError,
    RejectedRequest,
    ReplyError,
    RunError,
    Set,
    TruncatedReasoning,
)
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import evaluators
from redraft.evaluators.coherence import Referee
from redraft.evaluators.panel import Panel
from redraft.events import Notice, Observer, PieceDone
from redraft.graphs.plan import LINES_BEFORE, Plan
from redraft.graphs.prepared import ModelPool, OpenModel, PreparedDocument
from redraft.settings import REFERENCES, JudgeConfig, RefineConfig, reads_prompts
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.table import ordered
from redraft.text.document_form import kind_by_form
from redraft.text.places import part_of
from redraft.text.sentences import last_sentences
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import Encoder
from redraft.text.words import count_words, is_unspaced

# Languages without spaces between words.
_UNSPACED = ("japanese", "chinese", "mandarin", "cantonese", "thai")


@dataclass(frozen=True)
class Job:
    """The open resources of a run; never part of a checkpoint, but opened by the first node in each process."""

    run: Run
    store: Store
    prepared: PreparedDocument
    pool: ModelPool
    observe: Observer
    encoder: Encoder | None = None
    """What the judges share, if embeddings are wanted."""
    own: Sequence[Evaluator] = ()
    """The metrics that were passed as objects."""
    attempt: int = 0
    """Incremented each time a finished run is continued."""
    failures: dict[str, RedraftError] = field(default_factory=dict)
    """The errors of metrics since the job was opened."""

    def __post_init__(self) -> None:
        # All that is read from the store or takes long to measure, which no node waits for. Without judges, nothing is
        # measured, which would take longer than the rest of the run.
        _ = self.writer, self.referees, (self.reviser, self.judges) if self.run.judging else ()
        _ = self.answerer if self.run.kind == "ask" else None

    def with_metrics(self, metrics: Sequence[str]) -> Self:
        """Return this with judges for other metrics, whether or not the run uses them."""
        judging = (self.run.judging or JudgeConfig()).model_copy(update={"metrics": tuple(metrics)})
        order = self.run.order.model_copy(update={"judging": judging})
        return replace(self, run=replace(self.run, order=order), failures={})

    @property
    def document(self) -> Document:
        """The document with its language."""
        return self.prepared.document

    @property
    def chunks(self) -> Sequence[Chunk]:
        """The chunks of the draft; with chapters, the chapters."""
        return self.prepared.chunks

    @property
    def plan(self) -> Plan:
        """The plan of the draft."""
        return self.prepared.plan

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the draft was planned with."""
        return self.prepared.tokenizer

    @cached_property
    def writer(self) -> Writer:
        """Writes summaries."""
        return Writer(self._structured_writer, query=self.run.settings.query, kind=kind_by_form(self.document.text))

    @cached_property
    def reviser(self) -> Reviser:
        """Revises drafts."""
        is_bare = self.refinement.feedback_name == "questions"
        return Reviser(self._structured_writer, self._reader, self.run.settings.query, is_bare)

    @cached_property
    def outliner(self) -> Outliner | None:
        """Outlines the document, if wanted; None where the writer reads no prompts."""
        worker, settings = self.pool.writer, self.run.settings
        if worker.settings.window is None:
            return None
        return Outliner(self._judge(worker), self.tokenizer, worker.settings.window, settings.language)

    @cached_property
    def judges(self) -> Panel:
        """The judges of a run that judges, with its metrics and pack. They continue with the pack and key facts that
        the run's first draft was judged by; a done run starts afresh with the current ones, and one that builds them
        names what it built."""
        run, judging = self.run, self.run.judging
        assert judging is not None, "only graphs that judge ask"
        builds = run.kind in REFERENCES.values()
        metrics = () if builds else evaluators(judging, self.encoder, self.own)
        sources: dict[str, object] = {}
        if run.status == "done":
            sources = {run.kind: None} if builds else {}
        else:
            rounds = self.store.rounds.of(run.id)
            first = rounds[0].draft if rounds else run.draft
            evaluations = self.store.judgments.of(first) if first else {}
            for evaluator in metrics:
                source = REFERENCES[evaluator.needs] if evaluator.needs else ""
                details = evaluations[evaluator.name].details if evaluator.name in evaluations else {}
                sources |= {source: details[source]} if source in details else {}
        *others, last = self.pool.judges
        turns, objectors = self._turns, others if judging.confirm else self.pool.judges
        return Panel(
            self.store,
            self._reader,
            tuple(self._judge(worker, turn) for worker in objectors for turn in turns),
            self._judge(self.pool.validator, turns[0]),
            judging.model_copy(update=sources),
            self.observe,
            self.outliner,
            metrics,
            run.settings.query,
            confirmer=self._judge(last, turns[0]) if judging.confirm else None,
        )

    @cached_property
    def referees(self) -> tuple[Referee, ...]:
        """Compare two summaries by every judge, or the drafts of a refinement by every language model."""
        run, pool = self.run, self.pool
        comparing = pool.judges if run.kind == "compare" else pool.readers if run.refinement else ()
        judges = [(self._judge(worker, turn), worker.settings) for worker in comparing for turn in self._turns]
        return tuple(Referee(judge, self.tokenizer, settings.window) for judge, settings in judges)

    @cached_property
    def arbiter(self) -> Arbiter | None:
        """Confirms findings, if a language model judges: the last of several, which has not written the questions."""
        if not self.pool.readers:
            return None
        last = self.pool.readers[-1]
        reader = replace(self._reader, window=last.settings.context_tokens)
        return Arbiter(self._judge(last, self._turns[-1]), reader)

    @cached_property
    def decider(self) -> Decider:
        """Decides what to fix, where the policy leaves that to a model."""
        worker = self.pool.decider
        return Decider(self._judge(worker), replace(self._reader, window=worker.settings.context_tokens))

    @cached_property
    def answerer(self) -> Answerer:
        """Answers the question of a run that asks one, and reads as much of the document as an answer takes."""
        settings = self.run.settings
        reader = replace(self._reader, window=settings.context_tokens, reading="auto")
        return Answerer(self._judge(self.pool.writer), reader, settings.language, settings.earlier)

    @cached_property
    def _structured_writer(self) -> StructuredWriter:
        settings, prepared, text = self.run.settings, self.prepared, self.document.text
        # The length is counted in characters by the summary's language, or else the document's.
        language = (settings.language or "").casefold()
        in_characters = any(name in language for name in _UNSPACED) if settings.language else is_unspaced(text)

        return StructuredWriter(
            self.pool.writer.model,
            self.plan.tokens_per_word,
            settings.temperature,
            settings.sample,
            # The extractive model has no window.
            partial(spare_tokens, settings.context_tokens, prepared.tokenizer, prepared.book)
            if reads_prompts(settings.model)
            else None,
            settings.language,
            in_characters,
            partial(prepared.book.render, is_bare=True),
            count=prepared.tokenizer.count,
        )

    @cached_property
    def _judging_tokenizer(self) -> Tokenizer:
        """The tokenizer of the first judge that reads prompts. What is asked about a document must not depend on who
        writes its summary."""
        tokenizer = self.pool.readers[0].tokenizer if self.pool.readers else self.tokenizer
        return self.tokenizer if tokenizer.name == self.tokenizer.name else tokenizer

    @cached_property
    def _reader(self) -> EvidenceReader:
        """Reads the document for the run's judges."""
        settings = [worker.settings for worker in (*self.pool.judges, self.pool.validator)]
        reading = (self.run.judging or JudgeConfig()).evidence
        return self.prepared.reader(settings, self._judging_tokenizer, self.encoder, reading)

    @property
    def _turns(self) -> range:
        """The sample numbers of each judge: one per repetition, shifted for another attempt."""
        repeat = (self.run.judging or JudgeConfig()).repeat
        first = self.run.settings.sample * repeat
        return range(first, first + repeat)

    def _judge(self, worker: OpenModel, sample: int | None = None) -> Judge:
        """Return a model as a judge, by default with the sample of the run."""
        wording = wording_of(self.document.text, self._judging_tokenizer)
        return worker.judge(self.store.verdicts, self.run.document, wording, sample, self.attempt)

    @property
    def refinement(self) -> RefineConfig:
        """Return the refinement settings; the defaults for a run that only judges."""
        aims = self.judges.aims if self.run.judging else {}
        return self.run.refinement or RefineConfig(goals={name: 1.0 for name, aim in aims.items() if aim})

    @property
    def revision_words(self) -> int | None:
        """Return the word limit of revisions; None if they may be as long as they need."""
        return None if self.refinement.free_length else self.plan.words

    def excerpt(self, chunk: Chunk) -> str:
        """Return the text of a chunk."""
        return self.document.text[chunk.span.start : chunk.span.end]

    def place(self, chunk: Chunk) -> str:
        """Return the position of a chunk in the document, for a model that reads nothing else of it."""
        return part_of(self.document, chunk.span, chunk.index + 1, len(self.chunks))

    def before(self, chunk: Chunk) -> str:
        """Return the last lines before a chunk, as many as fit the plan."""
        begin = max((mark.start for mark in self.document.members if mark.start <= chunk.span.start), default=0)
        word_limit = min(LINES_BEFORE, int(self.plan.lead_tokens / self.plan.tokens_per_word))
        return last_sentences(self.document.text, Span(max(begin, self.read.start), chunk.span.start), word_limit)

    def part(self, chunk: Chunk) -> Parent:
        """Return a chunk as a parent of a text."""
        return Parent("excerpt", self.document.id, chunk.span)

    @property
    def read(self) -> Span:
        """Return the span to read: the document or its beginning, without its front and back matter."""
        return Span(self.chunks[0].span.start, self.chunks[-1].span.end)

    def whole(self) -> Parent:
        """Return the whole span to read as a parent of a text."""
        return Parent("excerpt", self.document.id, self.read)

    async def piece(
        self,
        written: Completion,
        level: int,
        index: int,
        chunks: tuple[int, int],
        limit: int,
        parents: Sequence[Parent | Piece] = (),
        step: int = 0,
    ) -> Piece:
        """Store a partial summary of the chunks from first to last, and report its flaws; `parents` are the texts in
        its prompt."""
        first, last = chunks
        place = {"level": level, "index": index, "first_chunk": first, "last_chunk": last, "step": step}
        piece = widened(Piece, written, **place, tokens=self.tokenizer.count(written.text), limit=limit)
        await off_loop(self.store.runs.add_piece, self.run.id, piece, [_parent(parent) for parent in parents])
        self.observe(widened(PieceDone, piece))
        if written.flaw:
            what = f"level {level}, summary {index + 1}: kept the best of {written.attempts} tries"
            self.observe(Notice(f"{what} ({written.flaw})"))
        return piece

    def is_too_long(self, piece: Piece) -> bool:
        """Return whether a text exceeds what the whole summary may have."""
        cap = self.run.settings.token_cap(self.plan.words)
        return piece.tokens > cap if cap else piece.words > self.plan.words

    async def completion(self, chunk: int, writing: Awaitable[Completion], place: str) -> Completion | None:
        """Return what is written for a chunk; None where that cannot be used, which is recorded."""
        try:
            completion = await writing
            if not completion.text:
                raise EmptyReply("every reply was empty", text="", usage=Usage(), place=place)
        except (ReplyError, RejectedRequest) as error:
            await self.gap(chunk, error)
            return None
        await self.close_gap(chunk)
        return completion

    async def gap(self, chunk: int, error: RedraftError) -> None:
        """Record a chunk, or a chapter, that cannot be summarized."""
        await off_loop(self.store.runs.gaps.put, Gap(chunk, error.code, error.message), run=self.run.id)
        what = "chapter" if self.run.settings.by_chapter else "chunk"
        self.observe(Notice(f"{what} {chunk + 1} of {len(self.chunks)} is left out: {error.message}"))

    async def close_gap(self, chunk: int) -> None:
        """Delete the gap of a chunk that has been summarized since."""
        if any(gap.chunk == chunk for gap in await off_loop(self.store.runs.gaps.of, self.run.id)):
            await off_loop(self.store.runs.gaps.delete, run=self.run.id, key=ordered(chunk))

    async def nothing_written(self) -> IncompleteError:
        """Return the error of a run in which no chunk yielded a summary."""
        gaps, count = await off_loop(self.store.runs.gaps.of, self.run.id), len(self.chunks)
        reasons = "; ".join(sorted({gap.reason for gap in gaps}))
        fix: Advice = ("try another ", Set("model"), ", or ", Set("prompts", "simple"), " for a weak one")
        if gaps and {gap.code for gap in gaps} == {TruncatedReasoning.code}:
            fix = ("give the model more room with ", Set("reasoning_tokens"), ", or turn its reasoning off")
        if not gaps:
            fix = ("rephrase ", Set("query"), " or leave it out; another ", Set("model"), " may find more")
            return NoAnswerError("nothing in the document helps to answer the question", fix=fix)
        if self.run.settings.query is None or len(gaps) == count:
            what = "the document" if count == 1 else f"none of the {count} chunks"
            return IncompleteError(f"{what} could {'not ' if count == 1 else ''}be summarized: {reasons}", fix=fix)
        what = f"{len(gaps)} of the {count} chunks could not be summarized, and the others do not help to answer"
        return IncompleteError(f"{what} the question: {reasons}", fix=fix)

    async def keep_text(self, text: str) -> str:
        """Store a text with the run; return its id."""
        return await off_loop(self.store.documents.add_text, text, self.run.id)

    async def as_parent(self, text: str, kind: ParentKind = "piece") -> Parent:
        """Return the partial summary with this text id as a parent of another text."""
        piece = await off_loop(self.store.runs.piece_of, self.run.id, text)
        assert piece is not None, "its text was written by a node before"
        return Parent.of_piece(piece, kind)

    async def text(self, key: str) -> str:
        """Return the text with this id."""
        return await off_loop(self.store.documents.text, key)

    async def keep(
        self,
        text: str,
        node: str,
        notes: tuple[str, ...] = (),
        parents: Sequence[Parent | Piece] = (),
        *,
        number: int | None = None,
    ) -> str:
        """Store a draft with its parents as the run's result, or as the draft of a round, which is not yet the result;
        return its id."""
        runs, of_text, is_result = self.store.runs, [_parent(parent) for parent in parents], number is None
        terms = (self.run.id, text, count_words(text), node, notes, number or 0)
        return await off_loop(runs.keep_draft, *terms, parents=of_text, is_result=is_result)

    async def keep_tidied(self, text: str, node: str, kind: ParentKind = "piece") -> str:
        """Store the partial summary with this text id as a draft, without the traces of the process; return its id."""
        completion = await self.writer.tidy(await self.text(text), "tidy")
        notes = (completion.flaw,) if completion.flaw else ()
        return await self.keep(completion.text, node, notes, [await self.as_parent(text, kind)])

    async def given_draft(self) -> str:
        """Return the summary that the run was begun with."""
        drafts = await off_loop(self.store.runs.drafts, self.run.id)
        draft_id = next((draft.id for draft in drafts if draft.node == GIVEN), None)
        if draft_id is None:
            raise RunError(f"the summary of run {self.run.id} was never stored", hint="start it again")
        return draft_id

    async def draft(self, key: str) -> Draft:
        """Return the draft with this id."""
        return await off_loop(self.store.runs.draft, key)

    async def keep_round(self, round_: Round) -> None:
        """Store a round; an accepted draft becomes the run's result."""
        await off_loop(self.store.rounds.put, round_, run=self.run.id)
        if round_.accepted:
            await off_loop(self.store.runs.change, self.run.id, {}, draft=round_.draft)

    async def rewind_to(self, number: int, best: str) -> None:
        """Delete the rounds after this one, if any, and choose `best`."""
        if await off_loop(self.store.rounds.cut, self.run.id, ordered(number + 1)):
            await off_loop(self.store.runs.change, self.run.id, {}, draft=best)

    async def judged(self, draft: str) -> dict[str, Evaluation]:
        """Return the evaluations of a draft, by metric."""
        return await off_loop(self.store.judgments.of, draft)


def _parent(parent: Parent | Piece) -> Parent:
    return Parent.of_piece(parent) if isinstance(parent, Piece) else parent


def best_so_far(pieces: Sequence[Piece], words: int) -> tuple[str, tuple[Piece, ...]] | None:
    """Return the summary of the highest pieces that together cover about as many chunks as there are summaries, and
    these pieces; None without any. If they exceed the limit, sentences are chosen."""
    chosen: list[Piece] = []
    covered: set[int] = set()
    for piece in sorted(pieces, key=lambda piece: (-piece.level, -piece.last_chunk, -piece.step)):
        chunks = set(range(piece.first_chunk, piece.last_chunk + 1))
        if not chunks & covered:
            chosen.append(piece)
            covered |= chunks
    if not chosen:
        return None
    cover = tuple(sorted(chosen, key=lambda piece: piece.first_chunk))
    texts = [piece.text for piece in cover]
    text = "\n\n".join(texts)
    if count_words(text) > words:
        text = shortened(texts, words)
    return text, cover
