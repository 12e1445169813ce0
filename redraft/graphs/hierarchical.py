"""Hierarchical merging: chunks are summarized, and the summaries merged level by level, as soon as enough are there."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from itertools import count
from typing import Any

from langgraph.graph import START, StateGraph

from redraft.agents.judge import ResultT
from redraft.agents.structured_writer import MIN_WORDS, max_intermediate_words
from redraft.domain import SHORTENED, Chunk, Parent, Piece, Span
from redraft.errors import IncompleteError, NotShrinkingError, RedraftError, Set
from redraft.events import Notice
from redraft.graphs.job import Job, best_so_far
from redraft.graphs.plan import CONTEXT_SHARE, MAX_LEVELS, Level
from redraft.graphs.state import DraftState, SessionProtocol, Update, node
from redraft.prompts.summarization import DocumentOutline, Outline, outline_text
from redraft.settings import LEVEL_RATIO
from redraft.store.connection import off_loop
from redraft.store.table import ordered
from redraft.text.sentences import first_sentences
from redraft.text.words import count_words

# The most words of a merge, as a share of what is merged.
_MERGE_RATIO = 0.9
# Tokens that introduce an outline in a prompt.
_AROUND_OUTLINE = 60


_Stream = asyncio.Queue[Piece | bool]
"""The pieces of a level, and at its end whether it is complete; if it failed, what can be merged is merged."""


class SummaryTree:
    """The summary tree of one run, which grows in tasks as soon as it is made: all chunks are summarized, and merged
    until one summary is left."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.top: asyncio.Future[Piece] = asyncio.get_running_loop().create_future()
        """The piece at its top, or the first failure of a part."""
        self.tasks: list[asyncio.Task[Any]] = []
        # A merge gets the next free slot of the model: no more chunks than it has slots are ahead of it.
        self._room = asyncio.Semaphore(job.run.limits.concurrency)
        self._totals: dict[int, int] = {-1: job.plan.document_words}
        self._leaf_texts: list[tuple[Span, str]] = []
        self._outline: asyncio.Task[DocumentOutline | None] | None = None
        """Started when all chunks are summarized. Only the top merge waits for it, so that a resumed run sends the same
        prompts."""
        self._silent = 0
        """The number of chunks that say nothing about the question."""
        self.pieces: Counter[str] = Counter()
        """The number of summaries by level."""
        leaves: _Stream = asyncio.Queue()
        self._spawn(self._leaves(leaves))
        self._spawn(self._gather(1, leaves))

    def _spawn(self, work: Coroutine[Any, Any, ResultT]) -> asyncio.Task[ResultT]:
        """Run a level or a part of one concurrently; its failure fails the whole tree."""

        def settle(task: asyncio.Task[ResultT]) -> None:
            if not task.cancelled() and (error := task.exception()) and not self.top.done():
                self.top.set_exception(error)

        task = asyncio.create_task(work)
        self.tasks.append(task)
        task.add_done_callback(settle)
        return task

    async def _leaves(self, out: _Stream) -> None:
        """Summarize all chunks concurrently, and pass the summaries on in document order. A failed chunk does not stop
        the others."""
        tasks = [self._spawn(self._leaf(chunk)) for chunk in self._job.chunks]
        try:
            for chunk, task in zip(self._job.chunks, tasks, strict=True):
                if (piece := await task) is not None:
                    self.pieces["0"] += 1
                    self._totals[0] = self._totals.get(0, 0) + piece.words
                    self._leaf_texts.append((chunk.span, piece.text))
                    await out.put(piece)
            if not self._leaf_texts:
                raise await self._job.nothing_written()
            if self._silent:
                message = f"{self._silent} of {len(tasks)} chunks do not help to answer the question"
                self._job.observe(Notice(message))
            self._require_shorter(0)
            outliner = self._job.outliner if self._job.plan.outlines else None
            if len(self._leaf_texts) > 1 and outliner is not None:
                self._outline = self._spawn(outliner.outline(self._leaf_texts))
            await out.put(True)
        except Exception:
            await out.put(False)
            raise

    async def _leaf(self, chunk: Chunk) -> Piece | None:
        """Return the summary of a chunk; None for a gap, or a chunk that says nothing about the question."""
        job = self._job
        async with self._room:
            if job.run.settings.by_chapter:
                # Chapters are summarized by runs of their own.
                pieces = await off_loop(job.store.runs.pieces, job.run.id)
                return next((piece for piece in pieces if (piece.level, piece.index) == (0, chunk.index)), None)
            excerpt, level_words = job.excerpt(chunk), job.plan.levels[0].words
            words = count_words(excerpt)
            if not words:
                # Scene breaks and blank pages have nothing to summarize.
                return None
            limit = min(level_words, max(MIN_WORDS, int(words * LEVEL_RATIO)))
            place, cap = f"chunk {chunk.index + 1}/{len(job.chunks)}", job.run.settings.token_cap(level_words)
            request = (excerpt, limit, place, max_intermediate_words(limit, "leaf", job.plan.words))
            writing = job.writer.summarize_chunk(*request, place=job.place(chunk), before=job.before(chunk), cap=cap)
            completion = await job.completion(chunk.index, writing, place)
            if completion is None:
                return None
            if job.writer.says_nothing(completion.text):
                self._silent += 1
                return None
            return await job.piece(completion, 0, chunk.index, (chunk.index, chunk.index), limit, [job.part(chunk)])

    async def _gather(self, level: int, below: _Stream) -> None:
        """Merge what the level below yields, as many at a time as fit; the last level's only merge is the top."""
        limits = self._limits(level)
        group: list[Piece] = []
        merged: list[Piece] = []
        above: _Stream = asyncio.Queue()
        indexes = count()

        async def merge_group() -> None:
            before = merged[-1] if merged else None
            piece = await self._merge(level, next(indexes), group, before, limits.words)
            group.clear()
            if piece is None:
                return
            merged.append(piece)
            await above.put(piece)
            if len(merged) == 1:
                self._spawn(self._gather(level + 1, above))

        try:
            while isinstance(piece := await below.get(), Piece):
                context_tokens = min(merged[-1].tokens, int(limits.room * CONTEXT_SHARE)) if merged else 0
                room = limits.room - context_tokens
                size = sum(part.tokens + self._job.plan.label_tokens for part in (*group, piece))
                if group and size > room:
                    await merge_group()
                group.append(piece)
            if not piece:
                await above.put(False)
            elif merged:
                await merge_group()
                self._require_shorter(level)
                await above.put(True)
            else:
                await self._finish(level, next(indexes), group, limits)
        except Exception:
            await above.put(False)
            raise

    async def _finish(self, level: int, index: int, group: list[Piece], limits: Level) -> None:
        """Merge everything left into the final summary, within the whole limit as far as the window allows."""
        if len(group) == 1:
            self.top.set_result(group[0])
            return
        plan = self._job.plan
        spare = limits.room + limits.reply_tokens - sum(piece.tokens + plan.label_tokens for piece in group)
        words = max(limits.words, min(plan.words, int(spare / plan.tokens_per_word) - 1))
        outline = await self._outline if self._outline else None
        maximum = max_intermediate_words(words, "merge", plan.words)
        tokens_left = spare - int(maximum * plan.tokens_per_word) - _AROUND_OUTLINE
        if outline is not None and self._job.tokenizer.count(outline_text(outline)) > tokens_left:
            outline = None
        top = await self._merge(level, index, group, None, words, outline)
        if top is None:
            raise await self._job.nothing_written()
        if self._job.is_too_long(top):
            # A text that is as short as was asked for need not be shorter than its source.
            self._require_shorter(level)
        self.top.set_result(top)

    async def _merge(
        self,
        level: int,
        index: int,
        group: list[Piece],
        previous: Piece | None,
        words: int,
        outline: Outline | None = None,
    ) -> Piece | None:
        """Return the merged summary of a group; None if nothing in it answers the question."""
        job = self._job
        total = sum(piece.words for piece in group)
        limit = min(words, max(MIN_WORDS, int(total * _MERGE_RATIO)))
        place = f"level {level} merge {index + 1}"
        before = ""
        if previous:
            # The preceding summary, cut at a sentence to its share of the room.
            share = int(self._limits(level).room * CONTEXT_SHARE)
            is_over = previous.tokens > share
            before = first_sentences(previous.text, share, job.tokenizer.count) if is_over else previous.text
        maximum = max_intermediate_words(limit, "merge", job.plan.words)
        texts, cap = [piece.text for piece in group], job.run.settings.token_cap(words)
        completion = await job.writer.merge(texts, before, limit, place, maximum, outline=outline, cap=cap)
        if not completion.text:
            fix = ("try another ", Set("model"), ", then resume the run")
            raise IncompleteError("every reply to a merge was empty", place=place, fix=fix)
        if job.writer.says_nothing(completion.text):
            first, last = group[0].first_chunk + 1, group[-1].last_chunk + 1
            job.observe(Notice(f"{place}: chunks {first} to {last} do not help to answer the question"))
            return None
        context = [Parent.of_piece(previous, "context", len(before))] if previous and before else []
        parents: list[Parent | Piece] = [*context, *group]
        piece = await job.piece(completion, level, index, (group[0].first_chunk, group[-1].last_chunk), limit, parents)
        self._totals[level] = self._totals.get(level, 0) + piece.words
        self.pieces[str(level)] += 1
        return piece

    def _limits(self, level: int) -> Level:
        """Return the planned limits of a level; a level beyond the plan has those of the top."""
        if level > MAX_LEVELS:
            fix = ("use a larger ", Set("context_tokens"), ", or a model that keeps to limits")
            raise NotShrinkingError("merging does not reduce the number of summaries", fix=fix)
        levels = self._job.plan.levels
        return levels[min(level, len(levels) - 1)]

    def _require_shorter(self, level: int) -> None:
        below, words_here = self._totals[level - 1], self._totals[level]
        if words_here >= below:
            what = "the document" if level == 0 else f"the summaries below ({below:,} words)"
            problem = f"the summaries of level {level} have {words_here:,} words, no fewer than {what}"
            advice = "the model ignores its word limits: try another model, "
            raise NotShrinkingError(
                problem, fix=(advice, Set("prompts", "simple"), ", or larger ", Set("chunk_tokens"))
            )


