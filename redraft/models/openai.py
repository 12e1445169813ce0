"""`openai:NAME`: models behind the OpenAI chat-completions protocol, OpenAI's own and everybody else's."""

from __future__ import annotations

import os
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from redraft.errors import UsageError
from redraft.models.addresses import DEFAULT_BASE_URL
from redraft.models.chat import ChatModel

_NO_KEY = "none"


@asynccontextmanager
async def open_openai(name: str, url: str, *, seconds: float) -> AsyncIterator[ChatModel]:
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
        yield ChatModel(chat, identity=f"openai:{name}@{url}", seconds=seconds)
