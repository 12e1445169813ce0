"""Estimates the cost of a run by making it on a store in memory, with counting models in place of real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import log
from typing import Any, Self, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from redraft.agents.structured_writer import Completion, Flaw, StructuredWriter
from redraft.agents.writer import Writer
from redraft.domain import GIVEN, OTHER, Document, TextKind, Usage
from redraft.evaluators.base import METRIC, Evaluator
from redraft.evaluators.catalog import names, with_rubrics
from redraft.evaluators.panel import Panel
from redraft.events import Observer, ignore_event
from redraft.graphs.job import Job
from redraft.graphs.state import Scope, Task
from redraft.llm.base import Reply, Request
from redraft.llm.budget import PriceTable, builtin_prices
from redraft.llm.recorded import request_key, value_in
from redraft.order import BuildKeyfacts, BuildQuestions, ExperimentPart
from redraft.prompts import coherence, factual, qa, revision, summarization
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Prompt
from redraft.report.history.results import document_read
from redraft.runs.counting import CountedStandIn, TokenCounts, recall_nothing
from redraft.runs.driver import Driver
from redraft.runs.execute import carry_out
from redraft.runs.inputs import Sources, document_of
from redraft.runs.job import JobFactory
from redraft.runs.manager import RunManager
from redraft.runs.model_names import identity_of, named_in
from redraft.runs.models import (
    ModelPool,
    ModelRole,
    ModelRoles,
    OpenModel,
    assign_models,
    models_by_role,
    prompts_by_role,
    settings_by_role,
    with_aside,
)
from redraft.runs.order import chapter_spec, with_places
from redraft.runs.plans import DRAFTING, PlannedModel, PlannedSource, RunPlan, Stage, StageUsage, seconds_of, total_cost
from redraft.runs.prepare import PreparedDocument, RunSpec, check_judging, prepare, record, with_windows
from redraft.runs.roster import known_window
from redraft.settings import COMPUTED, DraftConfig, JudgeConfig, Limits, Role, reads_prompts
from redraft.store.plain_serializer import PlainSerializer
from redraft.store.runs import Run
from redraft.store.shelf import QuestionSets
from redraft.store.store import Store
from redraft.text.words import count_words

T = TypeVar("T")
FACTS_ALIGNED = "aligning key facts"
_BUILDING_QUESTIONS = "asking about the document"
_BUILDING_FACTS = ("finding key facts", "validating key facts", "asking what the trees answer")
_ANSWERING = "answering"
_REFINING = ("deciding", "second looks", "revising", "comparing revisions")
_STAGES: Mapping[str, tuple[str, Role]] = {
    **{
        one.name: (DRAFTING, "writer")
        for one in (
            summarization.SUMMARIZE_CHUNK,
            summarization.SUMMARIZE_WHOLE,
            summarization.MERGE,
            summarization.MERGE_ONWARD,
            summarization.BEGIN,
            summarization.UPDATE,
            summarization.COMPRESS,
            summarization.TIDY,
            summarization.OUTLINE,
        )
    },
    **{one.name: (_BUILDING_QUESTIONS, "judge") for one in (qa.ASK_DOCUMENT, qa.RANK_QUESTIONS)},
    **{one.name: (_BUILDING_FACTS[0], "judge") for one in factual.KEYFACT_PROMPTS.values()},
    **{
        one.name: (_BUILDING_FACTS[1], "validator")
        for one in (factual.FACTS_FAITHFUL, factual.FACTS_OBJECTIVE, factual.FACTS_SIGNIFICANT)
    },
    **{one.name: (_BUILDING_FACTS[2], "judge") for one in factual.QUERY_PROMPTS.values()},
    qa.WRITE_ANSWER.name: (_ANSWERING, "writer"),
    revision.DECIDE.name: ("deciding", "decider"),
    factual.RULE_ON_FINDINGS.name: ("second looks", "judge"),
    **{one.name: ("revising", "writer") for one in (revision.CRITICIZE, revision.REVISE, revision.EDIT)},
    revision.CHOOSE_DRAFT.name: (_REFINING[-1], "judge"),
}
"""The stage and role of each prompt that no metric sends by itself."""


@dataclass(slots=True)
class UsageTally:
    """The counted usage of one run."""

    prepared: PreparedDocument
    run: Run
    work: dict[tuple[object, ...], StageUsage] = field(default_factory=dict)

    def note(self, role: ModelRole, request: Request[Any, Any], usage: Usage) -> None:
        """Count a request to a model."""
        name, by = self._stage(request.prompt, role.role)
        key = (name, by, *role.asked_as)
        work = self.work.setdefault(key, StageUsage(name, by, role.settings))
        work.calls += 1
        work.prompt_tokens += usage.prompt_tokens
        work.completion_tokens += usage.completion_tokens

    def objections(self, metric: str) -> int:
        """Return to how many of each twelve items of a refined draft judges object: at first for every metric, after a
        revision only for coverage. Each revision as in LongSumEval leaves fewer, and none of them leaves nothing."""
        if self.run.refinement is None:
            return 0
        revisions = sum(usage.calls for usage in self.work.values() if usage.name == "revising")
        if self.run.refinement.policy == "paper":
            return max(1, 4 - revisions)
        return 2 if metric == "coverage" or not revisions else 0

    def _stage(self, prompt: Prompt[Any, Any], role: Role) -> tuple[str, Role]:
        if isinstance(self.run.order, ExperimentPart):
            return prompt.name, role
        if prompt.name in _STAGES:
            return _STAGES[prompt.name]
        judging = self.run.judging
        if prompt.name == coherence.PREFER_SUMMARY.name:
            return "preference", "judge"
        if prompt.name == factual.ALIGN_FACTS.name:
            recalled = judging is not None and "keyfact_recall" in judging.metrics
            return ("keyfact_recall" if recalled else FACTS_ALIGNED), "judge"
        return (METRIC.get(), "judge") if METRIC.get() else (DRAFTING, "writer")


class _TrustingWriter(StructuredWriter):
    """Checks no text against its source: a counting model's texts always come from it."""

    def foreign(self, text: str, source: str, words: int) -> Flaw | None:  # noqa: ARG002
        """Find no flaw."""
        return None


