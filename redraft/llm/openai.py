"""`openai:NAME`: models behind the OpenAI protocol, OpenAI's own and others."""

from __future__ import annotations

import json
import re
import ssl
import warnings
from contextlib import AsyncExitStack, aclosing
from functools import cache, cached_property
from typing import Any

import httpx2
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr, SecretStr
from typing_extensions import override

from redraft.errors import OversizeReply, ProviderError
from redraft.llm.addresses import name_of
from redraft.llm.chat import ChatModel, opened_chat
from redraft.llm.envelope import completion_message
from redraft.llm.failures import check_address_hint
from redraft.settings import DraftConfig

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

        try:
            async with aclosing(await client.send(request, stream=True)) as packed:
                answer = await _unpacked(packed)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except (httpx2.RequestError, ssl.SSLError) as error:
            raise openai.APIConnectionError(request=request) from error
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


async def _unpacked(packed: httpx2.Response) -> httpx2.Response:
    """Return a response with its content, which is unpacked piece by piece, so that its unpacked size is limited."""
    parts, size, headers = list[bytes](), 0, packed.headers.copy()
    async for part in packed.aiter_bytes():
        size += len(part)
        if size > MAX_BYTES:
            # The traceback of the error would keep them.
            parts.clear()
            raise OversizeReply(f"the server's answer is longer than {MAX_BYTES / 2**20:.0f} MB, and was cut off")
        parts.append(part)
    headers.pop("content-encoding", None)
    return httpx2.Response(packed.status_code, headers=headers, content=b"".join(parts), request=packed.request)


@cache
def _tls() -> tuple[ssl.SSLContext, httpx2.Client]:
    """Return the TLS context, cached because reading the certificates is slow, and a client for synchronous requests,
    which are never made: LangChain would create one for each model, and read the certificates again."""
    context = httpx2.create_ssl_context()
    return context, httpx2.Client(verify=context, follow_redirects=False)


def open_openai(
    settings: DraftConfig, *, key: str, seconds: float, closing: AsyncExitStack, key_place: str = ""
) -> ChatModel:
    """Return the model that the settings name, at their address; its HTTP client belongs to the running event loop and
    is closed with `closing`. `key_place` says where its key comes from."""
    # LangChain's advice on refused schemas does not apply, as we fall back by ourselves.
    warnings.filterwarnings("ignore", message="This model does not support OpenAI's|Invalid schema for OpenAI's")
    tls, idle_client = _tls()
    time_limit = httpx2.Timeout(seconds, connect=min(seconds, _CONNECTING))
    client = openai.DefaultAsyncHttpx2Client(timeout=time_limit, follow_redirects=False, verify=tls)
    closing.push_async_callback(client.aclose)
    chat = _ChatOpenAI(
        model=name_of(settings.model),
        base_url=settings.base_url,
        api_key=SecretStr(key),
        http_async_client=client,
        http_client=idle_client,
        # Otherwise LangChain warns that a proxy of the environment is not used, which our client does use.
        http_socket_options=(),
        timeout=time_limit,
        max_retries=0,
        use_responses_api=False,
    )
    headers = {**chat.root_async_client.auth_headers, **chat.root_async_client.default_headers}
    chat._headers = httpx2.Headers({field: value for field, value in headers.items() if isinstance(value, str)})
    return opened_chat(chat, settings, seconds=seconds, key_place=key_place)
