"""The servers, keys and files that are the user's own now. A database may come from a stranger, so what it names beside
them is refused before anything is sent or read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from redraft import plugins
from redraft.errors import Set, UsageError
from redraft.llm.addresses import DEFAULT_BASE_URL, OPENAI, base_url, plain_address, provider_of
from redraft.llm.base import Model
from redraft.prompts.book import SETS, prompt_choice
from redraft.runs.model_names import NO_ITEM, named_in, settings_by_name
from redraft.runs.models import ModelRoles
from redraft.settings import (
    EXTRACTIVE,
    NO_KEY,
    DraftConfig,
    JudgeConfig,
    ModelSettings,
    RefineConfig,
    is_entailment,
)

# Their models are programs or folders of this machine, rather than names at a provider's own address.
_LOADED_HERE = frozenset({"huggingface"})


class ModelPlace(NamedTuple):
    """Where a model is asked, and with which key: an address of None is the provider's own."""

    provider: str
    address: str | None
    key_env: str | None


def place_of(settings: DraftConfig) -> ModelPlace:
    """Return the place of the model that the settings name."""
    provider, address = provider_of(settings.model), settings.base_url
    if is_entailment(settings.model):
        return ModelPlace(provider, None, None)
    if provider == OPENAI:
        return ModelPlace(provider, base_url(address), settings.key_env)
    return ModelPlace(provider, plain_address(address) if address else None, settings.key_env)


@dataclass(slots=True)
class OwnPlaces:
    """The places that the user has named: in options, the environment, their configuration, or a program."""

    models: set[ModelPlace] = field(default_factory=set)
    addresses: dict[str, str | None] = field(default_factory=dict)
    """Addresses that were given again for stored runs, each with the variable of its key."""
    names: set[str] = field(default_factory=set)
    """Folders of prompts, embedding models, and models that this machine loads."""

    def update(self, places: OwnPlaces) -> None:
        """Add the places of another."""
        self.models |= places.models
        self.addresses |= places.addresses
        self.names |= places.names

    def add(
        self,
        settings: DraftConfig,
        judging: JudgeConfig | None = None,
        refinement: RefineConfig | None = None,
        objects: Mapping[str, Model] = NO_ITEM,
    ) -> None:
        """Add what the user's settings name."""
        for under in _asked(settings, judging, refinement, objects):
            self.models.add(place_of(under))
            self.names.add(under.model)
        for model in judging.models.values() if judging else ():
            self.add_model(model)
        self.names |= set(_files(settings, judging))

    def add_model(self, model: ModelSettings) -> None:
        """Add a model of the user's configuration."""
        self.add(DraftConfig(model=model.model, base_url=model.base_url, key_env=model.key_env))
        self.names |= {prompt_choice(model.prompts)} if model.prompts else set()

    def add_roles(self, roles: ModelRoles, settings: DraftConfig, judging: JudgeConfig) -> None:
        """Add the models of a session and its default settings."""
        self.add(roles.settings(settings), judging, objects=roles.objects)
        if settings.base_url:
            self.add_address(settings.base_url, settings.key_env)
        for model in [*roles.models.values(), *([roles.writer] if roles.writer else [])]:
            self.add_model(model)
        self.names |= {name for name in (roles.model, *roles.judges, roles.validator, roles.decider) if name}

    def with_given(
        self, settings: DraftConfig | None, judging: JudgeConfig | None, options: Mapping[str, object]
    ) -> OwnPlaces:
        """Return these places with those of a call's own settings and options."""
        places = OwnPlaces({*self.models}, {**self.addresses}, {*self.names})
        places.add(settings or DraftConfig(), judging)
        if address := options.get("base_url"):
            places.add_address(str(address), str(options["key_env"]) if options.get("key_env") else None)
        places.names |= {str(options[name]) for name in ("model", "prompts", "embeddings") if name in options}
        return places

    def add_address(self, address: str | None, key_env: str | None = None) -> None:
        """Add an address, by default the usual one, and the variable of its key."""
        self.addresses[plain_address(address) if address else base_url(None)] = key_env

    def check(
        self,
        run: str,
        settings: DraftConfig,
        judging: JudgeConfig | None = None,
        refinement: RefineConfig | None = None,
        objects: Mapping[str, Model] = NO_ITEM,
    ) -> None:
        """Raise `UsageError` for a place that these settings of `run` name, as the database has them, and the user
        does not."""
        for under in _asked(settings, judging, refinement, objects):
            if not self._is_own(place_of(under)):
                raise _strange_place(run, under)
            if _is_loaded_here(under.model) and under.model not in self.names:
                raise _strange(run, f"the model {under.model}", Set("judges", under.model))
        for name in _files(settings, judging):
            if name not in self.names:
                setting = "embeddings" if judging and name == judging.embeddings else "prompts"
                raise _strange(run, name, Set(setting, name))

    def _is_own(self, place: ModelPlace) -> bool:
        if place in self.models or (place.address is None and not place.key_env):
            return True
        usual = {DEFAULT_BASE_URL, base_url(None)} if place.provider == OPENAI else set[str]()
        if place.address in self.addresses:
            return place.key_env in (NO_KEY, self.addresses[place.address])
        return place.address in usual and not place.key_env


def _asked(
    settings: DraftConfig,
    judging: JudgeConfig | None,
    refinement: RefineConfig | None,
    objects: Mapping[str, Model],
) -> Iterator[DraftConfig]:
    """Yield the settings of each model that is opened by name."""
    if settings.model not in objects and settings.model != EXTRACTIVE:
        yield settings
    for _, name in named_in(judging, refinement):
        under = settings_by_name(name, settings, judging, objects)
        if name not in objects and under.model != EXTRACTIVE:
            yield under


def _files(settings: DraftConfig, judging: JudgeConfig | None) -> Iterable[str]:
    models = judging.models.values() if judging else ()
    choices = [settings.prompts, *(model.prompts for model in models if model.prompts)]
    embeddings = [judging.embeddings] if judging and judging.embeddings else []
    return [*(choice for choice in choices if choice not in SETS), *embeddings]


def _is_loaded_here(model: str) -> bool:
    return is_entailment(model) or provider_of(model) in {*_LOADED_HERE, *plugins.names("models")}


def _strange_place(run: str, settings: DraftConfig) -> UsageError:
    key = f" with the key in {settings.key_env}" if settings.key_env else ""
    address = settings.base_url or "its provider's address"
    places = [Set("base_url", settings.base_url)] if settings.base_url else []
    places += [Set("key_env", settings.key_env)] if settings.key_env else []
    return _strange(run, f"{settings.model} at {address}{key}", *places)


def _strange(run: str, what: str, *places: Set) -> UsageError:
    words = [word for setting in places for word in (", ", setting)]
    return UsageError(
        f"run {run} uses {what}, which only its database names",
        fix=(
            *("if that is yours, give it again (", *words[1:], "), or in the environment or your own configuration"),
            "; to use something else, begin a new run",
        ),
    )
