"""Estimates what a run takes in calls, tokens, cost and time: it is made on a store in memory, with counting models in
place of its own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Annotated, Any, Literal, TypeVar, cast

from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field, InstanceOf

from redraft.builtin.facade import open_model
from redraft.builtin.stand_in import TYPICAL, USUAL, Handler, StandIn
from redraft.domain import Document, Usage, widened
from redraft.errors import RedraftError, UnreadableReply
from redraft.evaluators.base import METRIC, Evaluator
from redraft.evaluators.catalog import names, with_rubrics
from redraft.graphs.prepared import ModelPool, PreparedDocument
from redraft.llm import structured_output
from redraft.llm.base import Reply, Request, Sampling
from redraft.llm.recorded import most_tokens_in, request_key, value_in
from redraft.order import Build, ExperimentPart, Order, Summarize
from redraft.prompts import coherence, factual, qa, revision, summarization
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Answers, InputT, Prompt, Sentences, ValueT
from redraft.prompts.tags import TagContext, Tags
from redraft.report.history.results import Result
from redraft.report.tables import Entry
from redraft.runs.driver import Runner
from redraft.runs.model_settings import identity_of
from redraft.runs.models import ModelRole, known_window, pool_of, reasoning_reserve
from redraft.runs.order import SessionOrder, order_of_chapter
from redraft.runs.prepare import check_judging, prepare_run, record
from redraft.runs.sync import run_to_end
from redraft.settings import EXTRACTIVE, DraftConfig, Limits, Price, Role, reads_prompts
from redraft.store.connection import off_loop
from redraft.store.documents import QuestionSets
from redraft.store.plain_serializer import PlainSerializer
from redraft.store.runs import Run
from redraft.store.store import Store

DRAFTING = "drafting"


@dataclass(slots=True)
class Stage:
    """One kind of work over all rounds: estimated calls and tokens, and the role of the model."""

    name: str
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    by: Role = "judge"

    def add(self, calls: int, usage: Usage | Stage) -> None:
        """Count more calls, with their tokens."""
        self.calls += calls
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens


@dataclass(slots=True, kw_only=True)
class StageUsage(Stage):
    """The counted usage of one model in one stage."""

    settings: DraftConfig
    price: Price | None
    """None if it is unknown."""
    spare_prompt_tokens: int = 0
    spare_completion_tokens: int = 0
    """How many more tokens than are estimated a budget reserves for one of the calls, at most."""

    @property
    def reasoning_tokens(self) -> int:
        """Return the most tokens that the model may use for reasoning, besides its replies."""
        return self.calls * reasoning_reserve(self.settings)

    def cost(self, reasoning: int = 0) -> float | None:
        """Return the cost with this many tokens of reasoning; None if the price of the model is unknown."""
        usage = Usage(self.prompt_tokens, self.completion_tokens + reasoning)
        return None if self.price is None else self.price.of(usage)


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of some costs; None if one is unknown."""
    summands = list(costs)
    return None if None in summands else sum((cost or 0.0 for cost in summands), 0.0)


class PlannedSource(Entry):
    """The document of a plan."""

    id: str
    title: str
    tokens: int
    words: int
    chunks: int


class PlannedModel(Entry):
    """A model that is named for a role. Its window is None if it reads no prompts."""

    role: Role
    name: str
    model: str
    context_tokens: int | None


