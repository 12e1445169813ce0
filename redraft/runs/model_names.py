"""The settings of every model of a run, by name and role. Commands that only show a run need no more than these names,
and no package of a provider.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from redraft.llm.addresses import address_in, provider_of
from redraft.llm.base import Model
from redraft.settings import ASSUMED_WINDOW, DraftConfig, JudgeConfig, RefineConfig, Role, reads_prompts

NO_ITEM: Mapping[str, Model] = MappingProxyType({})
WINDOW = "context_tokens"


def named_in(judging: JudgeConfig | None, refinement: RefineConfig | None) -> list[tuple[Role, str]]:
    """Return the names of the models that judge and decide."""
    if judging is None:
        return []
    names: list[tuple[Role, str]] = [("judge", name) for name in judging.judges]
    names += [("validator", judging.validator)] if judging.validator else []
    names += [("decider", refinement.decider)] if refinement and refinement.decider else []
    return names


def settings_by_name(
    name: str, settings: DraftConfig, judging: JudgeConfig | None, objects: Mapping[str, Model] = NO_ITEM
) -> DraftConfig:
    """Return the settings of a judge or decider: its own, or else the run's. Temperature, window and the like are never
    taken from another model."""
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


def judge_settings_of(settings: DraftConfig, judging: JudgeConfig | None) -> list[DraftConfig]:
    """Return the settings of all judges of a stored configuration."""
    names = judging.judges if judging is not None else ()
    return [settings_by_name(name, settings, judging) for name in names] or [writer_as_judge(settings)]


def least_window(judging: Sequence[DraftConfig]) -> int:
    """Return the smallest window; models without one do not count."""
    bounded = [settings.context_tokens for settings in judging if reads_prompts(settings.model)]
    return min(bounded, default=judging[0].context_tokens)


def identity_of(settings: DraftConfig) -> str:
    """Return the identity of a named model, as in the store."""
    return f"{settings.model}@{settings.base_url}" if settings.base_url else settings.model
