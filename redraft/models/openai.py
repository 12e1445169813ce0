"""`openai:NAME`: models behind the OpenAI chat-completions protocol, OpenAI's own and everybody else's."""

from __future__ import annotations

import os
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import openai
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from redraft.errors import UsageError
from redraft.models.chat import ChatModel
from redraft.prompts.book import PromptBook

DEFAULT_BASE_URL = "https://api.openai.com/v1"

# Models that think before they answer: the thinking is billed as completion, and counts against its limit.
_REASONING = ("o1", "o3", "o4", "gpt-5")
_REASONING_RESERVE = 8_192
_NO_KEY = "none"


def reasoning_reserve(name: str) -> int:
    """The tokens to allow for thinking in each call; 0 for a model that does not think before it answers."""
    return _REASONING_RESERVE if name.startswith(_REASONING) and not name.startswith("gpt-5-chat") else 0


def base_url(given: str | None) -> str:
    """The address to use, without any credentials in it: it becomes part of a run's record."""
    try:
        parts = urlsplit((given or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL).strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError("the base URL is not an http(s) address", hint="for example http://localhost:11434/v1")
    host = parts.hostname if ":" not in parts.hostname else f"[{parts.hostname}]"
    address = f"{host}:{port}" if port else host
    return urlunsplit((parts.scheme, address, parts.path.rstrip("/"), "", ""))


@asynccontextmanager
async def open_openai(name: str, url: str, book: PromptBook, *, seconds: float) -> AsyncIterator[ChatModel]:
    """A model at `url`. The HTTP client belongs to the running event loop and is closed with the context."""
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key:
        if url == DEFAULT_BASE_URL:
            raise UsageError(
                f"openai:{name} needs an API key",
                hint="set OPENAI_API_KEY, or use --model extractive, which needs none",
            )
        key = _NO_KEY
    # LangChain's advice on refused schemas is for callers of its readers, and we go without a schema by ourselves.
    warnings.filterwarnings("ignore", message="This model does not support OpenAI's|Invalid schema for OpenAI's")
    async with openai.DefaultAsyncHttpx2Client(timeout=seconds) as client:
        chat = ChatOpenAI(
            model=name,
            base_url=url,
            api_key=SecretStr(key),
            http_async_client=client,
            timeout=seconds,
            max_retries=0,
            use_responses_api=False,
        )
        yield ChatModel(
            chat,
            book,
            identity=f"openai:{name}@{url}",
            modes=("json_schema", "tools", "plain"),
            reasoning_reserve=reasoning_reserve(name),
            takes_temperature=reasoning_reserve(name) == 0,
            seconds=seconds,
            secrets=() if key == _NO_KEY else (key,),
        )
