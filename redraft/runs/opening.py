"""From a model's name, as users write it, to a model that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redraft.builtin.model import ExtractiveModel
from redraft.errors import UsageError
from redraft.models.base import Model
from redraft.models.prices import FREE, Price, PriceTable
from redraft.prompts.book import PromptBook
from redraft.settings import EXTRACTIVE, Settings
from redraft.text.tokens import EstimatingTokenizer, Tokenizer, tokenizer_for

_OPENAI = "openai:"


def resolve(settings: Settings) -> Settings:
    """The settings with the model's address filled in, so that it is on record; names that mean nothing are refused."""
    if settings.model == EXTRACTIVE:
        return settings.model_copy(update={"base_url": None})
    if settings.model.startswith(_OPENAI) and settings.model != _OPENAI:
        from redraft.models.openai import base_url

        return settings.model_copy(update={"base_url": base_url(settings.base_url)})
    raise UsageError(
        f"there is no model {settings.model!r}", hint="use extractive, or openai:NAME, such as openai:gpt-5-mini"
    )


def tokenizer_of(settings: Settings) -> tuple[Tokenizer, str]:
    """The model's tokenizer, and a warning where it is an approximation. The extractive model has no window to miss."""
    if settings.model == EXTRACTIVE:
        return EstimatingTokenizer(), ""
    return tokenizer_for(settings.model.removeprefix(_OPENAI))


def price_of(settings: Settings, table: PriceTable) -> Price | None:
    """What a call costs; None when nobody knows. A model served elsewhere is not sold at OpenAI's prices."""
    if settings.model == EXTRACTIVE:
        return FREE
    return table.price(settings.model.removeprefix(_OPENAI), at_openai=_at_openai(settings))


def _at_openai(settings: Settings) -> bool:
    return (settings.base_url or "").startswith("https://api.openai.com/")


def reasoning_reserve(settings: Settings) -> int:
    """The tokens that a model may use in each call to think, besides its reply."""
    if settings.model == EXTRACTIVE:
        return 0
    from redraft.models.openai import reasoning_reserve as reserve

    return reserve(settings.model.removeprefix(_OPENAI))


@asynccontextmanager
async def open_model(settings: Settings, book: PromptBook, *, seconds: float) -> AsyncIterator[Model]:
    """The model that the settings name, open as long as the context lasts."""
    if settings.model == EXTRACTIVE:
        yield ExtractiveModel()
        return
    from redraft.models.openai import open_openai

    assert settings.base_url is not None
    name = settings.model.removeprefix(_OPENAI)
    async with open_openai(name, settings.base_url, book, seconds=seconds) as model:
        yield model
