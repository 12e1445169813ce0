"""The settings of every model of a run, by name and role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from redraft.llm.addresses import address_in, provider_of
from redraft.llm.base import Model
from redraft.settings import (
    ASSUMED_WINDOW,
    EXTRACTIVE,
    DraftConfig,
    JudgeConfig,
    ModelSettings,
    RefineConfig,
    Role,
    reads_prompts,
)

NO_ITEM: Mapping[str, Model] = MappingProxyType({})

_OF_NOBODY_ELSE: dict[str, Any] = {"max_tokens": None, "reasoning_tokens": None, "price": None}


def named_in(judging: JudgeConfig | None, refinement: RefineConfig | None) -> list[tuple[Role, str]]:
    """Return the names of the models that judge and decide."""
    if judging is None:
        return []
    named: list[tuple[Role, str]] = [("judge", name) for name in judging.judges]
    named += [("validator", judging.validator)] if judging.validator else []
    named += [("decider", refinement.decider)] if refinement and refinement.decider else []
    return named


def settings_by_name(
    name: str, settings: DraftConfig, judging: JudgeConfig | None, objects: Mapping[str, Model] = NO_ITEM
) -> DraftConfig:
    """Return the settings of a judge or decider: its own, or else the run's. Temperature, window and the like are never
    taken from another model."""
    model_settings = judging.models.get(name) if judging is not None else None
    if model_settings is not None:
        own = model_settings.model_dump(exclude={"context_tokens", "prompts", "price"})
        own |= {"price": model_settings.price, "prompts": model_settings.prompts or settings.prompts}
        own |= {"context_tokens": model_settings.context_tokens or ASSUMED_WINDOW}
        return settings.model_copy(update=own)
    address = _address(name, judging, settings, objects)
    # The key of the writer's address is for a model at that address.
    key = settings.key_env if address is not None and address == settings.base_url else None
    here = name == settings.model and address == settings.base_url
    own = {"model": name, "base_url": address, "key_env": key}
    if not reads_prompts(name) and not here:
        # They have no window of their own and do not take another model's.
        own |= {"context_tokens": min(settings.context_tokens, ASSUMED_WINDOW)}
    return writer_as_judge(settings).model_copy(update=own if here else own | _OF_NOBODY_ELSE)


def writer_as_judge(settings: DraftConfig) -> DraftConfig:
    """Return the settings of the writer when it also judges or decides: the prompts then set the temperature."""
    return settings.model_copy(update={"temperature": None, "top_p": None})


def judged_as_before(judging: JudgeConfig, before: DraftConfig, writer: DraftConfig) -> JudgeConfig:
    """Return the judging settings of a fork. If it has another writer and no judge is named, the model `before` judges,
    at its own address: a model that judges its own text is lenient."""
    if judging.judges or (before.model, before.base_url) == (writer.model, writer.base_url):
        return judging
    tables = {}
    if before.model != EXTRACTIVE:
        shared = ModelSettings.model_fields.keys() & DraftConfig.model_fields.keys()
        own = {name: getattr(writer_as_judge(before), name) for name in shared}
        tables[before.model] = ModelSettings(**{name: value for name, value in own.items() if value is not None})
    return judging.model_copy(update={"judges": (before.model,), "models": {**judging.models, **tables}})


def judge_settings_of(settings: DraftConfig, judging: JudgeConfig | None) -> list[DraftConfig]:
    """Return the settings of all judges of a stored configuration."""
    names = judging.judges if judging is not None else ()
    return [settings_by_name(name, settings, judging) for name in names] or [writer_as_judge(settings)]


def least_window(judging: Sequence[DraftConfig]) -> int:
    """Return the smallest window; models without one do not count."""
    bounded = [settings.context_tokens for settings in judging if reads_prompts(settings.model)]
    return min(bounded, default=judging[0].context_tokens)


def _address(name: str, judging: JudgeConfig | None, settings: DraftConfig, objects: Mapping[str, Model]) -> str | None:
    """Return the address of a judge or decider: the configured one, or else the writer's. If the writer's provider is
    another one, its address is not used, since naming a provider decides where the document is sent."""
    if judging is not None and judging.base_url:
        return judging.base_url
    writer = provider_of(settings.model)
    if settings.base_url and (settings.model in objects or writer in ("", provider_of(name))):
        return settings.base_url
    return address_in(settings.model) if writer == provider_of(name) else None


def identity_of(settings: DraftConfig) -> str:
    """Return the identity of a named model, as in the store."""
    return f"{settings.model}@{settings.base_url}" if settings.base_url else settings.model