class _TrustingDrafter(Writer):
    """Tidies nothing."""

    async def tidy(self, summary: str, label: str) -> Completion:  # noqa: ARG002
        """Return the summary unchanged."""
        return Completion(summary, count_words(summary), 0)


@dataclass(frozen=True, slots=True)
class _DryJobFactory(JobFactory):
    """Trusts the stand-in's texts, and judges by what asks a model."""

    def writer(self, structured_writer: StructuredWriter, kind: TextKind) -> Writer:
        """Return the writer that drafts."""
        return _TrustingDrafter(structured_writer, query=self.run.settings.query, kind=kind)

    def structured_writer(self) -> StructuredWriter:
        """Return the writer for single texts."""
        writer = super(_DryJobFactory, self).structured_writer()
        arguments = {one.name: getattr(writer, one.name) for one in fields(writer)}
        return _TrustingWriter(**arguments | {"instructions": None})

    def panel(self, judging: JudgeConfig) -> Panel:
        """Return the judges of the run, without figures, which call no model."""
        panel = super(_DryJobFactory, self).panel(judging)
        evaluators = tuple(evaluator for evaluator in panel.evaluators if evaluator.name not in COMPUTED)
        return replace(panel, evaluators=evaluators)


@dataclass(slots=True)
class DryManager(RunManager):
    """Opens counting models."""

    factory: type[JobFactory] = _DryJobFactory
    tallies: dict[str, UsageTally] = field(default_factory=dict)
    counts: dict[str, TokenCounts] = field(default_factory=dict)
    """Token counts by the name of the tokenizer."""
    asked: dict[tuple[object, ...], dict[tuple[object, ...], object]] = field(default_factory=dict)
    """Each model's answers in all runs, as in the cache."""
    known: Store | None = None
    """The user's store, whose replies are free."""

    @asynccontextmanager
    async def models(
        self,
        assigned: Sequence[ModelRole],
        run: Run,
        prepared: PreparedDocument,
        observe: Observer,  # noqa: ARG002
    ) -> AsyncIterator[ModelPool]:
        """Replace each model by a counting model."""
        voice = _letters(len(self.tallies))
        tally = self.tallies.setdefault(run.id, UsageTally(prepared, run))
        tokens = self.counts.setdefault(prepared.tokenizer.name, TokenCounts(prepared.tokenizer))
        for chunk in prepared.chunks:
            tokens.learn(prepared.document.text[slice(*chunk.span)], chunk.tokens)
        roles = with_aside(assigned)
        stand_ins: dict[tuple[object, ...], CountedStandIn] = {}
        working: list[OpenModel] = []
        for role, book in zip(roles, prompts_by_role(roles, prepared.book), strict=True):
            if role.asked_as not in stand_ins:
                identity = identity_of(role.settings) if role.model is None else role.model.identity
                if any(other.identity == identity for other in stand_ins.values()):
                    identity = f"{identity} {len(stand_ins)}"
                stand_ins[role.asked_as] = CountedStandIn(
                    identity,
                    book,
                    tokens,
                    partial(tally.note, role),
                    run.settings.query,
                    tally.objections,
                    voice,
                    self.asked.setdefault(role.asked_as, {}),
                    partial(_stored, self.known, identity, role.settings, book) if self.known else recall_nothing,
                )
            working.append(OpenModel(stand_ins[role.asked_as], role.settings, book, role.model is not None))
        yield models_by_role(assigned, working)


