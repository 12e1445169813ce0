"""The settings of every model of a run by name and role, and the servers, keys and files that are the user's own.
Commands that only show a run need no more than these, and no package of a provider."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from redraft import plugins
from redraft.errors import Set, UsageError
from redraft.llm.addresses import DEFAULT_BASE_URL, OPENAI, address_in, base_url, plain_address, provider_of
from redraft.llm.base import Model
from redraft.order import AnyParts, OrderParts
from redraft.prompts.book import SETS, prompt_choice
from redraft.settings import (
    ASSUMED_WINDOW,
    EXTRACTIVE,
    NO_KEY,
    DraftConfig,
    ModelSettings,
    Role,
    is_entailment,
    reads_prompts,
)

NO_ITEM: Mapping[str, Model] = MappingProxyType({})
WINDOW = "context_tokens"


def named_in(order: AnyParts) -> list[tuple[Role, str]]:
    """Return the names of the models that judge and decide."""
    judging, refinement = order.judging, order.refinement
    if judging is None:
        return []
    names: list[tuple[Role, str]] = [("judge", name) for name in judging.judges]
    names += [("validator", judging.validator)] if judging.validator else []
    names += [("decider", refinement.decider)] if refinement and refinement.decider else []
    return names


def settings_by_name(name: str, order: AnyParts, objects: Mapping[str, Model] = NO_ITEM) -> DraftConfig:
    """Return the settings of a judge or decider: its own, or else the run's. Temperature, window and the like are never
    taken from another model."""
    settings, judging = order.settings, order.judging
    model_settings = judging.models.get(name) if judging is not None else None
    if model_settings is not None:
        fields = model_settings.model_dump(exclude={WINDOW, "prompts", "price"})
        fields |= {"price": model_settings.price, "prompts": model_settings.prompts or settings.prompts}
        return settings.model_copy(update={**fields, WINDOW: model_settings.context_tokens or ASSUMED_WINDOW})
    address, writer = judging.base_url if judging is not None else None, provider_of(settings.model)
    # Naming a provider decides where the document is sent: the address of another one is not used.
    if not address and settings.base_url and (settings.model in objects or writer in ("", provider_of(name))):
        address = settings.base_url
    elif not address:
        address = address_in(settings.model) if writer == provider_of(name) else None
    # The key of the writer's address is for a model at that address.
    key = settings.key_env if address is not None and address == settings.base_url else None
    fields = {"model": name, "base_url": address, "key_env": key}
    if name != settings.model or address != settings.base_url:
        fields |= {"max_tokens": None, "reasoning_tokens": None, "price": None}
        # Models that read no prompts have no window of their own and do not take another model's.
        fields |= {} if reads_prompts(name) else {WINDOW: min(settings.context_tokens, ASSUMED_WINDOW)}
    return writer_as_judge(settings).model_copy(update=fields)


def writer_as_judge(settings: DraftConfig) -> DraftConfig:
    """Return the settings of the writer when it also judges or decides: the prompts then set the temperature."""
    return settings.model_copy(update={"temperature": None, "top_p": None})


def judge_settings_of(order: AnyParts) -> list[DraftConfig]:
    """Return the settings of all judges of a stored order."""
    names = order.judging.judges if order.judging is not None else ()
    return [settings_by_name(name, order) for name in names] or [writer_as_judge(order.settings)]


def identity_of(settings: DraftConfig) -> str:
    """Return the identity of a named model, as in the store."""
    return f"{settings.model}@{settings.base_url}" if settings.base_url else settings.model


# The models of a session.

_OF_A_PLACE = frozenset({"model", "base_url", "key_env"})
"""Settings that belong to a model, whatever a run's settings are."""


@dataclass(frozen=True, slots=True)
class ModelRoles:
    """The names of the models of a session, and the objects behind them."""

    model: str | None = None
    """The writer."""
    judging: dict[str, Any] = field(default_factory=dict)
    """The judges and the validator, as fields of `JudgeConfig`."""
    refining: dict[str, str] = field(default_factory=dict)
    """The decider, as a field of `RefineConfig`."""
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
        fields = {name: getattr(self.writer, name) for name in {*self.writer.model_fields_set, *_OF_A_PLACE}}
        chosen = settings.model_fields_set - _OF_A_PLACE
        return settings.model_copy(update={name: value for name, value in fields.items() if name not in chosen})

    def applied(self, parts: OrderParts) -> OrderParts:
        """Return the parts of an order with the session's models."""
        models = {**parts.judging.models, **self.models}
        update = {
            "settings": self.settings(parts.settings),
            "judging": parts.judging.model_copy(update={**self.judging, "models": models}),
            "refinement": parts.refinement and parts.refinement.model_copy(update=self.refining),
        }
        return parts.model_copy(update=update)


# Their models are programs or folders of this machine, rather than names at a provider's own address.
_LOADED_HERE = frozenset({"huggingface"})


Place = tuple[str, str | None, str | None]
"""The provider, the address and the variable of the key of a model: an address of None is the provider's own."""


def _place_of(settings: DraftConfig) -> Place:
    """Return the place of the model that the settings name."""
    provider, address = provider_of(settings.model), settings.base_url
    if is_entailment(settings.model):
        return provider, None, None
    here = base_url(address) if provider == OPENAI else plain_address(address) if address else None
    return provider, here, settings.key_env