class PlannedCalls(Entry):
    """How much is asked, retries not included."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    """The most tokens that models may use for reasoning, besides the replies."""


class Estimate(PlannedCalls):
    """What drafting and judging takes."""

    words: int
    chunks: int
    cost_usd: float | None
    """Without reasoning; None if the price of a model is unknown."""
    max_cost_usd: float | None
    """With as much reasoning as there is room for, and for a run also what a limit of cost has to reserve for the last
    call: a run with this limit, in which nothing is asked twice, does not reach it."""
    unpriced: tuple[str, ...]
    """The models whose price is unknown."""


class RunPlan(Estimate):
    """What a run takes, retries not included: what the command's `--dry-run` prints, with or without `--json`."""

    source: PlannedSource
    model: str
    judges: tuple[str, ...]
    validator: str | None
    models: tuple[PlannedModel, ...]
    """The models that are named to judge and decide."""
    tokenizer: str
    strategy: str
    drafting: Stage
    stages: tuple[Stage, ...]
    """What follows the draft, by stage: what is built, then each metric, then the refinement."""
    seconds: float | None
    """From the pace of each model's latest answers in the store; None if a model has not answered yet."""
    warnings: tuple[str, ...]
    """Remarks on the document and the models, in sentences."""
    chapters: Annotated[tuple[RunPlan, ...], Field(exclude_if=lambda plans: not plans)] = ()
    """The plans of chapters that are drafted separately; all totals include them."""
    order: Annotated[Order, Field(exclude=True)] = Summarize()
    work: Annotated[tuple[InstanceOf[StageUsage], ...], Field(exclude=True)] = ()
    """What is counted of each model in each stage, without chapters."""

    @property
    def settings(self) -> DraftConfig:
        """Return the settings of the run, as prepared for its document."""
        return self.order.settings

    def __repr__(self) -> str:
        cost = "unknown" if self.cost_usd is None else f"{self.cost_usd:.4f}"
        tokens = f"prompt_tokens={self.prompt_tokens}, completion_tokens={self.completion_tokens}"
        return f"RunPlan(calls={self.calls}, {tokens}, cost_usd={cost}, seconds={self.seconds})"


def seconds_of(store: Store, plan: RunPlan, at_once: int) -> float | None:
    """Estimate the seconds from the pace of each model's latest answers; None if a model has not answered yet.

    Parts of drafts are written in parallel, then merged; judges wait for each draft, and revisions for the judges.
    """
    rounds = 1 + (plan.order.refinement.rounds if plan.order.refinement else 0)
    total = 0.0
    for usage in plan.work:
        answers, seconds = store.calls.pace(usage.settings.model)
        if not answers and usage.calls:
            return None
        turns = 1 if usage.name == DRAFTING else rounds
        width = at_once if reads_prompts(usage.settings.model) else 1
        total += seconds * turns * ceil(usage.calls / turns / width)
    return total + sum(seconds_of(store, plan, at_once) or 0.0 for plan in plan.chapters)


Item = TypeVar("Item", bound=BaseModel)
_ASKING = "asking about the document"
_FINDING_FACTS, _VALIDATING_FACTS = "finding key facts", "validating key facts"
_QUERYING = "asking what the trees answer"
_ALIGNING, _PREFERENCE, _REVISING = "aligning key facts", "preference", "revising"
_PROMPTS_OF_STAGES: tuple[tuple[str, Role, tuple[Prompt[Any, Any], ...]], ...] = (
    (DRAFTING, "writer", (summarization.OUTLINE,)),
    ("answering", "writer", (qa.WRITE_ANSWER,)),
    (_ASKING, "judge", (qa.ASK_DOCUMENT, qa.RANK_QUESTIONS)),
    (_FINDING_FACTS, "judge", tuple(factual.KEYFACT_PROMPTS.values())),
    (_VALIDATING_FACTS, "validator", (factual.FACTS_FAITHFUL, factual.FACTS_OBJECTIVE, factual.FACTS_SIGNIFICANT)),
    (_QUERYING, "judge", tuple(factual.QUERY_PROMPTS.values())),
    (_ALIGNING, "judge", (factual.ALIGN_FACTS,)),
    (_PREFERENCE, "judge", (coherence.PREFER_SUMMARY,)),
    ("deciding", "decider", (revision.DECIDE,)),
    ("second looks", "judge", (factual.RULE_ON_FINDINGS,)),
    (_REVISING, "writer", (revision.CRITICIZE, revision.REVISE, revision.EDIT)),
    ("comparing revisions", "judge", (revision.CHOOSE_DRAFT,)),
)
"""The stages with prompts that no metric sends by itself, in their order; metrics follow what is built for them."""
_STAGES = {prompt.name: (stage, role) for stage, role, prompts in _PROMPTS_OF_STAGES for prompt in prompts}
_BUILT_FOR = {"coverage": (_ASKING,), "keyfact_recall": (_FINDING_FACTS, _VALIDATING_FACTS, _QUERYING)}
_SMALL = 20_000
"""About a document of at most so many tokens the built-in model is asked itself: that takes no time."""
_LONG = 2_000
"""Texts of at least this many characters are counted apart from their prompts, once for all of them."""
_FIRST_WORD = re.compile(r"(?:^|(?<=[.。] ))\w+")
_QUESTIONS_A_SENTENCE = 3


