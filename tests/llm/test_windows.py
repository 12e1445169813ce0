"""What is known of a model's window: by its family, and as servers of several kinds tell."""

from __future__ import annotations

from typing import Any

import pytest

from redraft.llm.servers import ModelServer, window_at, window_of_family
from tests.chatserver import ChatServer

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
def test_a_server_tells_what_it_serves_a_model_with(pages: dict[str, Any], window: int | None) -> None:
    with ChatServer([], pages=pages) as there, ModelServer(there.base_url, "sk-own-01234567") as server:
        assert window_at(server, "m") == window
        assert {key for _, key in there.looked} == {"Bearer sk-own-01234567"}


def test_nobody_there_is_asked_once_and_no_redirect_is_followed() -> None:
    with ChatServer([]) as gone:
        url = gone.base_url
    with ModelServer(url, seconds=1) as server:
        assert window_at(server, "m") is None
        assert server.get("/models") is None