def _stored(
    store: Store, identity: str, settings: DraftConfig, book: PromptBook, request: Request[Any, Any]
) -> Reply[Any] | None:
    """Return a store's reply to a request of a model with these settings; None if there is none."""
    sampling = replace(request.sampling, top_p=request.sampling.top_p or settings.top_p)
    sent = replace(request, text=book.render(request.prompt, request.given), sampling=sampling)
    answer = store.calls.find(request_key(sent, identity), None, sampling.max_tokens)
    if answer is None:
        return None
    return Reply(value_in(request, answer.text), answer.text, Usage(0, 0), answer.finish_reason, cached=True)


def _letters(number: int) -> str:
    """Return a number in letters; 0 has none."""
    return "" if number == 0 else f"{_letters(number // 26)}{chr(ord('a') + number % 26)}"


class _DryDriver(Driver):
    """Keeps checkpoints in memory."""

    async def saver(self) -> BaseCheckpointSaver[Any]:
        """Return the driver's saver, created at first use."""
        if not self.savers:
            self.savers.append(InMemorySaver(serde=PlainSerializer(self._store.checkpoints.place)))
        return self.savers[0]


class DryRuns:
    """Runs on a store in memory with counting models. It is the session of their graphs."""

    def __init__(
        self,
        prices: PriceTable | None,
        own: Sequence[Evaluator] = (),
        roles: ModelRoles | None = None,
        known: Store | None = None,
    ) -> None:
        """Open the store; `own` are the user's metrics, and `roles` have the user's model objects. What is `known` in
        the user's store is free."""
        self.store = Store(":memory:")
        self.manager = DryManager(
            self.store, roles or ModelRoles(), {evaluator.name: evaluator for evaluator in own}, prices, ignore_event
        )
        self.manager.known = self._known = known
        self.driver = _DryDriver(self.store, self, None, self.manager)
        self._built: dict[tuple[str, str, str], str | None] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.manager.aclose()
        await self.driver.aclose()
        self.store.close()

    async def begin(self, task: Task, scope: Scope) -> str:
        """Refuse to begin a run, since all are recorded by `run_prepared`."""
        raise NotImplementedError

    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        """Work on a run."""
        return self.manager.at_work(run)

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        """End a run."""
        return await self.manager.finish(run, draft, reason, why)

    async def run_prepared(self, prepared: PreparedDocument, order: RunSpec) -> str:
        """Run what was prepared, and return the run's id. Questions and key facts of the user's store are replaced by
        ones built here first, which are not counted."""
        if self._known is not None:
            self.store.documents.add(prepared.document)
            self.store.learn(self._known, prepared.document.id)
        order = await self._with_packs(prepared, order)
        run = record(prepared, order, Limits(), self.store)
        self.manager.prepared[run.id] = prepared
        await carry_out(self.manager, self.driver, run)
        # A run that needs no model, such as comparing a text with itself, has opened none.
        self.manager.tallies.setdefault(run.id, UsageTally(prepared, run))
        return run.id

    async def _with_packs(self, prepared: PreparedDocument, order: RunSpec) -> RunSpec:
        if (judging := order.judging) is None:
            return order
        update: dict[str, str | None] = {}
        builds: tuple[tuple[str, QuestionSets[Any], type[BuildQuestions | BuildKeyfacts]], ...]
        builds = (("pack", self.store.packs, BuildQuestions), ("keyfacts", self.store.keyfacts, BuildKeyfacts))
        for name, shelf, build in builds:
            pack = getattr(judging, name)
            if pack and not any(one.id == pack for one, _ in shelf.all()):
                key = (prepared.document.id, name, pack)
                if key not in self._built:
                    bare = judging.model_copy(update={"pack": None, "keyfacts": None, "metrics": ()})
                    built = self.store.runs.get(await self.run_prepared(prepared, RunSpec(build(judging=bare))))
                    self._built[key] = getattr(built.judging, name)
                update[name] = self._built[key]
        return replace(order, order=order.order.model_copy(update={"judging": judging.model_copy(update=update)}))

    def plan_of_run(self, run: str, order: RunSpec, prices: PriceTable, notes: Sequence[str] = ()) -> RunPlan:
        """Return what was counted of a run, and its chapters."""
        tally, judging = self.manager.tallies[run], order.judging
        prepared, work = tally.prepared, tuple(tally.work.values())
        asked, objects = (prepared.settings, judging, Limits(), prices), self.manager.model_roles.objects
        roles = assign_models(*asked, refinement=order.refinement, objects=objects)
        parts = [chapter.run for chapter in self.store.chapters.of(run) if chapter.run]
        chapters = [self.plan_of_run(part, chapter_spec(order), prices) for part in parts]
        drafting, *stages = _stages(work, order)
        everything: list[StageUsage | RunPlan] = [*work, *chapters]
        free = [usage.settings.model for usage in work if usage.cost(prices) is None]
        dearest = [usage.cost(prices, usage.reasoning_tokens) for usage in work]
        plan = prepared.plan
        return RunPlan.of(
            plan,
            source=PlannedSource.of(prepared.document, plan, tokens=plan.document_tokens, words=plan.document_words),
            model=prepared.settings.model,
            judges=(judging.judges or (prepared.settings.model,)) if judging else (),
            validator=settings_by_role(roles)["validator"].model if judging else None,
            models=tuple(map(_named, named_in(judging, order.refinement), roles[1:])),
            tokenizer=prepared.tokenizer.name,
            draft_calls=plan.calls,
            drafting=drafting,
            stages=tuple(stages),
            calls=sum(one.calls for one in everything),
            prompt_tokens=sum(one.prompt_tokens for one in everything),
            completion_tokens=sum(one.completion_tokens for one in everything),
            reasoning_tokens=sum(one.reasoning_tokens for one in everything),
            cost_usd=total_cost([*(usage.cost(prices) for usage in work), *(plan.cost_usd for plan in chapters)]),
            max_cost_usd=total_cost([*dearest, *(plan.max_cost_usd for plan in chapters)]),
            unpriced=tuple(dict.fromkeys([*free, *(name for plan in chapters for name in plan.unpriced)])),
            seconds=None,
            warnings=(*prepared.warnings, *notes),
            chapters=tuple(chapters),
            order=order.order.model_copy(update={"settings": prepared.settings}),
            work=work,
        )


