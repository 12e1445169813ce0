"""The models that requests can name, from redraft.toml and from servers on this machine."""

from __future__ import annotations

import asyncio
import os

from pydantic import BaseModel
from starlette.requests import Request

from redraft.llm import servers
from redraft.llm.addresses import DEFAULT_BASE_URL, OPENAI, base_url, provider_of
from redraft.report.entry import Entry
from redraft.runs.models import price_of
from redraft.settings import EXTRACTIVE, NO_KEY, DraftConfig, ModelSettings, Price
from redraft.store.connection import off_loop
from redraft.studio.context import StudioContext, context_of
from redraft.studio.endpoints import Endpoint

_MAX_MODELS = 200
_FREE = Price(prompt=0, completion=0)
_PATIENCE = 0.3
_searches: set[asyncio.Task[LocalServers]] = set()


class ModelLine(Entry):
    """A model that a request can name."""

    name: str
    model: str
    address: str
    """Its base URL; empty for the provider's default."""
    window: int | None
    key_variable: str
    """The environment variable with its key; empty if it needs none."""
    has_key: bool
    """Whether that variable is set."""
    price: Price | None
    """US dollars per million tokens; None if unknown."""


class ModelList(BaseModel):
    """The built-in model, and those of redraft.toml."""

    models: tuple[ModelLine, ...]


class LocalModel(Entry):
    """A model of a server on this machine."""

    name: str
    """The name by which a request can use it."""
    model: str


class LocalServerEntry(Entry):
    """The usual address of a model server."""

    kind: str
    address: str
    answers: bool
    models: tuple[LocalModel, ...]


class LocalServers(BaseModel):
    """The model servers on this machine, at their usual ports."""

    servers: tuple[LocalServerEntry, ...]


def known(context: StudioContext) -> ModelList:
    """Return the models that can be named without a search."""
    builtin = ModelLine(
        name=EXTRACTIVE, model=EXTRACTIVE, address="", window=None, key_variable="", has_key=True, price=_FREE
    )
    return ModelList(
        models=(builtin, *(_line(name, settings, context) for name, settings in context.config.models.items()))
    )


def _line(name: str, one: ModelSettings, context: StudioContext) -> ModelLine:
    is_openai = provider_of(one.model) == OPENAI
    address = base_url(one.base_url) if is_openai else one.base_url or ""
    needed = one.key_env or ("OPENAI_API_KEY" if is_openai and address == DEFAULT_BASE_URL else "")
    settings = DraftConfig(model=one.model, base_url=address or None, price=one.price)
    return ModelLine(
        name=name,
        model=one.model,
        address="" if address == DEFAULT_BASE_URL else address,
        window=one.context_tokens or servers.window_of_family(one.model.partition(":")[2]),
        key_variable=needed,
        has_key=not needed or bool(os.environ.get(needed, "").strip()),
        price=price_of(settings, context.config.prices),
    )


async def listed(request: Request) -> ModelList:
    """Return the models that can be named."""
    return known(context_of(request))


async def local(request: Request) -> LocalServers:
    """Search for model servers on this machine. Afterwards, requests can name their models, which get no key."""
    return await _looked(context_of(request))


async def look(request: Request) -> None:
    """Search for them as well, but wait for slow servers no longer than a page may: the search goes on."""
    task = asyncio.create_task(_looked(context_of(request)))
    _searches.add(task)
    task.add_done_callback(_searches.discard)
    await asyncio.wait({task}, timeout=_PATIENCE)


async def _looked(context: StudioContext) -> LocalServers:
    local_servers = await off_loop(servers.local_servers, servers.USUAL)
    lines, usable = [], {}
    for server in local_servers:
        ids = (server.models or ())[:_MAX_MODELS]
        names = {f"{server.port.prefix}{each}": each for each in ids}
        for name, each in names.items():
            usable[name] = ModelSettings(
                model=f"{OPENAI}:{each}", base_url=server.port.url, key_env=NO_KEY, price=_FREE
            )
        models = tuple(LocalModel(name=name, model=each) for name, each in names.items())
        lines.append(
            LocalServerEntry(
                kind=server.port.kind, address=server.port.url, answers=server.models is not None, models=models
            )
        )
    context.local = usable
    if context.work is not None:
        for model in usable.values():
            context.work.manager.places.add_model(model)
    return LocalServers(servers=tuple(lines))


ENDPOINTS = (
    Endpoint("GET", "/api/models", "List the models of redraft.toml.", listed, ModelList, works=True),
    Endpoint("GET", "/api/models/local", "Look for model servers on this machine.", local, LocalServers, works=True),
)
