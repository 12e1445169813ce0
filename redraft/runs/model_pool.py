"""The open models of a run, by name or as objects, on one ledger and one budget."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count

from langchain_core.language_models import BaseChatModel

from redraft.errors import Set, UsageError
from redraft.events import Observer
from redraft.fields import list_argument
from redraft.llm.addresses import OPENAI, address_in, has_usual_key, is_here, key_server, provider_of, server_at
from redraft.llm.base import Model
from redraft.llm.budget import FREE, Budget, PriceTable, builtin_prices
from redraft.llm.chat import as_model
from redraft.llm.rate_limiter import Limiter, shared_limiter
from redraft.llm.recorded import RecordedModel
from redraft.prompts.book import PromptBook, prompt_choice
from redraft.runs.model_names import NO_ITEM, named_in, settings_by_name, writer_as_judge
from redraft.runs.models import exact_tokenizer, open_model, price_of, resolve, tokenizer_of
from redraft.runs.prepare import PreparedDocument
from redraft.settings import (
    DraftConfig,
    JudgeConfig,
    Limits,
    ModelSettings,
    Price,
    RefineConfig,
    Role,
    reads_prompts,
)
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.languages import known_language, undetected_language
from redraft.text.tokens import EstimatingTokenizer, Tokenizer


@dataclass(frozen=True, slots=True)
class OpenModel:
    """An open model with its settings and prompts for a role."""

    model: Model
    settings: DraftConfig
    book: PromptBook
    is_object: bool = False
    """Whether the model was passed as an object, about whose tokens nothing is known."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer that counts its tokens, or an estimate."""
        return EstimatingTokenizer() if self.is_object else tokenizer_of(self.settings)[0]

    @property
    def window(self) -> int | None:
        """Return the token limit of a prompt and its reply; None for a model that reads no prompts."""
        return self.settings.context_tokens if reads_prompts(self.settings.model) else None


@dataclass(frozen=True, slots=True)
class ModelPool:
    """The writer and the judges of a run; the first judge writes the questions."""

    writer: OpenModel
    judges: tuple[OpenModel, ...]
    validator: OpenModel
    """The model that validates the key facts found by the first judge."""
    decider: OpenModel
    """The model that decides what to revise, if the policy uses one."""


@dataclass(frozen=True, slots=True)
class ModelRole:
    """A model with its settings in a role; `model` is an object to use instead of opening one by name."""

    role: Role
    settings: DraftConfig
    price: Price | None
    model: Model | None = None
    usual_key: bool = True
    """Whether it may use OPENAI_API_KEY if it has no key of its own."""

    @property
    def opened_as(self) -> tuple[object, ...]:
        """Return the key of what is opened once for several roles."""
        it = self.settings
        if self.model is not None:
            return (it.model,)
        return (it.model, it.base_url, it.key_env, it.replies, it.reasoning_tokens, self.usual_key)

    @property
    def asked_as(self) -> tuple[object, ...]:
        """Return the key of roles with the same prompts and limits."""
        it = self.settings
        return (*self.opened_as, it.prompts, it.top_p, it.max_tokens, self.price)


def by_identity(models: Iterable[Model]) -> dict[str, Model]:
    """Return the model objects by identity, which names them in settings and in the store. One object may have several
    roles. Two objects of one identity would share cached answers, so they are refused."""
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
    objects: Mapping[str, Model] = NO_ITEM,
) -> list[ModelRole]:
    """Return the writer, judges and deciders with their prices. A cost limit needs the price of every model. A name
    that is the identity of one of the `objects` means that object; others are opened by name."""
    table = prices or builtin_prices()
    roles = [ModelRole("writer", settings, _price(settings, limits, table, objects), objects.get(settings.model))]
    for role, name in named_in(judging, refinement):
        model = objects.get(name)
        under = settings_by_name(name, settings, judging, objects)
        under = under if model else resolve(under)
        roles.append(ModelRole(role, under, _price(under, limits, table, objects), model))
    return _with_keys(roles)


