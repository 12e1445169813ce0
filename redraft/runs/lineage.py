"""Traces sentences to their sources, asking a model where word matching is not conclusive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redraft.agents.judge import Judge
from redraft.agents.tracer import SentenceTracer, TraceItem
from redraft.builtin.facade import open_model
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.events import Notice, StageStarted
from redraft.graphs.strategies import STRATEGIES
from redraft.llm.langsmith import tracing
from redraft.report.history.lineage import Lineage, Tracer, read_lineage
from redraft.report.history.results import document_read
from redraft.report.history.trace import TextNode
from redraft.runs.job import JobFactory
from redraft.runs.manager import RunManager, record_new_run
from redraft.runs.prepare import PreparedDocument, RunSpec
from redraft.runs.request import RunRequest
from redraft.settings import EXTRACTIVE, GIVEN_STRATEGY, DraftConfig, JudgeConfig, TraceLineage
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.languages import language_of
from redraft.text.origins import Link, SentenceOrigin
from redraft.text.quotes import needs_context
from redraft.text.vectors import load_encoder

SHARE = 0.12
"""The maximum cost of tracing as a share of the tokens used for drafting."""
# A place that is better than the next by less than this is asked about, as is one below the floor.
_THIN = 0.1
CANDIDATES = 6
"""The number of places shown for a sentence."""
_LONGEST_PLACE = 600
# The score of a link that a model found, comparable to most found by words.
_SAID = 0.8
# Links lead to texts further down; this many steps are followed at once.
_WAVES = 8


@dataclass(frozen=True, slots=True)
class TraceQuery:
    """A sentence of an intermediate text to ask about, and its possible sources."""

    key: str
    """The key under which the links of its text are stored."""
    at: int
    """The index of the sentence in its text."""
    traced: SentenceOrigin
    item: TraceItem
    links: tuple[Link, ...]
    """The places shown, in the item's order."""


@dataclass(slots=True)
class DraftTracer:
    """The tracing of one draft: what is known so far, and what may still be asked, in waves within a token budget."""

    room: int
    tracer: Tracer
    draft: str
    left: int = field(default=0, init=False)
    """How many sentences did not fit the budget."""
    said: dict[tuple[str, int], SentenceOrigin] = field(default_factory=dict, init=False)
    asked: list[TraceQuery] = field(default_factory=list, init=False)

    def lineage(self) -> Lineage:
        """Return the lineage of the draft as known so far."""
        return self.tracer.lineage(self.draft, self.said)

    def open(self) -> list[TraceItem]:
        """Return the unasked sentences without a clear source. Of intermediate texts, only sentences that the draft's
        sentences lead to are included."""
        last = self.tracer.family.draft(self.draft)
        members = list(self.tracer.family.in_order(last))
        reached: dict[str, set[int]] = {last.key: set(range(len(self._traced(last))))}
        self.asked = []
        for member in reversed(members):
            own = sorted(reached.get(member.key, ()))
            self.asked += self._open_of(member, own)
            self._reach(member, own, reached)
        return [query.item for query in self.asked]

    def _traced(self, member: TextNode) -> tuple[SentenceOrigin, ...]:
        return self.tracer.linked(member.text, member.parents, self.said)

    def _reach(self, member: TextNode, sentences: Sequence[int], reached: dict[str, set[int]]) -> None:
        """Note which sentences of the texts below those of this one lead to."""
        parents = self.tracer.family.parents(member)
        for at in sentences:
            for link in self._traced(member)[at].links:
                below = parents[link.text]
                if below is not None:
                    held = (n for n, origin in enumerate(self._traced(below)) if origin.span.overlaps(link.span))
                    reached.setdefault(below.key, set()).update(held)

    def _open_of(self, member: TextNode, sentences: Sequence[int]) -> Iterator[TraceQuery]:
        key = self.tracer.key(member.text, member.parents)
        sentence_origins = self._traced(member)
        wanted = [at for at in sentences if (key, at) not in self.said and _is_thin(sentence_origins[at])]
        if not wanted or not member.parents:
            return
        shown = [self.tracer.shown(parent) for parent in member.parents]
        origins = self.tracer.origins(shown)
        language = language_of(member.text)
        for at in wanted:
            sentence = _cut(member.text, sentence_origins[at])
            links = (*sentence_origins[at].links, *origins.candidates(sentence, CANDIDATES))
            if not links:
                links = origins.between(*_neighbours(sentence_origins, at), CANDIDATES, _LONGEST_PLACE)
            places = {shown[link.text][slice(*link.span)][:_LONGEST_PLACE]: link for link in reversed(links)}
            chosen = dict(list(reversed(places.items()))[:CANDIDATES])
            before = _cut(member.text, sentence_origins[at - 1]) if at and needs_context(sentence, language) else ""
            if chosen:
                yield TraceQuery(
                    key, at, sentence_origins[at], TraceItem(sentence, before, tuple(chosen)), tuple(chosen.values())
                )

    def take(self, named: Mapping[int, Sequence[int]]) -> None:
        """Note what was said of some sentences."""
        for number, places in named.items():
            query = self.asked[number]
            links = tuple(_said(query.links[place]) for place in places)
            self.said[query.key, query.at] = SentenceOrigin(query.traced.span, links, 1.0)


