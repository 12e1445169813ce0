"""A database that is deleted, moved or replaced during a run: the summary is given, and what is lost is said."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.events import Event, Notice
from redraft.text.words import dollars
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, summarizer
from tests.cli.local_command import MODEL, LocalCommand
from tests.command import Command, Completed
from tests.judges import PerfectModel, island, scripted_replies, summary_of
from tests.support import story

COMMANDS = {
    "summarize": ("summarize", "book.md", "-m", "extractive", "--judge", MODEL, "--refine", "-g", "coverage=0.1"),
    "evaluate": ("evaluate", "book.md", "poor.md"),
    "refine": ("refine", "book.md", "poor.md", "-g", "coverage=1", "-w", "100"),
}
NOT_STORED = "during the run: the run and its answers are not stored"


def files_of(folder: Path, name: str) -> list[Path]:
    return [file for file in folder.glob(f"{name}*") if not file.name.endswith(".lock")]


def delete_database(folder: Path) -> None:
    for file in files_of(folder, "redraft.db"):
        file.unlink()


def delete_checkpoints(folder: Path) -> None:
    for file in files_of(folder, "redraft.checkpoints.db"):
        file.unlink()


def replace_database(folder: Path) -> None:
    delete_database(folder)
    with redraft.Store(folder / "redraft.db"):
        pass


def delete_folder(folder: Path) -> None:
    shutil.rmtree(folder)


@contextmanager
def losing(folder: Path, lose: Callable[[Path], None], faults: Sequence[Fault] = ()) -> Iterator[Command]:
    """The command with a server that loses the database before the second answer, and has these faults from then on."""
    (folder / "book.md").write_text(island().text, "utf-8")
    (folder / "poor.md").write_text(summary_of(1, 3, 4, wrong={2: "Bob"}), "utf-8")
    answer, requests = scripted_replies(PerfectModel()), 0

    def script(request: ChatRequest) -> Any:
        nonlocal requests
        requests += 1
        if requests == 2:
            lose(folder / "data")
        return faults[0] if faults and requests >= 2 else answer(request)

    with ChatServer(script) as server:
        database = folder / "data" / "redraft.db"
        database.parent.mkdir()
        yield Command(folder, server.base_url, REDRAFT_MODEL=MODEL, REDRAFT_DB=str(database), COLUMNS="200")
        assert requests >= 2


def leads_nowhere(done: Completed) -> bool:
    """Whether the output has a command on a run."""
    return any(f"redraft {verb}" in done.err + done.out for verb in ("resume", "trace", "show", "fork"))


@pytest.mark.nightly
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("lose", [delete_database, replace_database, delete_folder])
def test_result_is_printed_with_the_loss(tmp_path: Path, name: str, lose: Callable[[Path], None]) -> None:
    with losing(tmp_path, lose) as command:
        done = command.run(*COMMANDS[name], code=3)
    what = "was replaced" if lose is replace_database else "was deleted or moved"
    text = f"the database {tmp_path}/data/redraft.db {what} {NOT_STORED}"
    assert f"note: {text}\n" in done.err
    assert f"\n{text}\n" in done.err
    assert not leads_nowhere(done), done.err
    assert ("coverage 0.50" in done.out) if name == "evaluate" else ("keeper" in done.out)


@pytest.mark.slow
def test_deleted_checkpoints_cost_only_time(tmp_path: Path) -> None:
    with losing(tmp_path, delete_checkpoints) as command:
        done = command.run(*COMMANDS["evaluate"], "--json", code=0)
        assert "unstored" not in done.json
        assert command.run("show", done.json["run"]).code == 0


@pytest.mark.slow
def test_failed_run_resumes_without_its_checkpoints(tmp_path: Path) -> None:
    faults = [Fault("status", status=401)]
    with losing(tmp_path, delete_checkpoints, faults) as command:
        failed = command.run(*COMMANDS["evaluate"], code=1)
        faults.clear()
        resumed = command.run(*failed.err.rpartition("Resume: redraft ")[2].split(), "--json", code=0)
    assert resumed.json["usage"]["calls"] <= 9, "seven that were answered once, and what failed"


@pytest.mark.slow
async def test_session_returns_a_result_it_cannot_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    with losing(tmp_path, delete_database) as command:
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            monkeypatch.setenv(name, command.environment[name])
        async with redraft.Session(command.environment["REDRAFT_DB"], model=MODEL, observer=events.append) as session:
            result = await session.evaluate(tmp_path / "book.md", tmp_path / "poor.md")
    assert result.status == "done"
    assert result.scores["coverage"] is not None
    assert result.unstored.endswith(NOT_STORED)
    assert not result.complete
    assert [event.message for event in events if isinstance(event, Notice)].count(result.unstored) == 1
    assert json.loads(json.dumps(result.model_dump()))["unstored"] == result.unstored


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