def _with_keys(assigned: Sequence[ModelRole]) -> list[ModelRole]:
    """Return which roles may use OPENAI_API_KEY: those at the one server that it is for."""

    def wants(one: ModelRole) -> bool:
        return one.model is None and _speaks_openai(one.settings.model) and one.settings.key_env is None

    home = key_server([role.settings.base_url or "" for role in assigned if wants(role)])
    return [
        replace(role, usual_key=wants(role) and server_at(role.settings.base_url or "") == home) for role in assigned
    ]


def _speaks_openai(model: str) -> bool:
    return provider_of(model) == OPENAI


def without_key(assigned: Sequence[ModelRole]) -> list[str]:
    """Return the models without a key although another has one: remote servers usually need one."""
    there = [role for role in assigned if role.model is None and _speaks_openai(role.settings.model)]
    keyless = [role.settings for role in there if role.settings.key_env is None and not role.usual_key]
    return [
        f"{it.model} at {it.base_url} gets no key: OPENAI_API_KEY is for another server"
        " (key_env in its own settings names its key)"
        for it in keyless
        if has_usual_key() and not is_here(it.base_url or "")
    ]


def _price(settings: DraftConfig, limits: Limits, table: PriceTable, objects: Mapping[str, Model]) -> Price | None:
    if getattr(objects.get(settings.model), "is_free", False):
        return FREE
    price = price_of(settings, table)
    if price is None and limits.max_cost is not None:
        name = settings.model.partition(":")[2] or settings.model
        raise UsageError(
            f"the price of {settings.model} is unknown, so the limit of cost cannot be kept",
            fix=(
                *("give its price in dollars per million tokens with ", Set("prices", "FILE")),
                f", a TOML file such as:\n[prices]\n{json.dumps(name)} = {{ prompt = 0.25, completion = 2.0 }}\n",
                "or use ",
                Set("max_calls"),
            ),
        )
    return price


def settings_by_role(assigned: Sequence[ModelRole]) -> dict[Role, DraftConfig]:
    """Return the settings of each role, with the first judge's for all judges; unnamed roles use another's model."""
    first: dict[Role, DraftConfig] = {}
    for role in assigned:
        first.setdefault(role.role, role.settings)
    writer = first["writer"]
    judge = first.get("judge", writer_as_judge(writer))
    everybody: dict[Role, DraftConfig] = {
        "writer": writer,
        "judge": judge,
        "validator": judge,
        "decider": writer_as_judge(writer),
    }
    return {**everybody, **first}


def prompts_by_role(assigned: Sequence[ModelRole], book: PromptBook) -> list[PromptBook]:
    """Return the prompts of each role: its own, or else the writer's."""
    own = {role.settings.prompts for role in assigned} - {assigned[0].settings.prompts}
    made = {assigned[0].settings.prompts: book, **{choice: PromptBook(choice) for choice in own}}
    return [made[role.settings.prompts] for role in assigned]


@asynccontextmanager
async def open_models(
    assigned: Sequence[ModelRole],
    run: Run,
    prepared: PreparedDocument,
    store: Store,
    observer: Observer,
    budget: Budget | None = None,
) -> AsyncIterator[ModelPool]:
    """Open every model, one that is named twice only once. A `budget` is shared with other runs."""
    limits, language = run.limits, undetected_language(prepared.document) or known_language(prepared.document)
    if budget is None:
        budget = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost, budget_key=run.id)
    opened: dict[tuple[object, ...], Model] = {}
    asked: dict[tuple[object, ...], Model] = {}
    aside = replace(assigned[0], settings=writer_as_judge(assigned[0].settings))
    workers: list[OpenModel] = []
    async with AsyncExitStack() as stack:
        everybody = [*assigned, aside]
        for model_role, its in zip(everybody, await off_loop(prompts_by_role, everybody, prepared.book), strict=True):
            if model_role.opened_as not in opened:
                opened[model_role.opened_as] = await _opened(model_role, limits, stack)
                _check_twins(assigned, opened)
            model = opened[model_role.opened_as]
            if model_role.asked_as not in asked:
                limiter = _limiter(model_role.settings.base_url, model.identity, limits, store, budget)
                asked[model_role.asked_as] = RecordedModel(
                    model,
                    book=its,
                    store=store,
                    limiter=limiter,
                    run=run.id,
                    budget=budget,
                    price=model_role.price,
                    tokenizer=await off_loop(_counting, model_role, limits),
                    top_p=model_role.settings.top_p,
                    max_tokens=model_role.settings.max_tokens,
                    observer=observer,
                    language="" if reads_prompts(model_role.settings.model) else language,
                )
            is_object = model_role.model is not None
            workers.append(OpenModel(asked[model_role.asked_as], model_role.settings, its, is_object))
        yield models_by_role([role.role for role in assigned], workers)


