"""A database that is deleted, moved or replaced during a run: the summary is given, and what is lost is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.events import Event, Notice
from tests.chatserver import ChatRequest, ChatServer, Fault
from tests.cli.local_command import MODEL
from tests.command import Command, Completed
from tests.judges import PerfectModel, island, scripted_replies, summary_of

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
        assert "redraft.checkpoints.db was deleted or moved during the run: a stopped run starts again" in done.err
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
