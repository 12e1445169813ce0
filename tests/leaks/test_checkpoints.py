"""A database that somebody sends: no row of its checkpoints is executed, and a damaged one ends in a sentence."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from langchain_core.runnables import RunnableConfig

from redraft import Session, Store
from redraft.errors import CheckpointError
from tests.cli.local_command import LocalCommand, judging_folder
from tests.command import Completed
from tests.leaks.payloads import NAMES, payload
from tests.postgres import database, needs_postgres

pytestmark = pytest.mark.slow
REFINE = ("refine", "book.md", "poor.md", "--goal", "coverage=1", "--goal", "consistency=1", "--words", "50")
COLUMNS = [("checkpoints", "checkpoint"), ("writes", "value")]
MALFORMED = [
    *([], 7, "x", {}, {"v": 99, "nodes": []}, None),
    {"v": 4, "id": "x", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}},
    {"v": 4, "id": "1f0", "ts": "", "channel_versions": {}, "versions_seen": {}},
    {"v": 4, "id": "1f0", "ts": "", "channel_values": [], "channel_versions": 3, "versions_seen": {}},
]


def signed(value: Any) -> tuple[str, bytes]:
    """A row as redraft writes it, with a checksum that is right."""
    content = json.dumps(value, ensure_ascii=False).encode()
    return f"json-{crc32(content):08x}", content


class Sent:
    """A database with a run that waits for a review, as it lies in a directory of its own."""

    def __init__(self, command: LocalCommand, run: str) -> None:
        self.command = command
        self.run = run
        self.checkpoints = command.folder / "redraft.checkpoints.db"

    def copied(self, folder: Path) -> Sent:
        folder.mkdir()
        for path in self.command.folder.iterdir():
            shutil.copy(path, folder)
        environment = {**self.command.environment, "REDRAFT_DB": str(folder / "redraft.db")}
        return Sent(LocalCommand(folder, **environment), self.run)

    def alter(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.checkpoints)) as raw, raw:
            raw.execute(statement, values)

    def resumed(self) -> Completed:
        """What comes of resuming it; an error is one sentence and the next step."""
        done = self.command.run("resume", self.run, stdin=b"s\n")
        assert done.code in (0, 1, 3), done.err
        assert "Traceback" not in done.err
        return done

    def refused(self) -> str:
        return self.reason(self.resumed())

    def reason(self, done: Completed) -> str:
        """The sentence that a command ended with, which names the run and the file, and the next step."""
        assert done.code == 1, done.err
        error = done.err[done.err.index("redraft: ") :]
        assert error.startswith(f"redraft: {self.checkpoints}: run {self.run} cannot continue from its checkpoint: ")
        assert f"\n  move that file away, then `redraft resume {self.run}`: it starts over" in error
        return error


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sent]:
    with judging_folder(tmp_path_factory.mktemp("sent")) as command:
        done = command.run(*REFINE, "--review", "--json")
        assert done.code == 3, done.err
        yield Sent(command, done.json["run"])


@pytest.fixture
def sent(waiting: Sent, tmp_path: Path) -> Sent:
    return waiting.copied(tmp_path / "sent")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_foreign_rows_are_never_executed(sent: Sent, tmp_path: Path, table: str, column: str, name: str) -> None:
    place = tmp_path / "executed"
    sent.alter(f"UPDATE {table} SET type = ?, {column} = ?", *payload(name, place))
    done = sent.resumed()
    assert not place.exists()
    assert "it was not written by this version of redraft" in sent.reason(done)


@pytest.mark.parametrize("value", MALFORMED, ids=repr)
def test_malformed_checkpoints_are_refused(sent: Sent, value: Any) -> None:
    sent.alter("UPDATE checkpoints SET type = ?, checkpoint = ?", *signed(value))
    sent.refused()


@pytest.mark.parametrize("value", ["{", "[]", "7", b"\xff", 7], ids=repr)
def test_malformed_metadata_is_refused(sent: Sent, value: Any) -> None:
    sent.alter("UPDATE checkpoints SET metadata = ?", value)
    sent.refused()


@pytest.mark.parametrize("thread", ["run-00000000", 7, b"run-00000000"], ids=repr)
def test_malformed_runs_can_be_forgotten(sent: Sent, thread: Any) -> None:
    sent.alter("UPDATE checkpoints SET thread_id = ?, checkpoint = 7", thread)
    done = sent.command.run("forget", sent.run, "--yes")
    assert done.code == 0, done.err


def test_foreign_questions_are_refused(sent: Sent) -> None:
    question = {"$": "interrupt", "of": [{"text": "Give me your key."}, "0" * 32, None]}
    sent.alter("UPDATE writes SET type = ?, value = ? WHERE channel = '__interrupt__'", *signed([question]))
    assert "ValidationError" in sent.refused()


@pytest.mark.parametrize("order", [{"source": "/etc/hostname"}, {"recorded": "00000000"}], ids=repr)
def test_checkpoints_begin_no_other_run(sent: Sent, order: Any) -> None:
    with closing(sqlite3.connect(sent.checkpoints)) as raw, raw:
        raw.execute("DELETE FROM writes")
        raw.execute("DELETE FROM checkpoints WHERE checkpoint_id > (SELECT min(checkpoint_id) FROM checkpoints)")
        content = json.loads(raw.execute("SELECT checkpoint FROM checkpoints").fetchone()[0])
    assert content["channel_values"] == {"__start__": {"order": {"recorded": sent.run}}}
    forged = {**content, "channel_values": {"__start__": {"order": order}}}
    sent.alter("UPDATE checkpoints SET type = ?, checkpoint = ?", *signed(forged))
    assert "it would begin another run" in sent.refused() or "checkpoint of another run" in sent.refused()
    assert len(sent.command.run("runs", "--json").json["runs"]) == 1


def test_a_run_outlives_its_checkpoint(sent: Sent) -> None:
    reports = [("show", sent.run), ("trace", sent.run), ("runs", "--json")]
    before = [sent.command.run(*report) for report in reports]
    sent.alter("UPDATE checkpoints SET checkpoint = substr(checkpoint, 1, 20)")
    assert [sent.command.run(*report) for report in reports] == before
    assert sent.command.run("fork", sent.run, "--round", "0", stdin=b"s\n").code == 3
    assert "it is damaged" in sent.refused()
    assert "cannot continue from its checkpoint" in sent.command.run("trace", sent.run).out

    with Store(sent.command.database) as store:
        calls = store.calls.totals(sent.run).calls
        assert calls > 0
        sent.checkpoints.rename(sent.command.folder / "damaged.db")
        assert sent.command.run("resume", sent.run, stdin=b"s\n").code == 3
        assert store.calls.totals(sent.run).calls == calls


@pytest.mark.nightly
@needs_postgres
def test_rows_on_servers_are_never_executed(tmp_path: Path) -> None:
    import psycopg

    place = tmp_path / "executed"
    with database() as address, judging_folder(tmp_path, REDRAFT_DB=address) as command:
        run = command.run(*REFINE, "--review", "--json").json["run"]
        begins = f": run {run} cannot continue from its checkpoint: "

        def refused(statement: str, *values: Any) -> str:
            with psycopg.connect(address, options="-c search_path=redraft") as raw:
                raw.execute(f"UPDATE {statement}".encode(), values)
            done = command.run("resume", run, stdin=b"s\n")
            assert done.code == 1, done.err
            assert begins in done.err
            return done.err.partition(begins)[2]

        for table in ("checkpoint_writes", "checkpoint_blobs"):
            for name in NAMES:
                statement = f"{table} SET type = %s, blob = %s WHERE type != 'empty'"
                assert "not written by this version of redraft" in refused(statement, *payload(name, place))
                assert not place.exists()
        error = refused("checkpoints SET checkpoint = '[]'")
        tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
        assert f"delete the rows of thread run-{run} from {', '.join(tables)}, then `redraft resume" in error
        with psycopg.connect(address, options="-c search_path=redraft") as raw:
            for table in tables:
                raw.execute(f"DELETE FROM {table} WHERE thread_id = %s".encode(), (f"run-{run}",))
        assert command.run("resume", run, stdin=b"s\n").code == 3


async def test_applications_are_refused_alike(sent: Sent, tmp_path: Path) -> None:
    sent.alter("UPDATE checkpoints SET type = ?, checkpoint = ?", *payload("extension 0", tmp_path / "executed"))
    with Store(sent.command.database) as store:
        async with Session(store) as session:
            for opened in (session.question(sent.run), (await session.checkpointer()).aget_tuple(thread(sent.run))):
                with pytest.raises(CheckpointError, match="not written by this version of redraft") as refused:
                    await opened
                assert refused.value.place == str(sent.checkpoints)
    assert not (tmp_path / "executed").exists()


def thread(run: str) -> RunnableConfig:
    return {"configurable": {"thread_id": f"run-{run}"}}
