"""What a user sees of calls that were sent and never answered, and that they count."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from redraft.text.words import dollars
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, summarizer
from tests.cli.local_command import LocalCommand
from tests.command import Command
from tests.support import story

PRICES = '[prices]\n"m" = { prompt = 1.0, completion = 4.0 }\n'
LIMIT = 12


@pytest.mark.nightly
def test_run_killed_thrice_keeps_its_calls(tmp_path: Path) -> None:
    text = summarizer(words=60)

    def script(request: ChatRequest) -> Answer | Fault:
        said = text(request)
        assert isinstance(said, str)
        return Answer(said, latency=0.5)

    (tmp_path / "book.md").write_text(story(400).text, "utf-8")
    (tmp_path / "prices.toml").write_text(PRICES, "utf-8")
    limits = ("--max-calls", str(LIMIT), "--max-cost", "9", "--set", "prices=prices.toml", "--concurrency", "2")
    with ChatServer(script) as server:
        command = Command(tmp_path, server.base_url)
        arguments = ("summarize", "book.md", "-m", "openai:m", "--chunk-tokens", "256", "--context-tokens", "2048")
        run = ""
        for _ in range(3):
            before = len(server.seen)
            with command.start(*(("resume", run) if run else (*arguments, "-w", "100")), *limits) as one:
                while len(server.seen) < before + 2:
                    time.sleep(0.01)
                one.kill()
            run = command.run("runs", "--json").json["runs"][0]["run"]
        command.run("resume", run, *limits, code=3)
        assert len(server.seen) <= LIMIT
        usage = command.run("show", run, "--json").json["usage"]
        assert usage["calls"] == LIMIT
        assert usage["lost"] >= 3
        told = f"12 calls · {usage['prompt_tokens']:,} tokens in"
        output = command.run("show", run).err
        assert told in output
        assert f"{usage['lost']} calls without an answer (counted as at most {dollars(usage['lost_usd'])})" in output


@pytest.mark.parametrize(("strategy", "status"), [("direct", "done"), ("hierarchical", "stopped")])
def test_server_over_the_limit_ends_the_run(tmp_path: Path, strategy: str, status: str) -> None:
    text = summarizer(words=60)

    def script(request: ChatRequest) -> Answer:
        said = text(request)
        assert isinstance(said, str)
        spent = {"prompt_tokens": 1000, "completion_tokens": 90_000, "total_tokens": 91_000}
        return Answer(said, usage=spent)

    (tmp_path / "book.md").write_text(story(60).text, "utf-8")
    (tmp_path / "prices.toml").write_text(PRICES, "utf-8")
    with ChatServer(script) as server:
        command = LocalCommand(tmp_path, server.base_url)
        arguments = ("summarize", "book.md", "-m", "openai:m", "-w", "60", "--chunk-tokens", "200")
        bounds = ("--max-cost", "0.3", "--set", "prices=prices.toml", "--concurrency", "1", "--context-tokens", "8192")
        done = command.run(*arguments, "--strategy", strategy, *bounds)
        assert len(server.seen) == 1
    run = command.run("runs", "--json").json["runs"][0]["run"]
    report = command.run("show", run, "--json").json
    assert report["status"] == status
    assert report["usage"]["over_usd"] == pytest.approx(0.061)
    assert "$0.06 over the limit" in " ".join(done.err.split())
    assert "$0.06 over the limit" in " ".join(command.run("trace", run).out.split())
