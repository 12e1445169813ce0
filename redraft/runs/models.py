"""The models of a run: their addresses, prices and roles, and opening them on one ledger and one budget."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import count
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel

from redraft import plugins
from redraft.builtin.facade import IDENTITY
from redraft.errors import Set, UsageError
from redraft.fields import list_argument
from redraft.graphs.prepared import ModelPool, OpenModel
from redraft.llm import addresses
from redraft.llm.addresses import DEFAULT_BASE_URL, OPENAI, address_in, base_url, name_of, provider_of, server_at
from redraft.llm.base import LazyModel, Model
from redraft.llm.budget import FREE, PriceTable, builtin_prices
from redraft.llm.chat import ChatModel, as_model
from redraft.llm.nli import open_entailment
from redraft.llm.reasoning_budget import usual_room
from redraft.order import AnyParts, Order, OrderParts
from redraft.prompts.book import PromptBook, prompt_choice
from redraft.runs.model_settings import NO_ITEM, ModelRoles, named_in, settings_by_name, writer_as_judge
from redraft.settings import (
    EXTRACTIVE,
    DraftConfig,
    ModelSettings,
    Price,
    Role,
    is_entailment,
    reads_prompts,
)

ModelLike = str | ModelSettings | Model | BaseChatModel
"""A model by name as on the command line, its settings, or an object: a `Model`, or any chat model of LangChain."""
PartsT = TypeVar("PartsT", Order, OrderParts)

# One model: its address, tokenizer and price, and opening it.

_FAMILIES = {
    "openai": ("gpt", "chatgpt", "o1", "o3", "o4"),
    "anthropic": ("claude",),
    "google_genai": ("gemini",),
    "mistralai": ("mistral", "magistral", "codestral"),
    "deepseek": ("deepseek",),
    "xai": ("grok",),
}


def resolve(settings: DraftConfig) -> DraftConfig:
    """Return the settings with the model's address filled in for the record; unknown names are refused."""
    model, address = settings.model, settings.base_url
    if address_in(model):
        raise UsageError(f"{model} was passed as an object", hint="pass it again, from Python")
    provider, colon, name = model.partition(":")
    if model == EXTRACTIVE or (is_entailment(model) and name):
        return settings.model_copy(update={"base_url": None, "key_env": None})
    if provider == OPENAI and name:
        return settings.model_copy(update={"base_url": base_url(address)})
    if settings.key_env:
        raise UsageError(f"{model} takes its key from its provider's own variable", fix=("leave out ", Set("key_env")))
    plugged = plugins.names("models")
    if not (colon and provider in plugged):
        from redraft.llm.providers import PROVIDERS, check_provider

        if not (name and provider in PROVIDERS):
            family = next((family for family, begins in _FAMILIES.items() if model.lower().startswith(begins)), "")
            near = get_close_matches(provider.lower(), (OPENAI, *plugged, *PROVIDERS), 1) if name else []
            likely = f"{near[0]}:{name}" if near else f"{family}:{model.lower()}" if family and not colon else ""
            usual = (
                f"openai:NAME, {''.join(f'{plugin}:NAME, ' for plugin in plugged)}PROVIDER:NAME (anthropic,"
                " google_genai, mistralai, ollama, ...), nli:MODEL as a judge, or extractive"
            )
            hint = f"did you mean {likely}?" if likely else f"use {usual}"
            raise UsageError(f"there is no model {model!r}", hint=hint)
        check_provider(provider, model)
    return settings.model_copy(update={"base_url": addresses.plain_address(address) if address else None})


def price_of(settings: DraftConfig, table: PriceTable) -> Price | None:
    """Return the price of a model; None where unknown. OpenAI's prices apply only to OpenAI's server."""
    if not reads_prompts(settings.model):
        return FREE
    if settings.price is not None:
        return settings.price
    return table.price(name_of(settings.model) or settings.model, at_openai=is_at_openai(settings))


def is_at_openai(settings: DraftConfig) -> bool:
    """Return whether a model is on OpenAI's own server."""
    address = address_in(settings.model) or settings.base_url or ""
    return provider_of(settings.model) == OPENAI and address.startswith("https://api.openai.com/")


def reasoning_reserve(settings: DraftConfig) -> int:
    """Return the tokens that a model may use for reasoning in each call, besides its reply."""
    if not reads_prompts(settings.model):
        return 0
    if settings.reasoning_tokens is not None:
        return settings.reasoning_tokens
    return usual_room(name_of(settings.model))


