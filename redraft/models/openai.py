"""`openai:NAME`: models behind the OpenAI chat-completions protocol, OpenAI's own and everybody else's."""

from __future__ import annotations

import warnings
from contextlib import AsyncExitStack

import openai
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from redraft.models.bounded import bound
from redraft.models.chat import ChatModel
from redraft.models.modes import modes_for
from redraft.settings import ReplyForm


def open_openai(
    name: str,
    url: str,
    *,
    key: str,
    seconds: float,
    closing: AsyncExitStack,
    replies: ReplyForm | None = None,
    reasoning: int | None = None,
) -> ChatModel:
    """A model at `url`. The HTTP client belongs to the running event loop and is closed with `closing`."""
    # LangChain's advice on refused schemas is for callers of its readers, and we go without a schema by ourselves.
    warnings.filterwarnings("ignore", message="This model does not support OpenAI's|Invalid schema for OpenAI's")
    client = openai.DefaultAsyncHttpx2Client(timeout=seconds, follow_redirects=False)
    bound(client)
    closing.push_async_callback(client.aclose)
    chat = ChatOpenAI(
        model=name,
        base_url=url,
        api_key=SecretStr(key),
        http_async_client=client,
        timeout=seconds,
        max_retries=0,
        use_responses_api=False,
    )
    modes = modes_for(replies, speaks_openai=True)
    return ChatModel(chat, identity=f"openai:{name}@{url}", modes=modes, reasoning_reserve=reasoning, seconds=seconds)