@dataclass(slots=True)
class OwnPlaces:
    """The places that the user has named: in options, the environment, their configuration, or a program."""

    models: set[Place] = field(default_factory=set)
    addresses: dict[str, str | None] = field(default_factory=dict)
    """Addresses that were given again for stored runs, each with the variable of its key."""
    names: set[str] = field(default_factory=set)
    """Folders of prompts, embedding models, and models that this machine loads."""

    def add(self, order: AnyParts, objects: Mapping[str, Model] = NO_ITEM) -> None:
        """Add what the user's settings name."""
        for under in _asked(order, objects):
            self.models.add(_place_of(under))
            self.names.add(under.model)
        for model in order.judging.models.values() if order.judging else ():
            self.add_model(model)
        self.names |= set(_files(order))

    def add_model(self, model: ModelSettings) -> None:
        """Add a model of the user's configuration."""
        self.add(OrderParts(settings=DraftConfig(model=model.model, base_url=model.base_url, key_env=model.key_env)))
        self.names |= {prompt_choice(model.prompts)} if model.prompts else set()

    def add_roles(self, roles: ModelRoles, parts: OrderParts) -> None:
        """Add the models of a session and its default settings."""
        settings = parts.settings
        self.add(parts.model_copy(update={"settings": roles.settings(settings)}), roles.objects)
        if settings.base_url:
            self.add_address(settings.base_url, settings.key_env)
        for model in [*roles.models.values(), *([roles.writer] if roles.writer else [])]:
            self.add_model(model)
        named = (roles.model, *roles.judging.get("judges", ()), roles.judging.get("validator"))
        self.names |= {name for name in (*named, *roles.refining.values()) if name}

    def with_given(self, options: Mapping[str, Any]) -> OwnPlaces:
        """Return these places with those of a call's own settings and options."""
        places = OwnPlaces({*self.models}, {**self.addresses}, {*self.names})
        places.add(OrderParts().edited({name: options.get(name) for name in ("settings", "judging")}))
        places.add_options(options)
        return places

    def add_options(self, options: Mapping[str, Any]) -> None:
        """Add what the options of a call or a command name."""
        if judges_address := options.get("judge_base_url"):
            self.add_address(judges_address)
        address, key_env, prompts = (options.get(name) for name in ("base_url", "key_env", "prompts"))
        if address or key_env:
            self.add_address(address, key_env)
        names = (*options.get("judges", ()), *(options.get(name) for name in ("model", "validator", "embeddings")))
        self.names |= {str(name) for name in (*names, prompts, prompts and prompt_choice(str(prompts))) if name}

    def add_address(self, address: str | None, key_env: str | None = None) -> None:
        """Add an address, by default the usual one, and the variable of its key."""
        self.addresses[plain_address(address) if address else base_url(None)] = key_env

    def check(self, run: str, order: AnyParts, objects: Mapping[str, Model] = NO_ITEM) -> None:
        """Raise `UsageError` for a place that the order of `run` names, as the database has it, and the user does
        not."""
        loaders = {*_LOADED_HERE, *plugins.names("models")}
        for under in _asked(order, objects):
            place = provider, address, key_env = _place_of(under)
            usual = {DEFAULT_BASE_URL, base_url(None)} if provider == OPENAI else set[str]()
            if place in self.models or (address is None and not key_env):
                is_own = True
            elif address in self.addresses:
                is_own = key_env in (NO_KEY, self.addresses[address])
            else:
                is_own = address in usual and not key_env
            if not is_own:
                key = f" with the key in {under.key_env}" if under.key_env else ""
                places = [Set("base_url", under.base_url)] if under.base_url else []
                places += [Set("key_env", under.key_env)] if under.key_env else []
                where = under.base_url or "its provider's address"
                raise _strange(run, f"{under.model} at {where}{key}", *places)
            is_loaded_here = is_entailment(under.model) or provider in loaders
            if is_loaded_here and under.model not in self.names:
                raise _strange(run, f"the model {under.model}", Set("judges", under.model))
        for name in _files(order):
            if name not in self.names:
                setting = "embeddings" if order.judging and name == order.judging.embeddings else "prompts"
                raise _strange(run, name, Set(setting, name))


def _asked(order: AnyParts, objects: Mapping[str, Model]) -> Iterator[DraftConfig]:
    """Yield the settings of each model that is opened by name."""
    others = [(name, settings_by_name(name, order, objects)) for _, name in named_in(order)]
    for name, under in [(order.settings.model, order.settings), *others]:
        if name not in objects and under.model != EXTRACTIVE:
            yield under


def _files(order: AnyParts) -> Iterable[str]:
    models = order.judging.models.values() if order.judging else ()
    choices = [order.settings.prompts, *(model.prompts for model in models if model.prompts)]
    embeddings = [order.judging.embeddings] if order.judging and order.judging.embeddings else []
    return [*(choice for choice in choices if choice not in SETS), *embeddings]


def _strange(run: str, what: str, *places: Set) -> UsageError:
    words = [word for setting in places for word in (", ", setting)]
    return UsageError(
        f"run {run} uses {what}, which only its database names",
        fix=(
            *("if that is yours, give it again (", *words[1:], "), or in the environment or your own configuration"),
            "; to use something else, begin a new run",
        ),
    )
