"""`PROVIDER:NAME` for the providers that LangChain knows, and `NAME:REST` for the models of other packages."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from langchain.chat_models import init_chat_model
from langchain.chat_models.base import _BUILTIN_PROVIDERS
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr, ValidationError

from redraft import plugins
from redraft.errors import RedraftError, Set, UsageError
from redraft.llm.addresses import environment_keys, key_place_of
from redraft.llm.base import Model
from redraft.llm.chat import ChatModel, as_model, opened_chat
from redraft.llm.failures import redact
from redraft.settings import DraftConfig


def providers() -> tuple[str, ...]:
    """Return the providers that LangChain knows, installed or not, except `openai`."""
    return tuple(sorted(name for name in _BUILTIN_PROVIDERS if name != "openai"))


def check_provider(provider: str, model: str) -> None:
    """Raise `UsageError` for a model whose provider's package is not installed."""
    module = _BUILTIN_PROVIDERS[provider][0].partition(".")[0]
    if find_spec(module) is None:
        package = module.replace("_", "-")
        raise UsageError(f"{model} needs the package {package}", hint=f"pip install {package}")


def check_provider_key(settings: DraftConfig) -> None:
    """Raise `UsageError` for a model that cannot be opened, such as one whose provider needs a key and has none. One
    with an address of its own may do without, and so may a provider for which the environment has something else."""
    provider, _, name = settings.model.partition(":")
    chat = _initialized(settings.model, provider, name)
    for field, variable in chat.lc_secrets.items():
        value, prefix = getattr(chat, field, None), variable.removesuffix("API_KEY")
        key = value.get_secret_value() if isinstance(value, SecretStr) else value
        is_configured = any(name.startswith(prefix) and text.strip() for name, text in os.environ.items())
        if prefix.endswith("_") and not (key or settings.base_url or is_configured):
            fix = (f"set {variable}, or use ", Set("model", "extractive"), ", which needs none")
            raise UsageError(f"{settings.model} needs an API key", fix=fix)


def open_provided(settings: DraftConfig, *, seconds: float, roles: str = "") -> ChatModel:
    """Return the model that the settings name, through LangChain; its key is in the provider's own environment
    variable."""
    provider, _, name = settings.model.partition(":")
    first = _initialized(settings.model, provider, name)
    # Its capabilities are known only once it is created.
    options: dict[str, Any] = {}
    declared = {keyword for name, field in type(first).model_fields.items() for keyword in (name, field.alias)}
    if "max_retries" in declared:
        # Retries are counted, recorded and paid for by `RecordedModel`.
        options["max_retries"] = 0
    if settings.base_url:
        if "base_url" not in declared:
            raise UsageError(f"{settings.model} takes no base URL", fix=("leave out ", Set("base_url")))
        options["base_url"] = settings.base_url
    chat = _initialized(settings.model, provider, name, **options) if options else first
    _disable_redirects(chat)
    return _asked(chat, settings, seconds, roles)


def open_plugged(settings: DraftConfig, *, seconds: float, roles: str = "") -> Model:
    """Return the model that a package's factory creates from the rest of its name and the settings."""
    name, _, rest = settings.model.partition(":")
    factory = plugins.load("models", name)
    try:
        model = factory(rest, settings)
    except RedraftError:
        raise
    except Exception as error:
        raise _not_opened(settings.model, error) from error
    if isinstance(model, BaseChatModel):
        return _asked(model, settings, seconds, roles)
    return as_model(model)


def _asked(chat: BaseChatModel, settings: DraftConfig, seconds: float, roles: str) -> ChatModel:
    variable = next(iter(chat.lc_secrets.values()), "the variable of its provider")
    return opened_chat(chat, settings, seconds=seconds, key_place=key_place_of(settings.model, roles, variable))


def _initialized(model: str, provider: str, name: str, **options: Any) -> BaseChatModel:
    try:
        chat: BaseChatModel = init_chat_model(name, model_provider=provider, **options)
    except Exception as error:  # noqa: BLE001
        raise _not_opened(model, error) from None
    return chat


def _not_opened(model: str, error: Exception) -> UsageError:
    # What pydantic quotes of its input may be a key.
    reason = "; ".join(item["msg"] for item in error.errors()) if isinstance(error, ValidationError) else str(error)
    if isinstance(error, ImportError) and error.__cause__:
        # LangChain reports a missing package and a missing dependency alike.
        reason = str(error.__cause__)
    return UsageError(
        f"{model} cannot be opened: {type(error).__name__}: {redact(reason, environment_keys())}",
        hint="see the message; a provider's key is taken from its own environment variable",
    )


# A chat model holds its SDK's client, which holds an HTTP client, perhaps within a part of itself.
_DEEPEST = 4


def _disable_redirects(holder: Any, depth: int = _DEEPEST, visited: frozenset[int] = frozenset()) -> None:
    """Stop all HTTP clients that can be found in a chat model from following redirects: those in the attributes named
    after clients."""
    if id(holder) in visited:
        return
    if isinstance(getattr(holder, "follow_redirects", None), bool):
        holder.follow_redirects = False
    elif depth:
        # Their names, cached properties included.
        attributes = [item for kind in type(holder).__mro__ for item in vars(kind).items()]
        later = [name for name, attribute in attributes if isinstance(attribute, cached_property)]
        set_names = [*getattr(holder, "__dict__", {}), *(getattr(holder, "__pydantic_private__", None) or {})]
        for name in (name for name in dict.fromkeys([*set_names, *later]) if "client" in name.lower()):
            value = None
            # Errors in creating the client are reported when the model is asked.
            with suppress(Exception):
                value = getattr(holder, name)
            if hasattr(value, "__dict__"):
                _disable_redirects(value, depth - 1, visited | {id(holder)})
