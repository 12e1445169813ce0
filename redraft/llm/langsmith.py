"""Callbacks, and LangSmith tracing: environment variables alone would enable it, and redraft sends nothing unless the
user asked for it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables.config import RunnableConfig, merge_configs, var_child_runnable_config
from langchain_core.tracers.context import tracing_v2_callback_var
from langchain_core.tracers.langchain import LangChainTracer
from langsmith.run_helpers import get_tracing_context, tracing_context
from langsmith.run_trees import get_cached_client
from langsmith.utils import LangSmithMissingAPIKeyWarning, get_env_var, get_tracer_project
from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from redraft.errors import UsageError
from redraft.events import bound
from redraft.fields import first_problem
from redraft.llm.addresses import plain_address


class Tracing(TypedDict, total=False):
    """What LangChain passes on to the callbacks of each request, as in its own `config`."""

    __pydantic_config__ = ConfigDict(arbitrary_types_allowed=True, extra="forbid")  # type: ignore[misc]

    callbacks: list[BaseCallbackHandler] | BaseCallbackManager
    tags: list[str]
    metadata: dict[str, Any]


_DEFAULT_ENDPOINT = "https://api.smith.langchain.com"
# LangChain refuses every call while one of these is set and its present tracing is off.
_OF_THE_FIRST_VERSION = ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")
_traced: ContextVar[bool] = ContextVar("redraft_traced", default=False)


def is_traced(is_requested: bool) -> bool:
    """Return whether tracing is asked for, or was switched on by an enclosing `tracing`. Raises `UsageError` if it is
    asked for without a key."""
    if is_requested:
        _check_key()
    return is_requested or _traced.get()


def _check_key() -> None:
    """Raise `UsageError` where LangSmith's client has no key, of which it would only warn."""
    with warnings.catch_warnings(), tracing_context(enabled=True):
        warnings.simplefilter("error", LangSmithMissingAPIKeyWarning)
        try:
            get_cached_client()
        except LangSmithMissingAPIKeyWarning:
            raise UsageError("tracing to LangSmith needs a key", hint="set LANGSMITH_API_KEY") from None


@contextmanager
def tracing(traced: bool) -> Iterator[None]:
    """Send everything within the context to LangSmith, or nothing, whatever the environment and the callers enabled; a
    caller's other callbacks stay."""
    outer, tracer = get_tracing_context(), tracing_v2_callback_var.get() if traced else None
    config = var_child_runnable_config.get()
    if config and not traced:
        # Without the caller's callbacks that send to LangSmith.
        callbacks = config.get("callbacks")
        if isinstance(callbacks, BaseCallbackManager):
            callbacks = callbacks.copy()
            for handlers in (callbacks.handlers, callbacks.inheritable_handlers):
                handlers[:] = [handler for handler in handlers if not isinstance(handler, LangChainTracer)]
        elif callbacks:
            callbacks = [handler for handler in callbacks if not isinstance(handler, LangChainTracer)]
        config = {**config, "callbacks": callbacks}
    if not traced:
        for name in _OF_THE_FIRST_VERSION:
            os.environ.pop(name, None)
    terms = {**outer, "enabled": True} if traced else {"enabled": False, "parent": False}
    with (
        bound(_traced, traced),
        bound(tracing_v2_callback_var, tracer),
        bound(var_child_runnable_config, config),
        tracing_context(**terms),
    ):
        yield


@contextmanager
def configured(*configs: Mapping[str, Any]) -> Iterator[None]:
    """Add the callbacks, tags and metadata in these options to the requests within the context, besides those of an
    enclosing graph."""
    parts = [{name: config[name] for name in Tracing.__annotations__ if name in config} for config in configs]
    if not any(parts):
        yield
        return
    merged = merge_configs(var_child_runnable_config.get(), *(cast("RunnableConfig", part) for part in parts))
    with bound(var_child_runnable_config, merged):
        yield


_CHECKED = TypeAdapter(Tracing)


def check_config(config: Mapping[str, Any]) -> None:
    """Raise `UsageError` for callbacks, tags or metadata that LangChain could not use, and for anything else."""
    try:
        _CHECKED.validate_python(dict(config))
    except ValidationError as error:
        field, problem = first_problem(error)
        if error.errors()[0]["type"] == "extra_forbidden":
            raise UsageError(f"there is no argument {field!r} here", hint="see help() of what was called") from None
        hint = "callbacks=[handler], tags=[text] and metadata={name: value} are what is passed on to LangChain"
        raise UsageError(f"{field} {problem}", hint=hint) from None


def destination() -> str:
    """Return where traces go: the address, without credentials, and the project. Raises `UsageError` without a key."""
    _check_key()
    try:
        address = plain_address(get_env_var("ENDPOINT") or _DEFAULT_ENDPOINT)
    except UsageError:
        address = "the address in LANGSMITH_ENDPOINT"
    if get_env_var("RUNS_ENDPOINTS"):
        address = "the addresses in LANGSMITH_RUNS_ENDPOINTS"
    return f"{address}, project {get_tracer_project()}"