def _named(named: tuple[Role, str], one: ModelRole) -> PlannedModel:
    role, name = named
    window = one.settings.context_tokens if reads_prompts(one.settings.model) else None
    return PlannedModel(role=role, name=name, model=one.settings.model, context_tokens=window)


def _stages(work: Sequence[StageUsage], order: RunSpec) -> list[Stage]:
    """Return the work in each stage, summed over all models: drafting, what is built, each metric, the refinement."""
    listed = names(with_rubrics(order.judging, order.own))
    ahead = {"coverage": (_BUILDING_QUESTIONS,), "keyfact_recall": _BUILDING_FACTS}
    order_of_stages = [DRAFTING, _ANSWERING]
    order_of_stages += [stage for name in listed for stage in (*ahead.get(name, ()), name)]
    order_of_stages += [FACTS_ALIGNED, "preference", *_REFINING]
    stages = {DRAFTING: Stage(DRAFTING, 0, 0, 0, "writer")}
    for usage in work:
        at = stages.get(usage.name) or Stage(usage.name, 0, 0, 0, usage.by)
        prompt, completion = at.prompt_tokens + usage.prompt_tokens, at.completion_tokens + usage.completion_tokens
        stages[usage.name] = Stage(usage.name, at.calls + usage.calls, prompt, completion, usage.by)
    return sorted(stages.values(), key=lambda one: order_of_stages.index(one.name))