@dataclass(slots=True)
class UsageTally:
    """The counted usage of one run."""

    prepared: PreparedDocument
    run: Run
    number: int = 0
    """The number of the run among all of the same store."""
    work: dict[tuple[object, ...], StageUsage] = field(default_factory=dict)

    def note(self, role: ModelRole, prompt: Prompt[Any, Any], usage: Usage, most: Usage) -> None:
        """Count a request to a model, and the `most` that it can use, in the stage to which it belongs, such as a
        metric."""
        metric, judging = METRIC.get(), self.run.judging
        by: Role
        if isinstance(self.run.order, ExperimentPart):
            stage, by = prompt.name, role.role
        elif prompt.name == factual.ALIGN_FACTS.name and judging and "keyfact_recall" in judging.metrics:
            # Facts are aligned for this metric, and for others only where it is not judged.
            stage, by = "keyfact_recall", "judge"
        elif prompt.name in _STAGES:
            stage, by = _STAGES[prompt.name]
        else:
            stage, by = (metric, "judge") if metric else (DRAFTING, "writer")
        new_stage = StageUsage(stage, by=by, settings=role.settings, price=role.price)
        work = self.work.setdefault((stage, by, *role.asked_as), new_stage)
        work.add(1, usage)
        work.spare_prompt_tokens = max(work.spare_prompt_tokens, most.prompt_tokens - usage.prompt_tokens)
        spare = most.completion_tokens - usage.completion_tokens
        work.spare_completion_tokens = max(work.spare_completion_tokens, spare)

    def with_objections(self, reply: object, inputs: object) -> object:
        """Return a reply about a draft with objections, so that a metric has findings: to so many of each twelve items
        of a refined draft, at first for every metric, after a revision only for coverage. Each revision as in
        LongSumEval leaves fewer, and none of them leaves nothing."""
        metric, objections = METRIC.get(), 0
        if self.run.refinement is not None:
            revisions = sum(usage.calls for usage in self.work.values() if usage.name == _REVISING)
            objections = 2 if metric == "coverage" or not revisions else 0
            objections = max(1, 4 - revisions) if self.run.refinement.policy == "paper" else objections
        if isinstance(inputs, qa.AnswerFromSummaryInput):
            numbers = [line.id for line in inputs.sentences]
            # A later part of a long summary answers none of the questions: the first part does.
            is_later_part = numbers[0] > 1 and numbers[-1] - numbers[0] == len(numbers) - 1
            objections = 12 if is_later_part else objections

        def changed(items: Sequence[Item], update: dict[str, Any], together: int = 1) -> list[Item]:
            return [
                item.model_copy(update=update) if at // together % 12 * objections % 12 < objections else item
                for at, item in enumerate(items)
            ]

        match reply:
            case Answers(answers=[qa.SummaryAnswer(), *_] as answers):
                silent = {"answered": False, "answer": "", "sentences": []}
                return qa.SummaryAnswers(answers=changed(answers, silent))
            case qa.Comparisons(comparisons=comparisons) if metric == "consistency":
                together = {"verdict": "contradicts"}, _QUESTIONS_A_SENTENCE
                return qa.Comparisons(comparisons=changed(comparisons, *together))
            case Sentences(sentences=[factual.Verification(), *_] as sentences):
                return factual.Verifications(sentences=changed(sentences, {"category": "entity"}))
            # Without a metric, only questions that should have no answer are asked of a document.
            case Answers(answers=[qa.DocumentAnswer(), *_] as answers) if not metric:
                silent = {"answered": False, "answer": "", "quote": ""}
                return qa.DocumentAnswers(answers=[answer.model_copy(update=silent) for answer in answers])
        return reply


