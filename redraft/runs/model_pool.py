"""The models of a run, open as long as it works: by name or as objects, all on one ledger and one budget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from langchain_core.language_models import BaseChatModel

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.events import Noted, Observer
from redraft.llm.addresses import OPENAI, address_in, has_usual_key, is_here, key_server, provider_of, server_at
from redraft.llm.base import Model
from redraft.llm.budget import Budget
from redraft.llm.chat import as_model
from redraft.llm.prices import PriceTable, builtin_prices
from redraft.llm.rate_limiter import Limiter, shared_limiter
from redraft.llm.recorded import RecordedModel
from redraft.prompts.book import PromptBook, prompt_choice
from redraft.runs.model_names import NOBODY, as_judge, named_in, under_name
from redraft.runs.models import exact_tokenizer, open_model, price_of, resolve
from redraft.settings import DraftConfig, JudgeConfig, Limits, ModelSettings, Price, RefineConfig, Role, reads_prompts
from redraft.store.batches import ByJob
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.languages import known_language, unshown
from redraft.text.tokens import Tokenizer


@dataclass(frozen=True, slots=True)
class WorkingModel:
    """Somebody at work: a model, the settings that it works under in a role, and the prompts that it is asked by."""

    model: Model
    settings: DraftConfig
    book: PromptBook

    @property
    def window(self) -> int | None:
        """The most tokens of a prompt with its reply; who reads none has no window."""
        return self.settings.context_tokens if reads_prompts(self.settings.model) else None


@dataclass(frozen=True, slots=True)
class ModelPool:
    """Who writes, and who judges: the first of the judges asks the questions."""

    writer: WorkingModel
    judges: tuple[WorkingModel, ...]
    validator: WorkingModel
    """Who validates the key facts that the first judge finds."""
    decider: WorkingModel
    """Who decides what a revision shall mend, where the policy leaves that to a model."""


@dataclass(frozen=True, slots=True)
class ModelRole:
    """A model under the settings that name it; `model` takes the place of opening it."""

    role: Role
    settings: DraftConfig
    price: Price | None
    model: Model | None = None
    usual_key: bool = True
    """Whether it may have OPENAI_API_KEY, where it has no key of its own."""

    @property
    def opened_as(self) -> tuple[object, ...]:
        """The same for all the roles that one model may have: of whom else nothing is known that it is not."""
        it = self.settings
        if self.model is not None:
            return (it.model,)
        return (it.model, it.base_url, it.key_env, it.replies, it.reasoning_tokens, self.usual_key)

    @property
    def asked_as(self) -> tuple[object, ...]:
        """The same for all its roles in which it is asked by the same prompts and within the same bounds."""
        it = self.settings
        return (*self.opened_as, it.prompts, it.top_p, it.max_tokens, self.price)


class Readable(Protocol):
    """What is read, and by which prompts: all that the models of a run must be told of it."""

    @property
    def document(self) -> Document: ...

    @property
    def book(self) -> PromptBook: ...


def by_identity(models: Iterable[Model]) -> dict[str, Model]:
    """The models that are handed over, by identity: under it they are named in settings and on record.

    One object may have several roles. Two of one identity would answer for each other out of the cache, so they are
    refused.
    """
    known: dict[str, Model] = {}
    for model in models:
        if known.setdefault(model.identity, model) is not model:
            raise _confused(model.identity)
    return known


def _confused(identity: str) -> UsageError:
    return UsageError(
        f"two models have the identity {identity}, so their answers could not be told apart",
        hint="give each its own, with ChatModel(chat, identity=...), or let one judge several times with repeat",
    )


def assign_models(
    settings: DraftConfig,
    judging: JudgeConfig | None,
    limits: Limits,
    prices: PriceTable | None,
    *,
    refinement: RefineConfig | None = None,
    objects: Mapping[str, Model] = NOBODY,
) -> list[ModelRole]:
    """The writer, then those who judge and decide, each at its price. A cost limit needs the price of every one.

    A name that is the identity of one of the `objects` means that object; any other is opened.
    """
    table = prices or builtin_prices()
    if limits.provider_batch:
        table = table.for_jobs()
    assigned = [ModelRole("writer", settings, _price(settings, limits, table), objects.get(settings.model))]
    for role, name in named_in(judging, refinement):
        model = objects.get(name)
        under = under_name(name, settings, judging, objects)
        under = under if model else resolve(under)
        assigned.append(ModelRole(role, under, _price(under, limits, table), model))
    if limits.provider_batch:
        _check_jobs(assigned)
    return _with_keys(assigned)


def _check_jobs(assigned: Sequence[ModelRole]) -> None:
    """Jobs are of OpenAI's protocol: refuse whoever is asked in another, and a run in which nobody is."""
    asked = [one for one in assigned if one.model is not None or reads_prompts(one.settings.model)]
    others = [one.settings.model for one in asked if one.model or provider_of(one.settings.model) != OPENAI]
    if others or not asked:
        what = f"{others[0]} uses another" if others else "no model here supports it"
        raise UsageError(
            f"--provider-batch needs OpenAI's protocol, and {what}",
            hint="leave it out, or use openai:NAME models",
        )


