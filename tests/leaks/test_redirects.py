"""A server that redirects to another: the document and the key stay where they were sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.errors import ProviderError
from redraft.runs.models import open_model, resolve
from redraft.settings import DraftConfig
from tests.leaks.listener import Listener
from tests.llm.support import KEY, Desk, story

# A provider whose SDK makes its client when it is first looked at, and keeps the HTTP client within that.
PROVIDED = """
from functools import cached_property
from typing import Any

import httpx
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class SDK:
    def __init__(self, url, key):
        self._client = httpx.AsyncClient(base_url=url, follow_redirects=True, headers={"authorization": key})

    async def create(self, text):
        reply = await self._client.post("/chat", content=text)
        reply.raise_for_status()
        return reply.text


class ChatMistralAI(BaseChatModel):
    model: str
    base_url: str = ""

    @property
    def _llm_type(self):
        return "late"

    @cached_property
    def _async_client(self):
        return SDK(self.base_url, "%s")

    def _generate(self, *args: Any, **given: Any):
        raise AssertionError

    async def _agenerate(self, messages, stop=None, run_manager=None, **given):
        text = await self._async_client.create(messages[-1].text)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])
"""


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from langchain.chat_models.base import _get_chat_model_creator

    (tmp_path / "langchain_mistralai.py").write_text(PROVIDED % KEY, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    _get_chat_model_creator.cache_clear()
    yield
    sys.modules.pop("langchain_mistralai", None)
    _get_chat_model_creator.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "status"), [("mistralai:m", 307), *(("openai:m", status) for status in (301, 302, 303, 307, 308))]
)
async def test_a_redirect_is_not_followed(desk: Desk, provider: None, model: str, status: int) -> None:
    desk.monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Listener() as stranger, Listener(stranger.url, status) as server:
        settings = resolve(DraftConfig(model=model, base_url=f"{server.url}/v1"))
        async with open_model(settings, seconds=5) as opened:
            with pytest.raises(ProviderError, match="the server redirects to") as caught:
                await desk.recorded(opened).ask(story("the wreck of the Ormolu"))

        assert "Ormolu" in server.text
        assert KEY in server.text
        assert stranger.heard == []
    assert stranger.url in caught.value.message
    assert "key=secret" not in caught.value.message
    assert desk.outcomes() == ["provider"]