@asynccontextmanager
async def open_model(
    settings: DraftConfig, *, seconds: float, usual_key: bool = True, roles: str = ""
) -> AsyncIterator[Model]:
    """Open the model that the settings name for the duration of the context. Slow imports wait for the first call.
    Without its own key, a model that speaks OpenAI's protocol gets OPENAI_API_KEY only if `usual_key` allows it. If the
    key is refused, the error names the model's `roles`."""
    provider, name = provider_of(settings.model), name_of(settings.model)
    if settings.model == EXTRACTIVE:
        yield cast("Model", LazyModel(IDENTITY, "redraft.builtin.facade:open_model"))
    elif is_entailment(settings.model):
        yield open_entailment(name)
    elif provider == OPENAI:
        url = settings.base_url
        assert url is not None
        key = addresses.openai_key(settings.model, url, settings.key_env, usual=usual_key)
        variable = settings.key_env or ("OPENAI_API_KEY" if usual_key else "a variable that its key_env names")
        async with AsyncExitStack() as closing:
            terms: dict[str, Any] = {"key": key, "seconds": seconds, "roles": roles, "variable": variable}
            opening = "redraft.llm.providers:open_openai"
            model = LazyModel(f"{settings.model}@{url}", opening, settings, closing=closing, **terms)
            yield cast("Model", model)
    else:
        from redraft.llm.providers import open_plugged, open_provided

        plugged = provider in plugins.names("models")
        yield (open_plugged if plugged else open_provided)(settings, seconds=seconds, roles=roles)


# The models of a run by role.


@dataclass(frozen=True, slots=True)
class ModelRole:
    """A model with its settings in a role; `model` is an object to use instead of opening one by name."""

    role: Role
    settings: DraftConfig
    price: Price | None
    model: Model | None = None
    usual_key: bool = True
    """Whether it may use OPENAI_API_KEY if it has no key of its own."""
    name: str = ""
    """The name by which the settings have a judge or decider."""

    @property
    def opened_as(self) -> tuple[object, ...]:
        """Return the key of what is opened once for several roles."""
        settings = self.settings
        if self.model is not None:
            return (settings.model,)
        place = settings.model, settings.base_url
        return (*place, settings.key_env, settings.replies, settings.reasoning_tokens, self.usual_key)

    @property
    def asked_as(self) -> tuple[object, ...]:
        """Return the key of roles with the same prompts and limits."""
        settings = self.settings
        return (*self.opened_as, settings.prompts, settings.top_p, settings.max_tokens, self.price)

    @property
    def address(self) -> str:
        """Return the address that its settings name; empty without one."""
        return self.settings.base_url or ""

    @property
    def wants_openai_key(self) -> bool:
        """Return whether it is opened by name, speaks OpenAI's protocol and names no key of its own."""
        return self.model is None and provider_of(self.settings.model) == OPENAI and self.settings.key_env is None


Windows = Callable[[ModelRole], int | None]
"""Looks up a model's window."""


def known_window(role: ModelRole) -> int | None:
    """Return a model's window if it is known without a request."""
    if isinstance(role.model, ChatModel) and role.model.window:
        return role.model.window
    return addresses.window_of_family(name_of(role.settings.model))


def server_window(role: ModelRole, report_silent: Callable[[str], None] | None = None) -> int | None:
    """Return the window that a model's server reports, or else the known one. `report_silent` is called with the
    address if the server does not answer."""
    settings, address = role.settings, role.address
    served = role.model is None and provider_of(settings.model) == OPENAI
    if served and address and server_at(address) != server_at(DEFAULT_BASE_URL):
        key = addresses.openai_key(settings.model, address, settings.key_env, usual=role.usual_key)
        with addresses.ModelServer(address, key) as server:
            if window := addresses.window_at(server, name_of(settings.model)):
                return window
            if server.gone and report_silent is not None:
                report_silent(address)
    return known_window(role)


def same_identity(identity: str) -> UsageError:
    """Return the error of two models that have one identity."""
    return UsageError(
        f"two models have the identity {identity}, so their answers could not be told apart",
        hint="give each its own, with ChatModel(chat, identity=...), or let one judge several times with repeat",
    )


def assign_models(
    order: AnyParts, prices: PriceTable | None = None, objects: Mapping[str, Model] = NO_ITEM
) -> list[ModelRole]:
    """Return the writer, judges and deciders of an order with their prices. A cost limit needs the price of every
    model. A name that is the identity of one of the `objects` means that object; others are opened by name.
    OPENAI_API_KEY is for those at one server only."""

    def price(model: DraftConfig) -> Price | None:
        is_free = getattr(objects.get(model.model), "is_free", False)
        charge = FREE if is_free else price_of(model, prices or builtin_prices())
        if charge is None and order.limits.max_cost is not None:
            name = model.model.partition(":")[2] or model.model
            file = f", a TOML file such as:\n[prices]\n{json.dumps(name)} = {{ prompt = 0.25, completion = 2.0 }}\n"
            fix = ("give its price in dollars per million tokens with ", Set("prices", "FILE"), file, "or use ")
            problem = f"the price of {model.model} is unknown, so the limit of cost cannot be kept"
            raise UsageError(problem, fix=(*fix, Set("max_calls")))
        return charge

    roles = [ModelRole("writer", order.settings, price(order.settings), objects.get(order.settings.model))]
    for role, name in named_in(order):
        model = objects.get(name)
        under = settings_by_name(name, order, objects)
        under = under if model else resolve(under)
        roles.append(ModelRole(role, under, price(under), model, name=name))
    home = addresses.key_server([role.address for role in roles if role.wants_openai_key])
    return [replace(role, usual_key=role.wants_openai_key and server_at(role.address) == home) for role in roles]