def _with_keys(assigned: Sequence[ModelRole]) -> list[ModelRole]:
    """Who may have OPENAI_API_KEY: whoever is at the one server that it goes to."""

    def wants(one: ModelRole) -> bool:
        return one.model is None and provider_of(one.settings.model) == OPENAI and one.settings.key_env is None

    home = key_server([one.settings.base_url or "" for one in assigned if wants(one)])
    return [replace(one, usual_key=wants(one) and server_at(one.settings.base_url or "") == home) for one in assigned]


def without_key(assigned: Sequence[ModelRole]) -> list[str]:
    """Whoever gets no key, though there is one for somebody else: servers away from this machine mostly want one."""
    there = [one for one in assigned if one.model is None and provider_of(one.settings.model) == OPENAI]
    keyless = [one.settings for one in there if one.settings.key_env is None and not one.usual_key]
    return [
        f"{it.model} at {it.base_url} is asked without a key: OPENAI_API_KEY goes to one server, which is another"
        " (key_env of its own settings names one)"
        for it in keyless
        if has_usual_key() and not is_here(it.base_url or "")
    ]


def _price(settings: DraftConfig, limits: Limits, table: PriceTable) -> Price | None:
    price = price_of(settings, table)
    if price is None and limits.max_cost is not None:
        raise UsageError(
            f"the price of {settings.model} is not known, so --max-cost cannot be kept",
            hint="give its price with --prices FILE, or use --max-calls",
        )
    return price


def under_settings(assigned: Sequence[ModelRole]) -> dict[Role, DraftConfig]:
    """Under which settings each role works, the first judge's for all judges. Where nobody is named, somebody else does
    the work."""
    first: dict[Role, DraftConfig] = {}
    for one in assigned:
        first.setdefault(one.role, one.settings)
    writer = first["writer"]
    judge = first.get("judge", as_judge(writer))
    everybody: dict[Role, DraftConfig] = {
        "writer": writer,
        "judge": judge,
        "validator": judge,
        "decider": as_judge(writer),
    }
    return {**everybody, **first}


def books(assigned: Sequence[ModelRole], book: PromptBook) -> list[PromptBook]:
    """The prompts by which each of them is asked: the writer's, unless they have some of their own."""
    made = {assigned[0].settings.prompts: book}
    return [made.setdefault(one.settings.prompts, _book(one, made)) for one in assigned]


def _book(one: ModelRole, made: Mapping[str, PromptBook]) -> PromptBook:
    return made.get(one.settings.prompts) or PromptBook(one.settings.prompts)