def _is_thin(traced: SentenceOrigin) -> bool:
    return not traced.links or (traced.margin < _THIN and traced.links[0].method != "quotation")


def _neighbours(traced: Sequence[SentenceOrigin], at: int) -> tuple[Link | None, Link | None]:
    """Return the sources of the nearest traced sentences before and after a sentence."""
    before = next((origin.links[0] for origin in reversed(traced[:at]) if origin.links), None)
    return before, next((origin.links[0] for origin in traced[at + 1 :] if origin.links), None)


def _cut(text: str, traced: SentenceOrigin) -> str:
    return text[slice(*traced.span)]


def _said(link: Link) -> Link:
    return Link(link.text, link.span, max(_SAID, link.weight), "model")


def tracing_settings(
    store: Store, key: str, settings: DraftConfig, judging: JudgeConfig, embeddings: str | Path | None = None
) -> tuple[Document, RunSpec]:
    """Return the settings of a run that traces another run's result. Calls no model."""
    run = store.runs.get(key)
    draft = run.drafted()
    if (judging.judges or (settings.model,))[0] == EXTRACTIVE:
        raise UsageError(
            "the built-in model compares words, as tracing without a model does",
            hint="name a language model, such as --trace openai:gpt-5-mini",
        )
    by = {"metrics": (), "embeddings": str(embeddings) if embeddings else None}
    order = RunSpec(TraceLineage(judging=judging.model_copy(update=by)), store.runs.draft(draft).text, run.id)
    return document_read(store, run), order


def tracing_of(store: Store, run: Run, tokens: int) -> DraftTracer:
    """Return the tracing of the summary that a tracing run was started with; `tokens` are the document's."""
    assert run.draft is not None
    embeddings = run.judging.embeddings if run.judging else None
    encoder = load_encoder(embeddings) if embeddings else None
    tracer = Tracer(store, document_read(store, run), encoder)
    member = tracer.family.draft(run.draft)
    origin = member.parents[0] if member.parents and member.parents[0].kind == "base" else None
    return DraftTracer(tracing_budget(store, run.parent, tokens), tracer, origin.node if origin else run.draft)


def tracing_budget(store: Store, traced: str | None, tokens: int) -> int:
    """Return the token budget for tracing a run; `tokens` are the document's, for a run that has drafted nothing."""
    drafting = [prompt.name for strategy in STRATEGIES.values() for prompt in strategy.prompts]
    known = traced is not None and store.runs.get(traced).settings.strategy != GIVEN_STRATEGY
    return int(SHARE * ((store.calls.tokens_of(traced, drafting) if known and traced else 0) or tokens))