def _limiter(address: str | None, identity: str, limits: Limits, store: Store, budget: Budget) -> Limiter:
    """Return the rate limiter of a model's address, shared by all processes of a paced budget."""
    provider = address or address_in(identity) or provider_of(identity) or identity
    requests, tokens = limits.requests_per_minute, limits.tokens_per_minute
    shared = budget.paced and not requests is tokens is None
    limiter_key = f"{budget.terms.budget_key} {provider}" if shared else ""

    async def pace(size: int) -> float:
        return await off_loop(
            store.rate_limits.take, limiter_key, size, requests_per_minute=requests, tokens_per_minute=tokens
        )

    return shared_limiter(
        provider,
        limits.concurrency,
        requests_per_minute=requests,
        tokens_per_minute=tokens,
        limiter_key=limiter_key,
        pace=pace if shared else None,
    )


async def _opened(one: ModelRole, limits: Limits, stack: AsyncExitStack) -> Model:
    if one.model is not None:
        return one.model
    opening = open_model(one.settings, seconds=limits.timeout, usual_key=one.usual_key)
    return await stack.enter_async_context(opening)


def _check_twins(assigned: Sequence[ModelRole], opened: Mapping[tuple[object, ...], Model]) -> None:
    """Refuse two models that would answer for each other. One name at one address is one model, which may have several
    roles, but does not judge beside itself."""
    known: dict[str, tuple[object, ...]] = {}
    judges: set[str] = set()
    for role in assigned:
        model = opened.get(role.opened_as)
        if model is None:
            continue
        twice = role.role == "judge" and model.identity in judges
        if twice or known.setdefault(model.identity, role.opened_as[:2]) != role.opened_as[:2]:
            raise _confused(model.identity)
        judges |= {model.identity} if role.role == "judge" else set()


def _counting(one: ModelRole, limits: Limits) -> Tokenizer | None:
    """Return the tokenizer that counts as the provider does, where that matters and is available."""
    return exact_tokenizer(one.settings) if limits.max_cost is not None and one.model is None else None


def models_by_role(roles: Sequence[Role], workers: Sequence[OpenModel]) -> ModelPool:
    """Return the models by role. A role without a model uses another's, in the end the writer's, which then judges
    apart from writing."""

    def of(role: Role) -> list[OpenModel]:
        return [worker for its, worker in zip(roles, workers, strict=False) if its == role]

    writer, aside = workers[0], workers[-1]
    judges = of("judge") or [aside]
    return ModelPool(writer, tuple(judges), (of("validator") or judges)[0], (of("decider") or [aside])[0])


def with_addresses(
    judging: JudgeConfig,
    settings: DraftConfig,
    refinement: RefineConfig | None = None,
    objects: Mapping[str, Model] = NO_ITEM,
) -> JudgeConfig:
    """Return the judging settings with the models' addresses filled in for the record; unknown names are refused.
    Objects have their own addresses. If the named models are at several addresses, none is filled in, and each
    provider's default or the writer's address applies."""
    if twice := next((name for name in judging.judges if judging.judges.count(name) > 1), None):
        raise UsageError(
            f"the judge {twice} is named twice", fix=("use ", Set("repeat"), " to let a judge judge more than once")
        )
    judging = _with_confirmer(judging)
    names = [name for _, name in named_in(judging, refinement)]
    models = {name: _settled(judging.models[name]) for name in names if name in judging.models}
    bare = {name for name in names if reads_prompts(name)} - {*objects, *models}
    addresses = {resolve(settings_by_name(name, settings, judging, objects)).base_url for name in bare}
    address = addresses.pop() if len(addresses) == 1 else judging.base_url
    return judging.model_copy(update={"base_url": address, "models": models})