def plan_run(
    document: Document, settings: DraftConfig, order: RunSpec, prices: PriceTable, known: Store | None = None
) -> RunPlan:
    """Return what a run takes beyond what is `known` in a store. No model is asked and nothing is stored."""
    prepared, order, notes = prepare_plan(document, settings, order)
    return dry_run(prepared, order, prices, notes, known=known)


def prepare_plan(
    document: Document, settings: DraftConfig, order: RunSpec
) -> tuple[PreparedDocument, RunSpec, list[str]]:
    """Prepare a run of this order; return that, the completed order, and notes. No server is asked for its window."""
    settings, order = order.settled(settings), with_places(order, settings)
    settings, order, notes = with_windows(settings, order, known_window)
    return prepare(document, settings, given=order.given), order, notes


def plan_in_session(manager: RunManager, source: Sources, order: RunSpec) -> RunPlan:
    """Return the plan of a run by a session. No model is asked, and nothing is stored."""
    roles, limits = manager.model_roles, manager.limits or Limits()
    settings, order, notes = with_windows(order.settled(order.order.settings), order, known_window, roles.objects)
    document, writer = document_of(manager.store, source), roles.objects.get(roles.model or "")
    prepared = prepare(document, settings, writer, order.given)
    check_judging(order, prepared, manager.store)
    prices = manager.prices or builtin_prices()
    plan = dry_run(prepared, order, prices, notes, roles, manager.store)
    return plan.model_copy(update={"seconds": seconds_of(manager.store, plan, limits.concurrency)})


def plan_again(store: Store, run: Run, prices: PriceTable) -> RunPlan:
    """Return the plan of a stored run from its start."""
    drafts = {draft.node: draft.text for draft in reversed(store.runs.drafts(run.id))}
    order = RunSpec(run.order, given=drafts.get(GIVEN), other=drafts.get(OTHER))
    return dry_run(prepare(document_read(store, run), run.settings, given=order.given), order, prices)


def dry_run(
    prepared: PreparedDocument,
    order: RunSpec,
    prices: PriceTable | None = None,
    notes: Sequence[str] = (),
    roles: ModelRoles | None = None,
    known: Store | None = None,
) -> RunPlan:
    """Return the plan of a prepared run, as `plan_run` does; `roles` have the user's model objects."""
    table = prices or builtin_prices()

    async def counted() -> RunPlan:
        async with DryRuns(table, order.own, roles, known) as runs:
            run = await runs.run_prepared(prepared, without_person(order))
            return runs.plan_of_run(run, order, table, notes)

    return run_to_end(counted)


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to completion; if an event loop is running, as in a notebook, in a separate thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


class SampledDryRuns:
    """Dry runs of many documents: one for all of similar size that are drafted alike."""

    def __init__(self, prices: PriceTable | None = None) -> None:
        self._prices = prices
        self._known: dict[tuple[object, ...], RunPlan] = {}

    def of(self, prepared: PreparedDocument, order: RunSpec) -> tuple[RunPlan, float]:
        """Return the plan for a document of similar size, and the ratio of this document's tokens to that one's."""
        plan = prepared.plan
        sizes = (plan.document_tokens, count_words(order.given or "") + 1)
        key = (plan.strategy, len(prepared.chapters), *(int(log(size, _ALIKE)) for size in sizes))
        if key not in self._known:
            self._known[key] = dry_run(prepared, order, self._prices)
        like = self._known[key]
        return like, plan.document_tokens / like.source.tokens


_ALIKE = 1.2
"""The largest ratio of lengths of documents of similar size."""


def without_person(order: RunSpec) -> RunSpec:
    """Return the order changed so that it needs neither a person nor an encoder. All rounds of LongSumEval's
    policy are made: a goal of 1 is never met."""
    if (judging := order.judging) is None:
        return order
    update: dict[str, Any] = {"embeddings": None}
    if judging.similarity == "cosine":
        update["similarity"] = "rouge1"
    changes: dict[str, Any] = {"judging": judging.model_copy(update=update)}
    if order.refinement is not None:
        goals = dict.fromkeys(order.refinement.goals, 1.0)
        unmet = {"goals": goals} if order.refinement.policy == "paper" else {}
        changes["refinement"] = order.refinement.model_copy(update={"review": False, **unmet})
    return replace(order, order=order.order.model_copy(update=changes))