class TreeState(DraftState, total=False):
    """The state of hierarchical merging."""

    top: str
    """The id of the text at the top of the tree."""


async def build_tree(state: TreeState, job: Job) -> Update:
    """Summarize the chunks and merge the summaries, all levels concurrently; if merges do not get shorter, keep the
    best text so far."""
    await off_loop(job.store.runs.drop_pieces, job.run.id, ordered(1))
    tree = SummaryTree(job)
    try:
        top = await tree.top
        return {"top": await job.keep_text(top.text), "pieces": dict(tree.pieces)}
    except RedraftError as error:
        # Running calls have been paid for: let them finish, and store their results.
        while unfinished := [task for task in tree.tasks if not task.done()]:
            await asyncio.gather(*unfinished, return_exceptions=True)
        if not isinstance(error, NotShrinkingError):
            raise
        best = best_so_far(await off_loop(job.store.runs.pieces, job.run.id), job.plan.words)
        if best is None:
            raise
        text, parents = best
        note = f"merging did not make it shorter, so its sentences were chosen from the summaries: {error.message}"
        job.observe(Notice(f"{note}; {error.hint}"))
        draft = await job.keep(text, SHORTENED, (note,), parents)
        return {"top": "", "draft": draft, "pieces": dict(tree.pieces)}
    finally:
        for task in tree.tasks:
            task.cancel()
        await asyncio.gather(*tree.tasks, return_exceptions=True)


async def tidy(state: TreeState, job: Job) -> Update:
    """Remove the traces of the process from the top of the tree, and keep the result as the run's draft."""
    return {"draft": await job.keep_tidied(state["top"], "hierarchical") if state["top"] else state["draft"]}


def hierarchical_graph(session: SessionProtocol | None = None) -> StateGraph[TreeState]:
    """Return the uncompiled graph; its nodes work on a run that has begun."""
    graph = StateGraph(TreeState)
    graph.add_sequence([node(build_tree, session), node(tidy, session)])
    graph.add_edge(START, "build_tree")
    return graph