@asynccontextmanager
async def at_work(
    assigned: Sequence[ModelRole],
    run: Run,
    prepared: Readable,
    store: Store,
    observer: Observer,
    budget: Budget | None = None,
) -> AsyncIterator[ModelPool]:
    """Open every model, one that is named twice only once. A `budget` is shared with other runs."""
    limits, language = run.limits, unshown(prepared.document) or known_language(prepared.document)
    if budget is None:
        budget = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost, pot=run.id)
    opened: dict[tuple[object, ...], Model] = {}
    asked: dict[tuple[object, ...], Model] = {}
    aside = replace(assigned[0], settings=as_judge(assigned[0].settings))
    workers: list[WorkingModel] = []
    async with AsyncExitStack() as stack:
        everybody = [*assigned, aside]
        for one, its in zip(everybody, await off_loop(books, everybody, prepared.book), strict=True):
            if one.opened_as not in opened:
                opened[one.opened_as] = await _opened(one, limits, stack, store, observer)
                _check_twins(assigned, opened)
            model = opened[one.opened_as]
            if one.asked_as not in asked:
                limiter = _limiter(one.settings.base_url, model.identity, limits, store, budget)
                asked[one.asked_as] = RecordedModel(
                    model,
                    book=its,
                    store=store,
                    limiter=limiter,
                    run=run.id,
                    budget=budget,
                    price=one.price,
                    tokenizer=await off_loop(_counting, one, limits),
                    top_p=one.settings.top_p,
                    max_tokens=one.settings.max_tokens,
                    in_jobs=limits.provider_batch,
                    observer=observer,
                    language="" if reads_prompts(one.settings.model) else language,
                )
            workers.append(WorkingModel(asked[one.asked_as], one.settings, its))
        yield team([one.role for one in assigned], workers)


def _limiter(address: str | None, identity: str, limits: Limits, store: Store, budget: Budget) -> Limiter:
    """Who lets requests through to where a model is, at the pace of all processes where the budget is paced."""
    provider = address or address_in(identity) or provider_of(identity) or identity
    requests, tokens = limits.requests_per_minute, limits.tokens_per_minute
    if limits.provider_batch:
        requests = tokens = None  # of a job the provider says itself how much it takes
    shared = budget.paced and not requests is tokens is None
    limiter_key = f"{budget.terms.pot} {provider}" if shared else ""

    async def pace(size: int) -> float:
        return await off_loop(
            store.turns.take, limiter_key, size, requests_per_minute=requests, tokens_per_minute=tokens
        )

    return shared_limiter(
        provider,
        limits.at_once,
        requests_per_minute=requests,
        tokens_per_minute=tokens,
        limiter_key=limiter_key,
        pace=pace if shared else None,
    )


async def _opened(one: ModelRole, limits: Limits, stack: AsyncExitStack, store: Store, observer: Observer) -> Model:
    if one.model is not None:
        return one.model
    by_job = ByJob(store.jobs, lambda said: observer(Noted(said))) if limits.provider_batch else None
    opening = open_model(one.settings, seconds=limits.timeout, usual_key=one.usual_key, by_job=by_job)
    return await stack.enter_async_context(opening)


def _check_twins(assigned: Sequence[ModelRole], opened: Mapping[tuple[object, ...], Model]) -> None:
    """Refuse two models that would answer for each other. One name at one address is one model, which may have several
    roles, but does not judge beside itself."""
    known: dict[str, tuple[object, ...]] = {}
    judges: set[str] = set()
    for one in assigned:
        model = opened.get(one.opened_as)
        if model is None:
            continue
        twice = one.role == "judge" and model.identity in judges
        if twice or known.setdefault(model.identity, one.opened_as[:2]) != one.opened_as[:2]:
            raise _confused(model.identity)
        judges |= {model.identity} if one.role == "judge" else set()


def _counting(one: ModelRole, limits: Limits) -> Tokenizer | None:
    """Who counts as the provider does, where that matters and where somebody does."""
    return exact_tokenizer(one.settings) if limits.max_cost is not None and one.model is None else None


def team(roles: Sequence[Role], workers: Sequence[WorkingModel]) -> ModelPool:
    """Everybody in the role that they have; one for whom nobody is named is filled by somebody else, last of all by the
    writer, aside from writing."""

    def of(role: Role) -> list[WorkingModel]:
        return [worker for its, worker in zip(roles, workers, strict=False) if its == role]

    writer, aside = workers[0], workers[-1]
    judges = of("judge") or [aside]
    return ModelPool(writer, tuple(judges), (of("validator") or judges)[0], (of("decider") or [aside])[0])