@dataclass(slots=True)
class CountingModel:
    """A `Model` that stands in for another under its identity. Equal requests are counted once."""

    role: ModelRole
    book: PromptBook
    tally: UsageTally
    runs: DryRuns

    @property
    def identity(self) -> str:
        """Return the identity of the model that is not asked."""
        return identity_of(self.role.settings) if self.role.model is None else self.role.model.identity

    @property
    def answers_itself(self) -> bool:
        """Return whether it is the built-in model with a small document."""
        return self.role.settings.model == EXTRACTIVE and self.tally.prepared.plan.document_tokens <= _SMALL

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the limit that the request sets."""
        return sampling.max_tokens or 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Answer a request. Raises `UnreadableReply` for a prompt whose reply has to satisfy more than its schema."""
        if isinstance(request.given, summarization.TidyInput) and not self.answers_itself:
            # What a stand-in repeats are words of the document.
            return Reply(cast("ValueT", request.given.summary), request.given.summary, Usage(0, 0))
        # Long texts are counted apart from the prompt, which has a full stop in place of each.
        long_texts: list[str] = []

        def short(value: Any) -> Any:
            if isinstance(value, list):
                return [short(entry) for entry in value]
            if isinstance(value, str) and len(value) >= _LONG:
                long_texts.append(value)
                return "."
            return value

        shortened = {name: short(value) for name, value in request.given}
        short_input = request.given.model_copy(update=shortened) if long_texts else request.given
        text = self.book.render(request.prompt, short_input)
        key = (*self.role.asked_as, request.prompt.name, text, tuple(map(hash, long_texts)), request.sampling)
        replies = self.runs.replies
        if key not in replies and (stored := await off_loop(self._stored, request)) is not None:
            return stored
        # An equal request may have been counted while the store was read.
        is_new = key not in replies
        if is_new:
            replies[key] = await self._value(request)
        value = replies[key]
        tags = TagContext(Tags(request.given))
        sent = value.model_dump_json(by_alias=True, context=tags) if isinstance(value, BaseModel) else str(value)
        parts = (text, *long_texts, structured_output.prompt_schema(request))
        usage = Usage(sum(map(self._count_tokens, parts)), self._count_tokens(sent))
        if is_new:
            most = most_tokens_in(replace(request, text="\n".join((text, *long_texts))))
            room = max(usage.completion_tokens, self.most_tokens(request.sampling))
            self.tally.note(self.role, request.prompt, usage, Usage(most, room))
        if not isinstance(value, request.prompt.returns):
            raise UnreadableReply("no ordinary reply is known", text=sent, usage=usage)
        return Reply(value, sent, usage)

    def _count_tokens(self, text: str) -> int:
        tokenizer = self.tally.prepared.tokenizer
        if len(text) < _LONG:
            return tokenizer.count(text)
        if (text, tokenizer.name) not in self.runs.counts:
            self.runs.counts[text, tokenizer.name] = tokenizer.count(text)
        return self.runs.counts[text, tokenizer.name]

    def _stored(self, request: Request[Any, ValueT]) -> Reply[ValueT] | None:
        """Return the reply in the user's store; None if there is none."""
        if self.runs.user_store is None:
            return None
        sampling = replace(request.sampling, top_p=request.sampling.top_p or self.role.settings.top_p)
        rendered = replace(request, text=self.book.render(request.prompt, request.given), sampling=sampling)
        answer = self.runs.user_store.calls.find(request_key(rendered, self.identity), None, sampling.max_tokens)
        if answer is None:
            return None
        text = answer.reply or ""
        return Reply(value_in(request, text), text, Usage(0, 0), answer.finish_reason, cached=True)

    async def _value(self, request: Request[Any, Any]) -> object:
        if self.answers_itself:
            with suppress(RedraftError):
                return (await open_model().ask(request)).value
        query, handlers = self.tally.run.settings.query, dict[str, Handler](USUAL)
        if query:
            trees_answer = factual.Query(query=query)
            handlers |= {prompt.name: lambda _: trees_answer for prompt in factual.QUERY_PROMPTS.values()}
        try:
            reply = StandIn(self.identity, handlers, TYPICAL).answer(request.prompt, request.given)
        except UnreadableReply as error:
            return str(error.__cause__)
        if not isinstance(reply, str):
            return self.tally.with_objections(reply, request.given)
        # Each sample, and each run, has sentences of its own.
        variant = f"{self.tally.number or ''}{'x' * min(1, request.sampling.sample)}{request.sampling.sample or ''}"
        if request.prompt in (revision.REVISE, revision.EDIT):
            return reply.replace("<revision>\n", f"<revision>\n{variant} ", 1) if self.tally.number else reply
        return _FIRST_WORD.sub(rf"\g<0>{variant}", reply) if variant else reply


