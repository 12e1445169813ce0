"""`openai:NAME`: models behind the OpenAI protocol, OpenAI's own and others."""

from __future__ import annotations

import re
import ssl
import warnings
from contextlib import AsyncExitStack
from functools import cache, cached_property
from typing import Any

import httpx2
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from typing_extensions import override

from redraft.llm.chat import ChatModel
from redraft.llm.envelope import completion_message
from redraft.llm.failures import web_page_error
from redraft.llm.http_client import limit_response, time_limit
from redraft.llm.structured_output import modes_for
from redraft.settings import ReplyForm

_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_VERSION = re.compile(r"/v\d")


class _ChatOpenAI(ChatOpenAI):
    """LangChain's model; tolerates a server's irregular responses, and keeps separate reasoning. Requests are sent as
    they are and responses read here: to check them against the SDK's types takes a third of the time of a call."""

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
        body = {**payload, **extra}
        response: object = await self.root_async_client.post("/chat/completions", cast_to=object, body=body)
        address = str(self.openai_api_base or "")
        # At a right address a page is what a gateway says for a moment.
        if isinstance(response, str) and _PAGE.match(response) and not _VERSION.search(address):
            raise web_page_error(address)
        return ChatResult(generations=[ChatGeneration(message=completion_message(response))])


@cache
def _tls() -> ssl.SSLContext:
    """Return the TLS context, cached because reading the certificates is slow."""
    return httpx2.create_ssl_context()


@cache
def _idle_client() -> httpx2.Client:
    """Return the client for synchronous requests, which are never made: LangChain would create one for each model, and
    read the certificates again."""
    return httpx2.Client(verify=_tls(), follow_redirects=False)


def _client(seconds: float) -> httpx2.AsyncClient:
    return openai.DefaultAsyncHttpx2Client(timeout=time_limit(seconds), follow_redirects=False, verify=_tls())


def open_openai(
    name: str,
    url: str,
    *,
    key: str,
    seconds: float,
    closing: AsyncExitStack,
    replies: ReplyForm | None = None,
    reasoning: int | None = None,
    key_place: str = "",
) -> ChatModel:
    """Return a model at `url`; its HTTP client belongs to the running event loop and is closed with `closing`.
    `key_place` says where its key comes from."""
    # LangChain's advice on refused schemas does not apply, as we fall back by ourselves.
    warnings.filterwarnings("ignore", message="This model does not support OpenAI's|Invalid schema for OpenAI's")
    client = _client(seconds)
    limit_response(client)
    closing.push_async_callback(client.aclose)
    chat = _ChatOpenAI(
        model=name,
        base_url=url,
        api_key=SecretStr(key),
        http_async_client=client,
        http_client=_idle_client(),
        # Otherwise LangChain warns that a proxy of the environment is not used, which our client does use.
        http_socket_options=(),
        timeout=time_limit(seconds),
        max_retries=0,
        use_responses_api=False,
    )
    modes = modes_for(replies, speaks_openai=True)
    identity = f"openai:{name}@{url}"
    return ChatModel(
        chat, identity=identity, modes=modes, reasoning_reserve=reasoning, seconds=seconds, key_place=key_place
    )