def _with_confirmer(judging: JudgeConfig) -> JudgeConfig:
    """Return the judging settings with the judge that confirms as the last of the judges."""
    others = tuple(name for name in judging.judges if name != judging.confirm)
    if judging.confirm is None:
        return judging
    if not others:
        raise UsageError(
            f"there is no other judge for {judging.confirm} to confirm",
            fix=("name a judge whose objections it decides: ", Set("judges")),
        )
    return judging.model_copy(update={"judges": (*others, judging.confirm)})


def _settled(given: ModelSettings) -> ModelSettings:
    """Return a model's own settings with absolute address and prompt paths."""
    there = resolve(DraftConfig(model=given.model, base_url=given.base_url, key_env=given.key_env))
    prompts = given.prompts and prompt_choice(given.prompts)
    return given.model_copy(update={"base_url": there.base_url, "key_env": there.key_env, "prompts": prompts})


ModelLike = str | ModelSettings | Model | BaseChatModel
"""A model by name as on the command line, its settings, or an object: a `Model`, or any chat model of LangChain."""
# Settings that belong to a model, whatever a run's settings are.
_ITS_OWN = frozenset({"model", "base_url", "key_env"})


@dataclass(frozen=True, slots=True)
class ModelRoles:
    """The names of the writer, judges, validators and deciders, and the objects behind them."""

    model: str | None = None
    judges: tuple[str, ...] = ()
    validator: str | None = None
    decider: str | None = None
    objects: dict[str, Model] = field(default_factory=dict)
    """Model objects by identity."""
    writer: ModelSettings | None = None
    """The writer's own settings."""
    models: dict[str, ModelSettings] = field(default_factory=dict)
    """The own settings of the other models, by name."""

    def settings(self, settings: DraftConfig) -> DraftConfig:
        """Return the settings with the session's writer."""
        if self.writer is None:
            return settings if self.model is None else settings.model_copy(update={"model": self.model})
        own = {name: getattr(self.writer, name) for name in {*self.writer.model_fields_set, *_ITS_OWN}}
        said = settings.model_fields_set - _ITS_OWN
        return settings.model_copy(update={name: value for name, value in own.items() if name not in said})

    def judging(
        self, judging: JudgeConfig, settings: DraftConfig, refinement: RefineConfig | None = None
    ) -> JudgeConfig:
        """Return the judging settings with the session's judges and the address of those given by name."""
        named = {
            "judges": self.judges or judging.judges,
            "validator": self.validator or judging.validator,
            "models": {**judging.models, **self.models},
        }
        return with_addresses(judging.model_copy(update=named), settings, refinement, self.objects)

    def refinement(self, refinement: RefineConfig) -> RefineConfig:
        """Return the refinement settings with the session's decider."""
        return refinement if self.decider is None else refinement.model_copy(update={"decider": self.decider})


def model_roles(
    model: ModelLike | None, judges: Sequence[ModelLike], validator: ModelLike | None, decider: ModelLike | None
) -> ModelRoles:
    """Return the names of all roles; an object may have several."""
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
    panel = tuple(seat for one in list_argument(judges, "judges") if (seat := named(one)) is not None)
    others = panel, named(validator), named(decider)
    return ModelRoles(name, *others, objects=by_identity(seen.values()), writer=writer, models=models)


def _kept(given: ModelSettings, models: dict[str, ModelSettings]) -> str:
    """Return a unique name for a model with settings, with a number appended if necessary."""
    names = (f"{given.model}{f' ({number})' if number > 1 else ''}" for number in count(1))
    return next(name for name in names if models.setdefault(name, given) == given)