class DryRuns(Runner):
    """Runs on a store in memory with counting models."""

    def __init__(self, defaults: SessionOrder, user_store: Store | None = None) -> None:
        """Open the store; `defaults` have the models, prices and metrics. What is in the `user_store` is free."""
        super().__init__(Store(":memory:"), defaults)
        self._saver = InMemorySaver(serde=PlainSerializer(self.store.checkpoints.place))
        self.tallies: dict[str, UsageTally] = {}
        self.user_store = user_store
        self.counts: dict[tuple[str, str], int] = {}
        """The token counts of long texts, each with the name of the tokenizer."""
        self.replies: dict[tuple[object, ...], object] = {}
        """The replies of all models to counted requests, as in the cache."""
        self._built: dict[tuple[str, str, str], str | None] = {}

    async def aclose(self) -> None:
        """Close every run and the store."""
        await super().aclose()
        self.store.close()

    @asynccontextmanager
    async def models(
        self, assigned: Sequence[ModelRole], run: Run, prepared: PreparedDocument, *_: object, **__: object
    ) -> AsyncIterator[ModelPool]:
        """Replace each model by a counting model."""
        tally = self.tallies.setdefault(run.id, UsageTally(prepared, run, len(self.tallies)))
        for chunk in prepared.chunks:
            self.counts[prepared.document.text[slice(*chunk.span)], prepared.tokenizer.name] = chunk.tokens
        yield pool_of(assigned, prepared.book, lambda role, book: CountingModel(role, book, tally, self))

    async def run_prepared(self, prepared: PreparedDocument, order: Order) -> Result:
        """Run what was prepared. Questions and key facts of the user's store are replaced by
        ones built here first, which are not counted."""
        prepared.plan  # noqa: B018  (a document that cannot be planned is refused here)
        if self.user_store is not None:
            self.store.documents.add(prepared.document)
            self.store.learn(self.user_store, prepared.document.id)
        if order.judging is not None:
            update: dict[str, str | None] = {}
            shelves: dict[Literal["pack", "keyfacts"], QuestionSets[Any]]
            shelves = {"pack": self.store.packs, "keyfacts": self.store.keyfacts}
            for name, shelf in shelves.items():
                pack = getattr(order.judging, name)
                if pack and not any(stored.id == pack for stored, _ in shelf.all()):
                    key = (prepared.document.id, name, pack)
                    if key not in self._built:
                        bare = order.judging.model_copy(update={"pack": None, "keyfacts": None, "metrics": ()})
                        built = await self.run_prepared(prepared, Build(kind=name, judging=bare))
                        self._built[key] = getattr(built.run.judging, name)
                    update[name] = self._built[key]
            order = order.model_copy(update={"judging": order.judging.model_copy(update=update)})
        order = order.model_copy(update={"limits": Limits()})
        run = record(prepared, order, self.store, self.defaults.evaluators)
        self.prepared[run.id] = prepared
        return await self.work_on(run)

    def plan_of_run(self, run: str, order: Order) -> RunPlan:
        """Return what was counted of a run, and its chapters."""
        tally, judging = self.tallies[run], order.judging
        prepared, plan, work = tally.prepared, tally.prepared.plan, tuple(tally.work.values())
        settings, roles = prepared.settings, self.roles(tally.run.order)
        by_role = {role.role: role for role in reversed(roles)}
        validator = by_role.get("validator") or by_role.get("judge") or roles[0]
        parts = [chapter.run for chapter in self.store.chapters.of(run) if chapter.run]
        chapters = [self.plan_of_run(part, order_of_chapter(order)) for part in parts]
        drafting, *stages = _stages(work, order, self.defaults.evaluators)
        costs = [usage.cost() for usage in work]
        highest_costs = [usage.cost(usage.reasoning_tokens) for usage in work]
        # What a budget reserves for the last call beyond its estimate; earlier ones have been settled.
        spare_usages = ((use.price, Usage(use.spare_prompt_tokens, use.spare_completion_tokens)) for use in work)
        spare = max((price.of(usage) for price, usage in spare_usages if price), default=0.0)
        unpriced = [usage.settings.model for usage in work if usage.price is None]
        counted: list[StageUsage | RunPlan] = [*work, *chapters]
        sizes = {"tokens": plan.document_tokens, "words": plan.document_words}
        return widened(
            RunPlan,
            plan,
            source=widened(PlannedSource, prepared.document, plan, **sizes),
            model=settings.model,
            judges=(judging.judges or (settings.model,)) if judging else (),
            validator=validator.settings.model if judging else None,
            models=tuple(
                widened(PlannedModel, role.settings, role, context_tokens=role.settings.window) for role in roles[1:]
            ),
            tokenizer=prepared.tokenizer.name,
            drafting=drafting,
            stages=tuple(stages),
            **{figure: sum(getattr(usage, figure) for usage in counted) for figure in PlannedCalls.model_fields},
            cost_usd=total_cost([*costs, *(chapter.cost_usd for chapter in chapters)]),
            max_cost_usd=total_cost([*highest_costs, spare, *(chapter.max_cost_usd for chapter in chapters)]),
            unpriced=tuple(dict.fromkeys([*unpriced, *(name for chapter in chapters for name in chapter.unpriced)])),
            seconds=None,
            warnings=(*prepared.warnings, *prepared.notes),
            chapters=tuple(chapters),
            order=order.model_copy(update={"settings": settings}),
            work=work,
        )


