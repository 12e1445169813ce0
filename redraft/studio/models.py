"""The models that requests can name, from redraft.toml and from servers on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, create_model, field_validator
from starlette.requests import Request

from redraft.cli.settings_file import checked_tables, own_configuration
from redraft.errors import UsageError
from redraft.llm import addresses
from redraft.llm.addresses import DEFAULT_BASE_URL, OPENAI, base_url, plain_address, provider_of
from redraft.order import OrderParts
from redraft.report.tables import Entry
from redraft.runs.model_check import check, roster
from redraft.runs.models import price_of
from redraft.settings import EXTRACTIVE, NO_KEY, DraftConfig, ModelSettings, Price
from redraft.sources import write
from redraft.store.connection import off_loop
from redraft.studio.context import StudioContext, context_of
from redraft.studio.contracts import RequestBody
from redraft.studio.endpoints import Endpoint

_MAX_MODELS = 200
_KEY_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*(KEY|TOKEN)")
_SECONDS_OF_A_CHECK = 60.0
_FREE = Price(prompt=0, completion=0)
_PATIENCE = 0.3
_searches: set[asyncio.Task[BaseModel]] = set()


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


ModelList = create_model("ModelList", models=tuple[ModelLine, ...])
"""The built-in model, and those of redraft.toml."""


LocalModel = create_model("LocalModel", name=str, model=str)
"""A model of a server on this machine, under the name by which a request can use it."""
LocalServerEntry = create_model("LocalServerEntry", kind=str, address=str, answers=bool, models=tuple[LocalModel, ...])
"""The usual address of a model server."""


LocalServers = create_model("LocalServers", servers=tuple[LocalServerEntry, ...])
"""The model servers on this machine, at their usual ports."""


def _line(name: str, one: ModelSettings, context: StudioContext) -> ModelLine:
    is_openai = provider_of(one.model) == OPENAI
    address = base_url(one.base_url) if is_openai else one.base_url or ""
    needed = one.key_env or ("OPENAI_API_KEY" if is_openai and address == DEFAULT_BASE_URL else "")
    settings = DraftConfig(model=one.model, base_url=address or None, price=one.price)
    return ModelLine(
        name=name,
        model=one.model,
        address="" if address == DEFAULT_BASE_URL else address,
        window=one.context_tokens or addresses.window_of_family(one.model.partition(":")[2]),
        key_variable=needed,
        has_key=not needed or bool(os.environ.get(needed, "").strip()),
        price=price_of(settings, context.config.prices),
    )


async def listed(request: Request) -> Any:
    """List the models of redraft.toml. They can be named without a search."""
    context = context_of(request)
    builtin = ModelLine(
        name=EXTRACTIVE, model=EXTRACTIVE, address="", window=None, key_variable="", has_key=True, price=_FREE
    )
    lines = (_line(name, settings, context) for name, settings in context.named_models.items())
    return ModelList(models=(builtin, *lines))


class NewModel(RequestBody):
    """A model to test or to add. Its key is in an environment variable of the studio, and never in a request."""

    name: str = Field(max_length=60)
    model: str = Field(max_length=200)
    base_url: str | None = Field(default=None, max_length=500)
    key_env: str | None = Field(default=None, max_length=100)
    """The variable; without one, OPENAI_API_KEY is used at OpenAI's own address, and no key at others."""

    @field_validator("key_env")
    @classmethod
    def check_key_variable(cls, variable: str | None) -> str | None:
        if variable is not None and not _KEY_VARIABLE.fullmatch(variable):
            raise ValueError("must be the name of a variable such as OPENAI_API_KEY, in capitals and ending in KEY")
        return variable

    def table(self) -> dict[str, str]:
        """Return the model's table in a settings file."""
        key_env = self.key_env if self.key_env or not self.base_url else NO_KEY
        values = {"model": self.model, "base_url": self.base_url, "key_env": key_env}
        return {name: value for name, value in values.items() if value is not None}


def settings_of(context: StudioContext, new: NewModel) -> ModelSettings:
    """Return the settings of a model to be added. Raise UsageError if it cannot be: other users of a studio that other
    machines reach could send its keys to a server of theirs."""
    if context.config.exposed:
        problem = "a studio that other machines can reach adds no models"
        raise UsageError(problem, hint="write a table [models.NAME] into the settings file that it is started with")
    if new.name in context.models:
        raise UsageError(f"there is a model named {new.name!r} already", hint="choose another name")
    if new.base_url:
        plain_address(new.base_url)
    return checked_tables(ModelSettings, {new.name: new.table()}, "the form")[new.name]


async def test_model(context: StudioContext, settings: ModelSettings, name: str) -> str:
    """Ask a model two short questions; return what is wrong with it, or an empty string."""
    if context.work is None:
        raise UsageError("this studio is read-only", hint="start it without --read-only")
    store = context.work.session.store
    draft = DraftConfig(model=settings.model, base_url=settings.base_url, key_env=settings.key_env)
    entry = (await off_loop(roster, OrderParts(settings=draft), {}, context.config.prices, store, name))[0]
    result = await check(entry, store, _SECONDS_OF_A_CHECK)
    if result.works:
        return ""
    troubles = [result.words.trouble, *(form.trouble for form in result.forms.values())]
    return next(filter(None, troubles), "it gives no structured replies, which judges need")


def add_model(context: StudioContext, settings: ModelSettings, new: NewModel) -> Path:
    """Write a model into the user's own settings file, and let requests name it; return the file."""
    path = own_configuration()
    before = path.read_text("utf-8") if path.exists() else ""
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in new.table().items()]
    content = "\n".join([*([before.rstrip(), ""] if before else []), f"[models.{json.dumps(new.name)}]", *lines, ""])
    try:
        tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        hint = "correct the file, or add the model to it yourself"
        raise UsageError(f"cannot be read: {error}", place=str(path), hint=hint) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, content, "check who may write the file")
    context.named_models[new.name] = settings
    if context.work is not None:
        context.work.runner.places.add_model(settings)
    return path


async def look(request: Request) -> None:
    """Search for them as well, but wait for slow servers no longer than a page may: the search goes on."""
    task = asyncio.create_task(local(request))
    _searches.add(task)
    task.add_done_callback(_searches.discard)
    await asyncio.wait({task}, timeout=_PATIENCE)


async def local(request: Request) -> BaseModel:
    """Look for model servers on this machine. Afterwards, requests can name their models, which get no key."""
    context = context_of(request)
    local_servers = await off_loop(addresses.local_servers, addresses.USUAL)
    lines, usable = [], {}
    for server in local_servers:
        ids = (server.models or ())[:_MAX_MODELS]
        names = {f"{server.prefix}{key}": key for key in ids}
        for name, key in names.items():
            usable[name] = ModelSettings(model=f"{OPENAI}:{key}", base_url=server.url, key_env=NO_KEY, price=_FREE)
        models = tuple(LocalModel(name=name, model=key) for name, key in names.items())
        lines.append(
            LocalServerEntry(kind=server.kind, address=server.url, answers=server.models is not None, models=models)
        )
    context.local = usable
    if context.work is not None:
        for model in usable.values():
            context.work.runner.places.add_model(model)
    return LocalServers(servers=tuple(lines))


ENDPOINTS = (
    Endpoint("GET", "/api/models", listed, gives=ModelList, works=True),
    Endpoint("GET", "/api/models/local", local, gives=LocalServers, works=True),
)