def check_keys(roles: Sequence[ModelRole]) -> None:
    """Refuse a model that is opened by name and has no key, before anything is stored."""
    for role in roles:
        settings, provider = role.settings, provider_of(role.settings.model)
        if role.model is not None or not reads_prompts(settings.model):
            continue
        if provider == OPENAI:
            addresses.openai_key(settings.model, base_url(settings.base_url), settings.key_env, usual=role.usual_key)
        elif provider not in plugins.names("models"):
            from redraft.llm.providers import check_provider_key

            check_provider_key(settings)


def pool_of(
    assigned: Sequence[ModelRole], book: PromptBook, model_for: Callable[[ModelRole, PromptBook], Model]
) -> ModelPool:
    """Return the models by role; `book` has the writer's prompts. `model_for` returns the model of a role; roles with
    the same prompts and limits share one. A role without a model uses another's, in the end the writer's, which then
    judges apart from writing."""
    models: dict[tuple[object, ...], Model] = {}
    books = {assigned[0].settings.prompts: book}

    def opened(role: ModelRole) -> OpenModel:
        choice = role.settings.prompts
        if choice not in books:
            books[choice] = PromptBook(choice)
        if role.asked_as not in models:
            models[role.asked_as] = model_for(role, books[choice])
        return OpenModel(models[role.asked_as], role.settings, books[choice], role.model is not None)

    workers = [(role.role, opened(role)) for role in assigned]
    judging_writer = opened(replace(assigned[0], settings=writer_as_judge(assigned[0].settings)))
    judges = tuple(worker for role, worker in workers if role == "judge") or (judging_writer,)
    first = dict(reversed(workers))
    return ModelPool(first["writer"], judges, first.get("validator", judges[0]), first.get("decider", judging_writer))


def with_addresses(order: PartsT, objects: Mapping[str, Model] = NO_ITEM) -> PartsT:
    """Return an order with the addresses of those who judge filled in for the record, and the judge that confirms as
    the last one; unknown names are refused. Objects have their own addresses. If the named models are at several
    addresses, none is filled in, and each provider's default or the writer's address applies."""
    if (judging := order.judging) is None:
        return order
    if twice := next((name for name in judging.judges if judging.judges.count(name) > 1), None):
        repeat = ("use ", Set("repeat"), " to let a judge judge more than once")
        raise UsageError(f"the judge {twice} is named twice", fix=repeat)
    if judging.confirm is not None:
        objectors: list[str] = [name for name in judging.judges if name != judging.confirm]
        if not objectors:
            more = ("name a judge whose objections it decides: ", Set("judges"))
            raise UsageError(f"there is no other judge for {judging.confirm} to confirm", fix=more)
        judging = judging.model_copy(update={"judges": (*objectors, judging.confirm)})
        order = order.model_copy(update={"judging": judging})
    names = [name for _, name in named_in(order)]
    models: dict[str, ModelSettings] = {}
    for name in names:
        if (table := judging.models.get(name)) is not None:
            resolved = resolve(DraftConfig(model=table.model, base_url=table.base_url, key_env=table.key_env))
            place = {"base_url": resolved.base_url, "key_env": resolved.key_env}
            prompts = table.prompts and prompt_choice(table.prompts)
            models[name] = table.model_copy(update={**place, "prompts": prompts})
    bare = {name for name in names if reads_prompts(name)} - {*objects, *models}
    places = {resolve(settings_by_name(name, order, objects)).base_url for name in bare}
    address = places.pop() if len(places) == 1 else judging.base_url
    judging = judging.model_copy(update={"base_url": address, "models": models})
    return order.model_copy(update={"judging": judging})


def model_roles(
    model: ModelLike | None, judges: Sequence[ModelLike], validator: ModelLike | None, decider: ModelLike | None
) -> ModelRoles:
    """Return the names of all roles; an object may have several. A model with settings gets a name of its own, with a
    number appended if necessary; an object is named by its identity, under which its answers are stored."""
    made: dict[int, Model] = {}
    objects: dict[str, Model] = {}
    models: dict[str, ModelSettings] = {}

    def name_for(like: ModelLike) -> str:
        if isinstance(like, str):
            return like
        if isinstance(like, ModelSettings):
            names = (f"{like.model}{f' ({number})' if number > 1 else ''}" for number in count(1))
            return next(name for name in names if models.setdefault(name, like) == like)
        model = made.setdefault(id(like), as_model(like))
        if objects.setdefault(model.identity, model) is not model:
            raise same_identity(model.identity)
        return model.identity

    writer = model if isinstance(model, ModelSettings) else None
    name = writer.model if writer else None if model is None else name_for(model)
    panel = tuple(name_for(judge) for judge in list_argument(judges, "judges") if judge is not None)
    judging: dict[str, Any] = {"judges": panel} if panel else {}
    judging |= {} if validator is None else {"validator": name_for(validator)}
    refining = {} if decider is None else {"decider": name_for(decider)}
    return ModelRoles(name, judging, refining, objects, writer, models)
