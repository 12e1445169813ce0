"""`PROVIDER:NAME` for the providers that LangChain knows, and `NAME:REST` for the models of other packages."""

from __future__ import annotations

import json
import os
import re
import ssl
import warnings
from contextlib import AsyncExitStack, aclosing, suppress
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any

import httpx2
import openai
from langchain.chat_models import init_chat_model
from langchain.chat_models.base import _BUILTIN_PROVIDERS
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr, SecretStr, ValidationError
from typing_extensions import override

from redraft import plugins
from redraft.errors import OversizeReply, ProviderError, RedraftError, Set, UsageError
from redraft.llm.addresses import environment_keys, name_of
from redraft.llm.base import Model
from redraft.llm.chat import ChatModel, as_model, opened_chat
from redraft.llm.responses import check_address_hint, completion_message, redact
from redraft.settings import DraftConfig

PROVIDERS = tuple(sorted(name for name in _BUILTIN_PROVIDERS if name != "openai"))
"""The providers that LangChain knows, installed or not, except `openai`."""


def check_provider(provider: str, model: str) -> None:
    """Raise `UsageError` for a model whose provider's package is not installed."""
    module = _BUILTIN_PROVIDERS[provider][0].partition(".")[0]
    if find_spec(module) is None:
        package = module.replace("_", "-")
        raise UsageError(f"{model} needs the package {package}", hint=f"pip install {package}")


def check_provider_key(settings: DraftConfig) -> None:
    """Raise `UsageError` for a model that cannot be opened, such as one whose provider needs a key and has none. One
    with an address of its own may do without, and so may a provider for which the environment has something else."""
    chat = _initialized(settings.model)
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
    first = _initialized(settings.model)
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
    chat = _initialized(settings.model, **options) if options else first
    _disable_redirects(chat)
    return opened_chat(chat, settings, seconds=seconds, roles=roles)


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
        return opened_chat(model, settings, seconds=seconds, roles=roles)
    return as_model(model)


def _initialized(model: str, **options: Any) -> BaseChatModel:
    provider, _, name = model.partition(":")
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


_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_VERSION = re.compile(r"/v\d")
# A server that does not accept a connection by then is considered down.
_CONNECTING = 5.0
MAX_BYTES = 64 * 1024 * 1024
"""The size limit of an unpacked response; the longest replies of any model are a hundredth of that."""


class _ChatOpenAI(ChatOpenAI):
    """LangChain's model; tolerates a server's irregular responses, and keeps separate reasoning. Requests are posted
    and responses read here: what the SDK does for each takes as much time as all the rest of a call."""

    _headers: httpx2.Headers | None = PrivateAttr(None)
    """The headers of every request, by the SDK's client."""

    @cached_property
    @override
    def _serialized(self) -> dict[str, Any]:
        # For callbacks; otherwise LangChain describes every field of the model anew for each request.
        return {"lc": 1, "type": "not_implemented", "id": self.lc_id(), "name": self.get_name()}

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        extra = payload.pop("extra_body", None) or {}
        body = json.dumps({**payload, **extra}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        address = str(self.openai_api_base or "")
        client: Any = self.http_async_client
        request: httpx2.Request = client.build_request(
            "POST", f"{address}/chat/completions", content=body.encode(), headers=self._headers
        )

        # The content is unpacked piece by piece, so that its unpacked size is limited.
        parts, size = list[bytes](), 0
        try:
            async with aclosing(await client.send(request, stream=True)) as packed:
                async for part in packed.aiter_bytes():
                    size += len(part)
                    if size > MAX_BYTES:
                        # The traceback of the error would keep them.
                        parts.clear()
                        limit = f"{MAX_BYTES / 2**20:.0f} MB"
                        raise OversizeReply(f"the server's answer is longer than {limit}, and was cut off")
                    parts.append(part)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except (httpx2.RequestError, ssl.SSLError) as error:
            raise openai.APIConnectionError(request=request) from error
        fields = packed.headers.copy()
        fields.pop("content-encoding", None)
        answer = httpx2.Response(packed.status_code, headers=fields, content=b"".join(parts), request=request)
        if not answer.is_success:
            raise self.root_async_client._make_status_error_from_response(answer)

        is_json = answer.headers.get("content-type", "").partition(";")[0].strip().endswith("json")
        response: object = answer.json() if is_json else answer.text
        # At a right address a page is what a gateway says for a moment.
        if isinstance(response, str) and _PAGE.match(response) and not _VERSION.search(address):
            # Retrying does not help.
            hint = check_address_hint(address)
            raise ProviderError(f"{address} is a web page, not a model server", hint=hint)
        return ChatResult(generations=[ChatGeneration(message=completion_message(response))])


# Reading the certificates is slow. LangChain would create a client for synchronous requests, which are never made, for
# each model, and read them again.
_tls_context, _idle_client = cache(httpx2.create_ssl_context), cache(httpx2.Client)


def open_openai(
    settings: DraftConfig, *, key: str, seconds: float, closing: AsyncExitStack, roles: str = "", variable: str = ""
) -> ChatModel:
    """Return the model that the settings name, at their address; its HTTP client belongs to the running event loop and
    is closed with `closing`. The key comes from the `variable`."""
    # LangChain's advice on refused schemas does not apply, as we fall back by ourselves.
    warnings.filterwarnings("ignore", message="This model does not support OpenAI's|Invalid schema for OpenAI's")
    tls = _tls_context()
    time_limit = httpx2.Timeout(seconds, connect=min(seconds, _CONNECTING))
    client = openai.DefaultAsyncHttpx2Client(timeout=time_limit, follow_redirects=False, verify=tls)
    closing.push_async_callback(client.aclose)
    chat = _ChatOpenAI(
        model=name_of(settings.model),
        base_url=settings.base_url,
        api_key=SecretStr(key),
        http_async_client=client,
        http_client=_idle_client(verify=tls, follow_redirects=False),
        # Otherwise LangChain warns that a proxy of the environment is not used, which our client does use.
        http_socket_options=(),
        timeout=time_limit,
        max_retries=0,
        use_responses_api=False,
    )
    headers = {**chat.root_async_client.auth_headers, **chat.root_async_client.default_headers}
    chat._headers = httpx2.Headers({field: value for field, value in headers.items() if isinstance(value, str)})
    return opened_chat(chat, settings, seconds=seconds, roles=roles, variable=variable)