def _stages(work: Sequence[StageUsage], order: Order, metrics: Sequence[Evaluator]) -> list[Stage]:
    """Return the work in each stage, summed over all models: drafting, what is built, each metric, the refinement."""
    metric_names = names(with_rubrics(order.judging, metrics))
    stages_by_metric = [stage for name in metric_names for stage in (*_BUILT_FOR.get(name, ()), name)]
    stages_by_prompt = [stage for stage, _, _ in _PROMPTS_OF_STAGES if stage not in stages_by_metric]
    ranks = [*stages_by_prompt[:2], *stages_by_metric, *stages_by_prompt[2:]]
    stages = {DRAFTING: Stage(DRAFTING, by="writer")}
    for usage in work:
        stages.setdefault(usage.name, Stage(usage.name, by=usage.by)).add(usage.calls, usage)
    return sorted(stages.values(), key=lambda stage: ranks.index(stage.name))


def plan_run(
    document: Document | PreparedDocument,
    order: Order,
    defaults: SessionOrder,
    user_store: Store | None = None,
    at_once: int = 0,
) -> RunPlan:
    """Return what a run takes beyond what is in the `user_store`, on a document or one that is prepared. No model is
    asked, no server for its window, and nothing is stored. `defaults` have the models, prices and metrics. With the
    number of requests that are made `at_once`, the time is estimated, and a run that could not begin is refused."""
    prepared, order = prepare_run(document, order, known_window, defaults.roles.objects)
    if at_once and user_store is not None:
        check_judging(order, prepared, user_store, defaults.evaluators)

    async def counted() -> RunPlan:
        async with DryRuns(defaults, user_store) as runs:
            result = await runs.run_prepared(prepared, without_person(order))
            return runs.plan_of_run(result.run.id, order)

    plan = run_to_end(counted)
    if at_once and user_store is not None:
        plan = plan.model_copy(update={"seconds": seconds_of(user_store, plan, at_once)})
    return plan


def without_person(order: Order) -> Order:
    """Return the order changed so that it needs neither a person nor an encoder. All rounds of LongSumEval's
    policy are made: a goal of 1 is never met."""
    if (judging := order.judging) is None:
        return order
    similarity = "rouge1" if judging.similarity == "cosine" else judging.similarity
    parts: dict[str, Any] = {"judging": judging.model_copy(update={"embeddings": None, "similarity": similarity})}
    if (refinement := order.refinement) is not None:
        goals = dict.fromkeys(refinement.goals, 1.0) if refinement.policy == "paper" else refinement.goals
        parts["refinement"] = refinement.model_copy(update={"review": False, "goals": goals})
    return order.model_copy(update=parts)
