"""Both strategies from the command line through real HTTP, with everything that goes wrong on the way."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chatserver import ChatServer, Fault
from tests.cli.local_command import LocalCommand
from tests.command import Command
from tests.support import story

MODEL = ("--model", "openai:gpt-4o-mini")
SMALL = ("--chunk-tokens", "256", "--context-tokens", "2048", "--words", "120", "--temperature", "0")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.md"
    path.write_text(story(150).text, "utf-8")
    return path


@pytest.mark.slow
def test_usage_of_a_run_is_the_servers(tmp_path: Path, book: Path) -> None:
    with ChatServer() as server:
        done = Command(tmp_path, server.base_url).run("summarize", str(book), *MODEL, *SMALL, "--json", code=0)
        answered = list(server.answered)
    result = done.json
    assert result["usage"]["calls"] == len(answered)
    assert result["usage"]["prompt_tokens"] == sum(request.prompt_tokens for request in answered)
    assert result["usage"]["completion_tokens"] == sum(request.completion_tokens for request in answered)
    assert 0 < result["words"] <= 120
    assert {request.body["temperature"] for request in answered} == {0}
    assert all(request.authorization == "Bearer sk-test-0123456789abcdef" for request in answered)


@pytest.mark.slow
def test_wrong_key_stops_at_once(tmp_path: Path, book: Path) -> None:
    fault = Fault("status", status=401, message="Incorrect API key provided: sk-test-0123456789abcdef.")
    with ChatServer(lambda request: fault) as server:
        done = LocalCommand(tmp_path, server.base_url).run("summarize", str(book), *MODEL, *SMALL, code=1)
        requests = len(server.seen)
    assert requests <= 16
    assert "API key" in done.err
    assert "sk-test" not in done.err
    assert "redraft resume" in done.err


@pytest.mark.slow
def test_a_budget_in_money_is_kept(tmp_path: Path, book: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[prices]\n"gpt-4o-mini" = { prompt = 100.0, completion = 400.0 }\n')
    with ChatServer() as server:
        command = LocalCommand(tmp_path, server.base_url)
        done = command.run(
            "summarize", str(book), *MODEL, *SMALL, "--set", f"prices={prices}", "--max-cost", "1.0", "--json", code=3
        )
        result = done.json
        spent = sum(100 * request.prompt_tokens + 400 * request.completion_tokens for request in server.answered) / 1e6
        assert result["usage"]["cost_usd"] == pytest.approx(spent)
        assert 0.5 < spent <= 1.0
        assert result["stop_reason"] == "budget"
        assert result["summary"]
        more = command.run("resume", result["run"], "--set", f"prices={prices}", "--max-cost", "50", "--json", code=0)
    assert more.json["stop_reason"] == "complete"


@pytest.mark.slow
def test_order_of_replies_does_not_matter(tmp_path: Path, book: Path) -> None:
    outcomes = set()
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        chance = random.Random(seed)
        with ChatServer(latency=lambda prompt, completion, index, chance=chance: chance.uniform(0, 0.05)) as server:
            done = LocalCommand(folder, server.base_url).run("summarize", str(book), *MODEL, *SMALL, "--quiet", code=0)
        outcomes.add(done.out)

    assert len(outcomes) == 1
