"""A run at work, as the nodes of every graph see it: its texts, its models, and where results are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from redraft.agents.arbiter import Arbiter
from redraft.agents.decider import Decider
from redraft.agents.outliner import Outliner
from redraft.agents.referee import Referee
from redraft.agents.reviser import Reviser
from redraft.agents.structured_writer import Completion
from redraft.agents.writer import Writer
from redraft.builtin.facade import shortened
from redraft.domain import (
    GIVEN,
    REVISION_OF,
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
    highest,
)
from redraft.errors import CutThought, IncompleteError, NothingSaidError, RedraftError, RunError
from redraft.evaluators.panel import Panel
from redraft.events import Noted, Observer, PieceDone
from redraft.graphs.plan import LINES_BEFORE, Plan
from redraft.prompts.summarization import Outline
from redraft.settings import RefineConfig
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.places import part_of, starts_of
from redraft.text.sentences import last_sentences
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words


@dataclass(frozen=True, slots=True)
class Job:
    """Never part of a checkpoint: opened for a run when its first node needs it, in whichever process."""

    run: Run
    store: Store
    document: Document
    chunks: Sequence[Chunk]
    plan: Plan
    tokenizer: Tokenizer
    observe: Observer
    writer: Writer
    reviser: Reviser
    outliner: Outliner | None = None
    """Who outlines the document, where somebody does."""
    panel: Panel | None = None
    decider: Decider | None = None
    """Who decides what is mended, where the policy leaves that to a model."""
    arbiter: Arbiter | None = None
    """Who takes a second look at findings, where a language model judges."""
    referees: tuple[Referee, ...] = ()
    """Who compares drafts: several at the beginning, the first one with the best in the end; language models alone."""
    failures: dict[str, RedraftError] = field(default_factory=dict)
    """By metric what has ended its judging since the job was opened."""

    @property
    def refinement(self) -> RefineConfig:
        """What the run refines its draft for; one that only judges would have all that there is."""
        aims = self.panel.aims if self.panel is not None else {}
        return self.run.refinement or RefineConfig(goals={name: 1.0 for name, aim in aims.items() if aim})

    @property
    def judges(self) -> Panel:
        """Who judges the drafts."""
        assert self.panel is not None, "only graphs that judge ask"
        return self.panel

    def excerpt(self, chunk: Chunk) -> str:
        """The text of a chunk."""
        return self.document.text[chunk.span.start : chunk.span.end]

    def place(self, chunk: Chunk) -> str:
        """Where a chunk stands in the document, for a model that reads nothing else of it."""
        return part_of(self.document, chunk.span, chunk.index + 1, len(self.chunks))

    def before(self, chunk: Chunk) -> str:
        """The last lines before a chunk, as many as the plan has room for beside it."""
        begin = max((start for start in starts_of(self.document) if start <= chunk.span.start), default=0)
        most = min(LINES_BEFORE, int(self.plan.lead_tokens / self.plan.tokens_per_word))
        return last_sentences(self.document.text, Span(max(begin, self.read.start), chunk.span.start), most)

    async def outline(self) -> Outline | None:
        """What the document comes to, where that has been said, or can be said for those who judge."""
        if self.panel is not None:
            return await self.panel.outline()
        return await self.outliner.known() if self.outliner else None

    async def outlined(self, summaries: Sequence[str]) -> Outline | None:
        """What the document comes to, by the summaries of all its parts."""
        return await self.outliner.of_summaries(summaries) if self.outliner and self.plan.outlines else None

    def part(self, chunk: Chunk) -> Parent:
        """A chunk, as what a summary is made from."""
        return Parent("excerpt", self.document.id, chunk.span)

    @property
    def read(self) -> Span:
        """What is read of the document: all of it or its beginning, without what surrounds its text."""
        return Span(self.chunks[0].span.start, self.chunks[-1].span.end)

    def whole(self) -> Parent:
        """All that is read of the document, as what a summary is made from."""
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
        """Store what was written as a partial summary of the chunks from first to last; says so if it is flawed.

        `parents` are what its prompt has shown.
        """
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
        await off_loop(self.store.runs.add_piece, self.run.id, piece, _made_from(parents))
        self.observe(PieceDone(level, index, *chunks, piece.words, piece.flaw))
        if written.flaw:
            what = f"level {level}, summary {index + 1}: after {written.attempts} tries the closest was kept"
            self.observe(Noted(f"{what} ({written.flaw})"))
        return piece

    async def gap(self, chunk: int, error: RedraftError) -> None:
        """Record a chunk, or a chapter, that cannot be summarized."""
        await off_loop(self.store.runs.add_gap, self.run.id, Gap(chunk, error.code, error.message))
        what = "chapter" if self.run.settings.by_chapter else "chunk"
        self.observe(Noted(f"{what} {chunk + 1} of {len(self.chunks)} is left out: {error.message}"))

    async def close_gap(self, chunk: int) -> None:
        """A chunk that an earlier stretch of the run had to leave out has been summarized now."""
        if any(gap.chunk == chunk for gap in await off_loop(self.store.runs.gaps, self.run.id)):
            await off_loop(self.store.runs.close_gap, self.run.id, chunk)

    async def nothing_written(self) -> IncompleteError:
        """What there is to say of a run none of whose chunks came to a summary."""
        gaps, count = await off_loop(self.store.runs.gaps, self.run.id), len(self.chunks)
        reasons = "; ".join(sorted({gap.reason for gap in gaps}))
        hint = "try another --model, or --prompts simple for a weak one"
        if gaps and {gap.code for gap in gaps} == {CutThought.code}:
            hint = "give the model more room with --reasoning-tokens, or turn its thinking off"
        if not gaps:
            hint = "ask it otherwise, or leave --query out; another --model may find more"
            return NothingSaidError("the document says nothing that helps to answer the question", hint=hint)
        if self.run.settings.query is None or len(gaps) == count:
            return IncompleteError(f"none of the {count} chunks could be summarized: {reasons}", hint=hint)
        what = f"{len(gaps)} of the {count} chunks could not be summarized, and the others do not help to answer"
        return IncompleteError(f"{what} the question: {reasons}", hint=hint)

    async def keep_text(self, text: str) -> str:
        """Store a text; returns its id, which is what belongs into a state."""
        return await off_loop(self.store.documents.add_text, text)

    async def as_parent(self, text: str, kind: ParentKind = "piece") -> Parent:
        """The partial summary whose text has this id, as what another text is made from."""
        piece = await off_loop(self.store.runs.piece_of, self.run.id, text)
        assert piece is not None, "its text was written by a node before"
        return Parent.of_piece(piece, kind)

    async def text(self, key: str) -> str:
        """The text with this id."""
        return await off_loop(self.store.documents.text, key)

    async def keep(
        self, text: str, node: str, notes: tuple[str, ...] = (), parents: Sequence[Parent | Piece] = ()
    ) -> str:
        """Store a draft, with what it was made from, and make it the run's result; returns its id."""
        runs, words = self.store.runs, count_words(text)
        return await off_loop(runs.keep_draft, self.run.id, text, words, node, notes, parents=_made_from(parents))

    async def given_draft(self) -> str:
        """The summary that the run was begun with."""
        drafts = await off_loop(self.store.runs.drafts, self.run.id)
        given = next((draft.id for draft in drafts if draft.node == GIVEN), None)
        if given is None:
            raise RunError(f"the summary of run {self.run.id} was never stored", hint="begin it anew")
        return given

    async def draft(self, key: str) -> Draft:
        """The draft with this id."""
        return await off_loop(self.store.runs.draft, key)

    async def add_draft(
        self, text: str, node: str, number: int, notes: tuple[str, ...] = (), parents: Sequence[Parent] = ()
    ) -> str:
        """Store the draft of a round, which is not the result until it is taken; returns its id."""
        runs, words = self.store.runs, count_words(text)
        return await off_loop(runs.add_draft, self.run.id, text, words, node, number, notes, parents)

    async def keep_round(self, made: Round) -> None:
        """Store a round; a draft that was accepted, and keeps to the limit, is the run's result from here on."""
        await off_loop(self.store.judgments.keep_round, self.run.id, made)
        if made.accepted and self.keeps_to_the_limit(await self.draft(made.draft)):
            await off_loop(self.store.runs.choose_draft, self.run.id, made.draft)

    async def go_on_from(self, number: int, best: str) -> None:
        """Forget what came after a round, if somebody has gone back to it; the best draft is what it was then."""
        if await off_loop(self.store.judgments.forget_rounds, self.run.id, number):
            await off_loop(self.store.runs.choose_draft, self.run.id, await self.latest_within_limit() or best)

    def keeps_to_the_limit(self, draft: Draft) -> bool:
        """Whether a draft may be handed out: only revisions are held to the limit, and no text that a person wrote."""
        return draft.words <= self.plan.words or not draft.node.startswith(REVISION_OF)

    async def latest_within_limit(self) -> str | None:
        """The latest draft that was taken and may be handed out; None before there is one."""
        rounds = await off_loop(self.store.judgments.rounds, self.run.id)
        taken = [made.draft for made in reversed(rounds) if made.accepted]
        drafts = [await self.draft(one) for one in taken]
        return next((one.id for one in drafts if self.keeps_to_the_limit(one)), None)

    async def judged(self, draft: str) -> dict[str, Evaluation]:
        """What has been said of a draft, by metric."""
        return await off_loop(self.store.judgments.of, draft)


def _made_from(parents: Sequence[Parent | Piece]) -> list[Parent]:
    """A partial summary has been shown as a whole, unless it is said otherwise."""
    return [Parent.of_piece(one) if isinstance(one, Piece) else one for one in parents]


@dataclass(frozen=True, slots=True)
class Partial:
    """The best text so far, and how many chunks of the document it covers."""

    text: str
    covered: int
    pieces: tuple[Piece, ...]
    """What it was made of."""


def best_so_far(pieces: Sequence[Piece], words: int) -> Partial | None:
    """The summary that the highest pieces make together, within the limit; None when there is no piece.

    Where they are too long together, sentences are chosen among theirs: every word is still the model's own.
    """
    cover = highest(pieces)
    if not cover:
        return None
    texts = [piece.text for piece in cover]
    text = "\n\n".join(texts)
    if count_words(text) > words:
        text = shortened(texts, words)
    return Partial(text, sum(one.last_chunk - one.first_chunk + 1 for one in cover), cover)
