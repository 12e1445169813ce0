"""From a model's name, as users write it, to a model that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from redraft import plugins
from redraft.builtin.door import IDENTITY
from redraft.builtin.door import opened as open_extractive
from redraft.errors import UsageError
from redraft.models.addresses import base_url, openai_key, plain_address
from redraft.models.base import Model
from redraft.models.jobs.wanted import ByJob
from redraft.models.late import LateModel
from redraft.models.names import OPENAI, address_in, name_of, provider_of
from redraft.models.nli.model import opened as open_entailment
from redraft.models.prices import FREE, PriceTable
from redraft.models.reasoning import usual_room
from redraft.settings import EXTRACTIVE, Price, Settings, is_entailment, reads_prompts
from redraft.text.tokens import EstimatingTokenizer, Tokenizer, tokenizer_for


def resolve(settings: Settings) -> Settings:
    """The settings with the model's address filled in, so that it is on record; names that mean nothing are refused."""
    model, given = settings.model, settings.base_url
    if model == EXTRACTIVE:
        return settings.model_copy(update={"base_url": None, "key_env": None})
    if address_in(model):
        raise UsageError(f"{model} is a model that was handed over", hint="hand it over again, from Python")
    provider, named, name = model.partition(":")
    if is_entailment(model) and name:
        return settings.model_copy(update={"base_url": None, "key_env": None})
    if provider == OPENAI and name:
        return settings.model_copy(update={"base_url": base_url(given)})
    if settings.key_env:
        raise UsageError(f"{model} takes its key from its provider's own variable", hint="leave out --key-env")
    if not (named and provider in plugins.names("models")):
        _check_provider(provider, model, name)
    return settings.model_copy(update={"base_url": plain_address(given) if given else None})


def _check_provider(provider: str, model: str, name: str) -> None:
    from redraft.models.providers import check_provider, providers

    if not name or provider not in providers():
        others = "".join(f"{plugin}:..., " for plugin in plugins.names("models"))
        raise UsageError(
            f"there is no model {model!r}",
            hint=f"use extractive; openai:NAME, such as openai:gpt-5-mini; {others}nli:MODEL as a judge; or"
            f" PROVIDER:NAME with one of"
            f" {', '.join(providers())}",
        )
    check_provider(provider, model)


def tokenizer_of(settings: Settings) -> tuple[Tokenizer, str]:
    """The model's tokenizer, and a warning where it is an approximation. Who reads no prompts has no window to miss."""
    if not reads_prompts(settings.model):
        return EstimatingTokenizer(), ""
    return tokenizer_for(name_of(settings.model))


def exact_tokenizer(settings: Settings) -> Tokenizer | None:
    """The tokenizer by which the provider counts; None where that is not known for certain."""
    if not _is_at_openai(settings):
        return None
    tokenizer, warning = tokenizer_for(name_of(settings.model))
    return None if warning else tokenizer


def price_of(settings: Settings, table: PriceTable) -> Price | None:
    """What a call costs; None when nobody knows. A model served elsewhere is not sold at OpenAI's prices."""
    if not reads_prompts(settings.model):
        return FREE
    if settings.price is not None:
        return settings.price
    return table.price(name_of(settings.model) or settings.model, at_openai=_is_at_openai(settings))


def _is_at_openai(settings: Settings) -> bool:
    address = address_in(settings.model) or settings.base_url or ""
    return provider_of(settings.model) == OPENAI and address.startswith("https://api.openai.com/")


def reasoning_reserve(settings: Settings) -> int:
    """The tokens that a model may use in each call to think, besides its reply."""
    if not reads_prompts(settings.model):
        return 0
    if settings.reasoning_tokens is not None:
        return settings.reasoning_tokens
    return usual_room(name_of(settings.model))


@asynccontextmanager
async def open_model(
    settings: Settings, *, seconds: float, usual_key: bool = True, by_job: ByJob | None = None
) -> AsyncIterator[Model]:
    """The model that the settings name, open as long as the context lasts. What takes long to load waits for a call.

    Without a key of its own a model of OpenAI's protocol gets the `usual_key`, OPENAI_API_KEY, only if it may. With
    `by_job` its requests go out in jobs.
    """
    provider = provider_of(settings.model)
    if settings.model == EXTRACTIVE:
        yield LateModel(IDENTITY, open_extractive)
    elif is_entailment(settings.model):
        yield open_entailment(name_of(settings.model))
    elif provider == OPENAI:
        async with AsyncExitStack() as closing:
            yield _late_openai(settings, seconds, closing, usual_key=usual_key, by_job=by_job)
    else:
        from redraft.models.providers import open_plugged, open_provided

        known = provider in plugins.names("models")
        yield (open_plugged if known else open_provided)(settings, seconds=seconds)


def load_openai() -> None:
    """Import the client of OpenAI's protocol."""
    import redraft.models.openai  # noqa: F401


def _late_openai(
    settings: Settings, seconds: float, closing: AsyncExitStack, *, usual_key: bool, by_job: ByJob | None
) -> Model:
    name, url = name_of(settings.model), settings.base_url
    assert url is not None
    key = openai_key(name, url, settings.key_env, usual=usual_key)

    def opened() -> Model:
        from redraft.models.openai import open_openai

        return open_openai(
            name,
            url,
            key=key,
            seconds=seconds,
            closing=closing,
            replies=settings.replies,
            reasoning=settings.reasoning_tokens,
            by_job=by_job,
        )

    return LateModel(f"{settings.model}@{url}", opened)