async def trace(manager: RunManager, run: Run) -> Lineage:
    """Return where the sentences of a draft come from, by words and by what a model says of those that words do not
    trace; completes the run."""
    async with manager.working(run.id) as job_factory:
        tracing = await off_loop(tracing_of, manager.store, run, job_factory.prepared.plan.document_tokens)
        await ask_in_waves(manager, job_factory, tracing)
        lineage = await off_loop(tracing.lineage)
    assert run.draft is not None
    await manager.finish(run.id, run.draft, "complete")
    return lineage


async def ask_in_waves(manager: RunManager, job_factory: JobFactory, draft: DraftTracer) -> None:
    """Ask wave after wave, as far as the room for it goes: what is found leads to more."""
    assert job_factory.run.judging is not None
    asking = job_factory.sentence_tracer(job_factory.run.judging)
    for _ in range(_WAVES):
        items = await off_loop(draft.open)
        batches = await off_loop(fitting_prompts, draft, asking, items)
        if not batches:
            break
        manager.observe(StageStarted(f"tracing {sum(map(len, batches))} sentences", len(batches)))
        results = await asking.trace(items, batches)
        draft.take({number: trace_result.places for number, trace_result in results.verdicts.items()})
        if results.trouble:
            manager.observe(Notice(f"not all sentences could be asked about: {results.trouble}"))
            break
    if draft.left:
        manager.observe(
            Notice(f"{draft.left} sentences were not asked about: {SHARE:.0%} of the tokens of drafting are used")
        )


def fitting_prompts(tracing: DraftTracer, asking: SentenceTracer, items: Sequence[TraceItem]) -> list[list[int]]:
    """Return as many prompts about open items as fit the budget; cached ones are free."""
    known = asking.known(items)
    batches = asking.batches(items, [n for n, there in enumerate(known) if not there])
    chosen: list[list[int]] = []
    tracing.left = 0
    for batch in batches:
        tokens = asking.tokens(items, batch)
        if tokens > tracing.room:
            tracing.left += len(batch)
            continue
        tracing.room -= tokens
        chosen.append(batch)
    remembered = [n for n, there in enumerate(known) if there]
    return [*([remembered] if remembered else []), *chosen]


@dataclass(frozen=True, slots=True)
class TracingPlan:
    """The first requests of tracing, for a dry run; follow-up requests stay within the same budget."""

    sentences: int
    calls: int
    tokens: int
    """Their approximate tokens, both ways."""
    most: int
    """The token budget of tracing."""


def planned_requests(store: Store, key: str, prepared: PreparedDocument) -> TracingPlan:
    """Return what tracing a run's result would ask."""
    run = store.runs.get(key)
    assert run.draft is not None, "a run without a draft cannot be traced"
    window = prepared.settings.context_tokens
    # Calls no model: the judge only provides its prompts and reply sizes.
    judge = Judge(open_model(), prepared.book, store.judgments)
    asking = SentenceTracer(judge, prepared.tokenizer, window)
    most = tracing_budget(store, run.id, prepared.plan.document_tokens)
    tracing = DraftTracer(most, Tracer(store, prepared.document), run.draft)
    batches = fitting_prompts(tracing, asking, tracing.open())
    return TracingPlan(sum(map(len, batches)), len(batches), most - tracing.room, most)


async def trace_with_model(manager: RunManager, asked: RunRequest, key: str, ask: bool, by: Any) -> Lineage:
    """Return the stored result of tracing, or trace the run with a model in a run of its own."""
    if ask:
        settings = manager.model_roles.settings(asked.settings)
        judging = manager.model_roles.judging(asked.judging, settings)
        document, order = await off_loop(tracing_settings, manager.store, key, settings, judging, by)
        run = await record_new_run(manager, document, settings, order)
        with tracing(manager.traced):
            return await trace(manager, run)
    encoder = await off_loop(load_encoder, str(by)) if by else None
    return await off_loop(read_lineage, manager.store, key, encoder=encoder)