def located(
    judging: JudgeConfig,
    settings: DraftConfig,
    refinement: RefineConfig | None = None,
    objects: Mapping[str, Model] = NOBODY,
) -> JudgeConfig:
    """The judging with its models' address filled in, so that it is on record; names that mean nothing are refused.

    Objects bring their own addresses. Where the models that are named have several addresses none is filled in: then
    each provider's are where the writer's are, or where the provider is.
    """
    if twice := next((name for name in judging.judges if judging.judges.count(name) > 1), None):
        raise UsageError(f"the judge {twice} is named twice", hint="use --repeat to let a judge judge more than once")
    names = [name for _, name in named_in(judging, refinement)]
    models = {name: _settled(judging.models[name]) for name in names if name in judging.models}
    bare = {name for name in names if reads_prompts(name)} - {*objects, *models}
    addresses = {resolve(under_name(name, settings, judging, objects)).base_url for name in bare}
    address = addresses.pop() if len(addresses) == 1 else judging.base_url
    return judging.model_copy(update={"base_url": address, "models": models})


def _settled(given: ModelSettings) -> ModelSettings:
    """A model's own settings with its address and its prompts as they are from everywhere."""
    there = resolve(DraftConfig(model=given.model, base_url=given.base_url, key_env=given.key_env))
    prompts = given.prompts and prompt_choice(given.prompts)
    return given.model_copy(update={"base_url": there.base_url, "key_env": there.key_env, "prompts": prompts})


ModelLike = str | ModelSettings | Model | BaseChatModel
"""A model by name, as on the command line, or with settings of its own, or an object: one of redraft's models, or any
LangChain chat model."""
# What a model has of its own, whatever a run says.
_ITS_OWN = frozenset({"model", "base_url", "key_env"})


@dataclass(frozen=True, slots=True)
class ModelRoles:
    """The names of those who write, judge, validate and decide, and the objects behind them where there are any."""

    model: str | None = None
    judges: tuple[str, ...] = ()
    validator: str | None = None
    decider: str | None = None
    objects: dict[str, Model] = field(default_factory=dict)
    """By identity."""
    writer: ModelSettings | None = None
    """What the writer has of its own."""
    models: dict[str, ModelSettings] = field(default_factory=dict)
    """What the others have of their own, by name."""

    def settings(self, settings: DraftConfig) -> DraftConfig:
        """The settings with the writer of the session."""
        if self.writer is None:
            return settings if self.model is None else settings.model_copy(update={"model": self.model})
        own = {name: getattr(self.writer, name) for name in {*self.writer.model_fields_set, *_ITS_OWN}}
        said = settings.model_fields_set - _ITS_OWN
        return settings.model_copy(update={name: value for name, value in own.items() if name not in said})

    def judging(
        self, judging: JudgeConfig, settings: DraftConfig, refinement: RefineConfig | None = None
    ) -> JudgeConfig:
        """The judging by the judges of the session, with the address of those that are only named."""
        named = {
            "judges": self.judges or judging.judges,
            "validator": self.validator or judging.validator,
            "models": {**judging.models, **self.models},
        }
        return located(judging.model_copy(update=named), settings, refinement, self.objects)

    def refinement(self, refinement: RefineConfig) -> RefineConfig:
        """The refinement with the decider of the session."""
        return refinement if self.decider is None else refinement.model_copy(update={"decider": self.decider})


def model_roles(
    model: ModelLike | None,
    judges: Sequence[ModelLike],
    validator: ModelLike | None,
    decider: ModelLike | None,
) -> ModelRoles:
    """Everybody under a name; an object may have several roles."""
    if isinstance(judges, str):
        raise UsageError(f"judges is the text {judges!r:.40}", hint=f"give a list: judges=[{judges!r:.40}]")
    seen: dict[int, Model] = {}
    models: dict[str, ModelSettings] = {}

    def named(given: ModelLike | None) -> str | None:
        if given is None or isinstance(given, str):
            return given
        if isinstance(given, ModelSettings):
            return _kept(given, models)
        return seen.setdefault(id(given), as_model(given)).identity

    writer = model if isinstance(model, ModelSettings) else None
    name = writer.model if writer else named(model)
    panel = tuple(seat for one in judges if (seat := named(one)) is not None)
    others = panel, named(validator), named(decider)
    return ModelRoles(name, *others, objects=by_identity(seen.values()), writer=writer, models=models)


def _kept(given: ModelSettings, models: dict[str, ModelSettings]) -> str:
    """A name for a model with settings: its own, or its own with a number where there is another one of that."""
    names = (f"{given.model}{f' ({number})' if number > 1 else ''}" for number in count(1))
    return next(name for name in names if models.setdefault(name, given) == given)
