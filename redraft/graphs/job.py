"""An active run, as the nodes of every graph see it: its texts, its models, and where results are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redraft.agents.answerer import Answerer
from redraft.agents.arbiter import Arbiter
from redraft.agents.decider import Decider
from redraft.agents.reviser import Reviser
from redraft.agents.structured_writer import Completion
from redraft.agents.writer import Outliner, Writer
from redraft.builtin.facade import shortened
from redraft.domain import (
    GIVEN,
    Chunk,
    Document,
    Draft,
    Evaluation,
    Gap,
    Parent,
    ParentKind,
    Piece,
    Round,
    Span,
    top_pieces,
    widened,
)
from redraft.errors import Advice, IncompleteError, NoAnswerError, RedraftError, RunError, Set, TruncatedReasoning
from redraft.evaluators.panel import Panel
from redraft.evaluators.preference import Referee
from redraft.events import Notice, Observer, PieceDone
from redraft.graphs.plan import LINES_BEFORE, Plan
from redraft.prompts.summarization import Outline
from redraft.settings import JudgeConfig, RefineConfig
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.table import ordered
from redraft.text.places import part_of
from redraft.text.sentences import last_sentences
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words


@dataclass(frozen=True, slots=True)
class Job:
    """The open resources of a run; never part of a checkpoint, but opened by the first node in each process."""

    run: Run
    store: Store
    document: Document
    chunks: Sequence[Chunk]
    plan: Plan
    tokenizer: Tokenizer
    observe: Observer
    writer: Writer
    reviser: Reviser
    panel_of: Callable[[JudgeConfig], Panel]
    """Returns the run's panel by other settings of judging."""
    outliner: Outliner | None = None
    """Outlines the document, if wanted."""
    panel: Panel | None = None
    decider: Decider | None = None
    """Decides what to fix, if the policy leaves that to a model."""
    arbiter: Arbiter | None = None
    """Confirms findings, if a language model judges."""
    referees: tuple[Referee, ...] = ()
    """Compare every new text with the best draft; language models only."""
    answerer: Answerer | None = None
    """Answers the question of a run that asks one."""
    failures: dict[str, RedraftError] = field(default_factory=dict)
    """The errors of metrics since the job was opened."""

    @property
    def refinement(self) -> RefineConfig:
        """Return the refinement settings; the defaults for a run that only judges."""
        aims = self.panel.aims if self.panel is not None else {}
        return self.run.refinement or RefineConfig(goals={name: 1.0 for name, aim in aims.items() if aim})

    @property
    def revision_words(self) -> int | None:
        """Return the word limit of revisions; None if they may be as long as they need."""
        return None if self.refinement.free_length else self.plan.words

    @property
    def judges(self) -> Panel:
        """Return the judges of the run."""
        assert self.panel is not None, "only graphs that judge ask"
        return self.panel

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

    async def outline(self) -> Outline | None:
        """Return the outline of the document, if there is or can be one."""
        if self.panel is not None:
            return await self.panel.reference.outline()
        return await self.outliner.known() if self.outliner else None

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
        piece = Piece(
            level=level,
            index=index,
            first_chunk=chunks[0],
            last_chunk=chunks[1],
            text=written.text,
            words=written.words,
            tokens=self.tokenizer.count(written.text),
            limit=limit,
            attempts=written.attempts,
            flaw=written.flaw,
            step=step,
        )
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
    """Return the summary of the highest pieces, choosing sentences if they exceed the limit, and these pieces; None
    without any."""
    cover = top_pieces(pieces)
    if not cover:
        return None
    texts = [piece.text for piece in cover]
    text = "\n\n".join(texts)
    if count_words(text) > words:
        text = shortened(texts, words)
    return text, cover
