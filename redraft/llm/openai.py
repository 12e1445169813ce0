"""`openai:NAME`: models behind the OpenAI chat-completions protocol, OpenAI's own and others."""

from __future__ import annotations

import re
import ssl
import warnings
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

import httpx2
import openai
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from typing_extensions import override

from redraft.llm.chat import ChatModel
from redraft.llm.envelope import ODD, normalized_completion
from redraft.llm.failures import web_page
from redraft.llm.http_client import limit_response
from redraft.llm.provider_batch import BatchClient, JobTransport, shared_client
from redraft.llm.reasoning_budget import THOUGHTS
from redraft.llm.structured_output import modes_for
from redraft.settings import ReplyForm
from redraft.store.batches import ByJob

_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_VERSION = re.compile(r"/v\d")
# A server that does not accept a connection by then is considered down.
_CONNECTING = 5.0


class _ChatOpenAI(ChatOpenAI):
    """LangChain's model; tolerates a server's irregular responses, and keeps separate reasoning."""

    @override
    def _create_chat_result(
        self, response: dict[str, Any] | openai.BaseModel, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        told: Any = response
        address = str(self.openai_api_base or "")
        # At a right address a page is what a gateway says for a moment.
        if isinstance(told, str) and _PAGE.match(told) and not _VERSION.search(address):
            raise web_page(address)
        sent = told.model_dump(warnings=False) if isinstance(told, openai.BaseModel) else told
        if not isinstance(sent, dict):
            return super()._create_chat_result(response, generation_info)
        kept, odd = normalized_completion(sent)
        result = super()._create_chat_result(kept, generation_info)
        for made, choice in zip(result.generations, kept["choices"], strict=True):
            message = choice["message"]
            thoughts = {name: message[name] for name in THOUGHTS if isinstance(message.get(name), str)}
            made.message.additional_kwargs.update(thoughts)
            made.message.response_metadata[ODD] = odd
        return result


@cache
def _tls() -> ssl.SSLContext:
    """Return the TLS context, cached because reading the certificates is slow."""
    return httpx2.create_ssl_context()


def _waiting(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECTING))


def _client(seconds: float) -> httpx2.AsyncClient:
    return openai.DefaultAsyncHttpx2Client(timeout=_waiting(seconds), follow_redirects=False, verify=_tls())


def open_openai(
    name: str,
    url: str,
    *,
    key: str,
    seconds: float,
    closing: AsyncExitStack,
    replies: ReplyForm | None = None,
    reasoning: int | None = None,
    by_job: ByJob | None = None,
) -> ChatModel:
    """Return a model at `url`; its HTTP client belongs to the running event loop and is closed with `closing`. With
    `by_job` its requests are sent in provider batches."""
    # LangChain's advice on refused schemas does not apply, as we fall back by ourselves.
    warnings.filterwarnings("ignore", message="This model does not support OpenAI's|Invalid schema for OpenAI's")
    if by_job:

        def batch_client() -> BatchClient:
            return BatchClient(
                openai.AsyncOpenAI(base_url=url, api_key=key, http_client=_client(seconds)), url, by_job.jobs
            )

        transport = JobTransport(shared_client((name, url, key, by_job.jobs), batch_client, by_job.note, closing))
        client = openai.DefaultAsyncHttpx2Client(transport=transport, timeout=None)
    else:
        client = _client(seconds)
    limit_response(client)
    closing.push_async_callback(client.aclose)
    chat = _ChatOpenAI(
        model=name,
        base_url=url,
        api_key=SecretStr(key),
        http_async_client=client,
        # Otherwise LangChain warns that a proxy of the environment is not used, which our client does use.
        http_socket_options=(),
        timeout=None if by_job else _waiting(seconds),
        max_retries=0,
        use_responses_api=False,
    )
    modes = modes_for(replies, speaks_openai=True)
    return ChatModel(
        chat,
        identity=f"openai:{name}@{url}",
        modes=modes,
        reasoning_reserve=reasoning,
        seconds=None if by_job else seconds,
        ahead=not by_job,
    )
