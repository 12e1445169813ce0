"""Keys that come back from outside, in whatever form, and keys that are none; and servers that redirect to others."""

from __future__ import annotations

import json
import sqlite3
import sys
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from redraft.errors import ProviderError, RedraftError, RefusedReply, UsageError
from redraft.llm.addresses import redacted
from redraft.llm.base import ScriptedModel
from redraft.llm.chat import ChatModel
from redraft.runs.models import open_model, resolve
from redraft.settings import DraftConfig
from tests.chatserver import Answer, Fault, Raw
from tests.leaks.listener import Listener
from tests.llm.support import KEY, Desk, story

SECRET_KEY = "q7/Zt+plain-KEYWORD/9182"
FORMS = {
    "plain": SECRET_KEY,
    "url": quote(SECRET_KEY, safe=""),
    "every letter": "".join(f"%{ord(letter):02X}" for letter in SECRET_KEY),
    "json": json.dumps(SECRET_KEY).replace("/", "\\/"),
    "unicode": "".join(f"\\u{ord(letter):04x}" for letter in SECRET_KEY),
    "html": "".join(f"&#{ord(letter)};" for letter in SECRET_KEY),
    "base64": b64encode(SECRET_KEY.encode()).decode(),
    "bearer": b64encode(f"Bearer {SECRET_KEY}".encode()).decode(),
    "user": urlsafe_b64encode(f"me:{SECRET_KEY}!".encode()).decode(),
}


def everything_in(path: Path) -> str:
    with sqlite3.connect(path) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return "\n".join(repr(row) for table in tables for row in database.execute(f'SELECT * FROM "{table}"'))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", ["error", "page", "refusal", "finish reason", "reply"])
async def test_keys_are_redacted_in_replies_and_errors(desk: Desk, form: str, way: str) -> None:
    message = f"You sent <{FORMS[form]}> to us."
    answers = {
        "error": Fault("status", status=401, message=message),
        "page": Raw(f"<html>{message}</html>".encode(), 403, {"Content-Type": "text/html"}),
        "refusal": Answer("", refusal=message),
        "finish reason": Answer("A story.", finish_reason=message),
        "reply": Answer(message),
    }
    desk.monkeypatch.setattr("tests.llm.support.KEY", SECRET_KEY)
    async with desk.serving([answers[way]]) as (server, model):
        output = ""
        try:
            output = (await model.ask(story())).value
        except (ProviderError, RefusedReply) as error:
            output = f"{error!r} {error} {error.hint} {getattr(error, 'text', '')}"
    assert server.seen[0].authorization == f"Bearer {SECRET_KEY}"
    desk.store.close()

    for text in (output, everything_in(desk.store.path), repr(desk.events)):
        assert FORMS[form] not in text
        assert FORMS[form][4:-4] not in text
    assert way in ("page", "finish reason") or "[redacted]" in output


@given(st.binary(max_size=9), st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8), st.binary())
def test_keys_within_base64_are_redacted(before: bytes, key: str, after: bytes) -> None:
    text = b64encode(before + key.encode() + after).decode()

    assert redacted(text, (key,)) != text
    assert redacted("nothing of the kind", (key,)) == "nothing of the kind" or key in "nothing of the kind"


async def test_errors_of_plugin_models_are_redacted(desk: Desk) -> None:
    desk.monkeypatch.setenv("PAINT_API_KEY", SECRET_KEY)
    model = desk.recorded(ScriptedModel([ProviderError(f"no such account: {FORMS['url']}")]))
    with pytest.raises(ProviderError, match=r"no such account: \[redacted\]"):
        await model.ask(story())
    desk.store.close()
    assert "9182" not in everything_in(desk.store.path)


MALFORMED = pytest.mark.parametrize(
    ("key", "words"),
    [
        ("sk-12345678 90", "a space"),
        ("sk-12345678\n90", "a control character"),
        ("sk-1234567890é", "not ASCII"),
        ("sk-1234567\x7f90", "a control character"),
        ("“sk-1234567890”", "not ASCII"),
    ],
)


@MALFORMED
async def test_malformed_keys_are_named(desk: Desk, key: str, words: str) -> None:
    desk.monkeypatch.setenv("OPENAI_API_KEY", key)
    settings = DraftConfig(model="openai:m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match=f"OPENAI_API_KEY is not a key: it contains .*{words}") as caught:
        async with open_model(settings, seconds=5) as model:
            await desk.recorded(model).ask(story())
    assert "12345678" not in f"{caught.value}{caught.value.hint}"


@MALFORMED
def test_malformed_keys_of_chat_models(key: str, words: str) -> None:
    with pytest.raises(RedraftError, match=f"the openai_api_key of ChatOpenAI is not a key: it contains .*{words}"):
        ChatModel(ChatOpenAI(model="m", base_url="http://127.0.0.1:9/v1", api_key=SecretStr(key)))


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
