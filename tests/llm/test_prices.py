"""What is known of models: their prices, built in and the user's own, and their windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Usage
from redraft.errors import UsageError
from redraft.llm.addresses import ModelServer, window_at, window_of_family
from redraft.llm.budget import FREE, builtin_prices, price_table
from redraft.runs.models import price_of, resolve
from redraft.settings import DraftConfig, Price
from tests.chatserver import ChatServer


def test_a_call_costs_what_its_tokens_cost() -> None:
    price = Price(prompt=2, completion=8, cached_prompt=0.5)
    assert price.of(Usage(1_000_000, 0)) == 2
    assert price.of(Usage(1_000_000, 500_000, cached_prompt_tokens=600_000)) == pytest.approx(0.8 + 0.3 + 4)
    assert Price(prompt=2, completion=8).of(Usage(1000, 0, cached_prompt_tokens=1000)) == pytest.approx(0.002)
    # A provider's figures need not make sense.
    assert price.of(Usage(10, 0, cached_prompt_tokens=1000)) == pytest.approx(5e-6)
    assert FREE.of(Usage(10**9, 10**9)) == 0


@pytest.mark.parametrize(
    ("name", "base_name"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-5-20250807", "gpt-5"),
        ("gpt-4.1-nano-0414", "gpt-4.1-nano"),
        ("gpt-4o-audio-preview", None),
        ("gpt-4o-7b", None),
        ("gpt-4o-2024-finetuned", None),
        ("gpt-4", None),
        ("nobody-knows", None),
    ],
)
def test_dated_version_has_the_models_price(name: str, base_name: str | None) -> None:
    table = builtin_prices()
    assert table.price(name, at_openai=True) == (table.builtin[base_name] if base_name else None)


def test_user_prices_go_first(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('[prices]\n"gpt-4o" = { prompt = 1, completion = 2 }\n"llama" = { prompt = 0, completion = 0 }\n')
    table = price_table(str(file))
    own_price = Price(prompt=1, completion=2)
    assert table.price("gpt-4o", at_openai=True) == own_price
    assert table.price("gpt-4o-2024-08-06", at_openai=False) == own_price
    assert table.price("llama", at_openai=False) == FREE
    assert table.price("gpt-4o-mini", at_openai=True) == builtin_prices().builtin["gpt-4o-mini"]
    assert table.price("gpt-4o-mini", at_openai=False) is None


@pytest.mark.parametrize(
    ("url", "sold"),
    [
        (None, True),
        ("https://api.openai.com/v1/", True),
        ("https://API.openai.com/v1", True),
        ("https://me:key@api.openai.com/v1", True),
        ("http://localhost:8000/v1", False),
        ("https://api.openai.com.example.org/v1", False),
    ],
)
def test_openais_prices_hold_at_openai(url: str | None, sold: bool) -> None:
    settings = resolve(DraftConfig(model="openai:gpt-4o", base_url=url))
    assert (price_of(settings, builtin_prices()) is not None) == sold


def test_the_built_in_model_costs_nothing() -> None:
    assert price_of(resolve(DraftConfig()), builtin_prices()) == FREE


@pytest.mark.parametrize(
    "content",
    [
        b"[prices",
        b'"gpt-4o" = { prompt = 1, completion = 2 }',
        b"prices = 3",
        b"[prices]\nx = 1",
        b"[prices]\nx = { prompt = 1 }",
        b"[prices]\nx = { prompt = -1, completion = 1 }",
        b"[prices]\nx = { prompt = nan, completion = 1 }",
        b"[prices]\nx = { prompt = inf, completion = 1 }",
        b"[prices]\nx = { prompt = 1, completion = 1, output = 1 }",
        b"\xff\xfe",
    ],
)
def test_bad_price_table_is_explained(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "prices.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        price_table(str(file))
    assert caught.value.place == str(file)
    assert "[prices]" in caught.value.hint
    assert "\n" not in caught.value.message


def test_unreadable_price_table_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UsageError, match="cannot read the prices"):
            price_table(str(path))


VLLM = {"/v1/models": {"data": [{"id": "other", "max_model_len": 9}, {"id": "m", "max_model_len": 32_768}]}}
LLAMA = {
    "/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 131_072}}]},
    "/props": {"default_generation_settings": {"n_ctx": 16_384}},
}
LM_STUDIO = {
    "/v1/models": {"data": [{"id": "m"}]},
    "/api/v0/models": {"data": [{"id": "m", "max_context_length": 131_072, "loaded_context_length": 12_000}]},
}
OLLAMA = {
    "/v1/models": {"data": [{"id": "m:latest", "owned_by": "library"}]},
    "/api/show": {
        "parameters": 'stop "x"\nnum_ctx                        24576\n',
        "model_info": {"q.context_length": 99_999},
    },
}
OLLAMA_RUNNING = {
    "/v1/models": {"data": [{"id": "m:latest"}]},
    "/api/show": {"model_info": {"q.context_length": 99_999}},
    "/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]},
}
NONSENSE = {
    "/v1/models": {"data": [{"id": "m", "max_model_len": "a lot"}]},
    "/props": [1],
    "/api/show": {"parameters": 7},
}


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gpt-5-mini", 272_000),
        ("openai/gpt-5.1", 272_000),
        ("gpt-5-chat-latest", 128_000),
        ("gpt-4.1-nano-2025-04-14", 1_047_576),
        ("gpt-4-0613", 8_192),
        ("o1-preview", 200_000),
        ("claude-sonnet-4-5", 200_000),
        ("gpt-oss:20b", None),
        ("gpt-50", None),
        ("ollama", None),
        ("qwen3", None),
    ],
)
def test_a_family_has_a_window(name: str, window: int | None) -> None:
    assert window_of_family(name) == window


@pytest.mark.parametrize(
    ("pages", "window"),
    [
        (VLLM, 32_768),
        (LLAMA, 16_384),
        (LM_STUDIO, 12_000),
        (OLLAMA, 24_576),
        (OLLAMA_RUNNING, 4096),
        (NONSENSE, None),
        ({}, None),
    ],
)
def test_server_reports_its_window(pages: dict[str, Any], window: int | None) -> None:
    with ChatServer([], pages=pages) as pages_server, ModelServer(pages_server.base_url, "sk-own-01234567") as server:
        assert window_at(server, "m") == window
        assert {key for _, key in pages_server.looked} == {"Bearer sk-own-01234567"}
