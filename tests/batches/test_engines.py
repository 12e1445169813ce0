"""Engines by their names: redraft's own, and one that a package brings."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.batches.engine import engine_named
from redraft.errors import UsageError
from tests.chatserver import ChatServer
from tests.cli.inside import Inside
from tests.plugged import installed, package
from tests.support import story

_THREADS = '''
import asyncio, os, threading
from redraft.batches.engine import WorkerEnded, WorkerPlace
from redraft.batches.worker import open_worker, work
from redraft.llm.budget import price_table

class Threads:
    """One file is an engine: this one has workers as threads."""

    def __init__(self, address, db):
        self.address = address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def room(self):
        return 2

    def is_elsewhere(self):
        return False

    def start(self, terms, tell):
        tell(f"begun at {self.address}")
        return Hand(terms, tell)

class Hand:
    def __init__(self, terms, tell):
        self.told = threading.Event()
        self.thread = threading.Thread(target=self.work, args=(terms, tell), daemon=True)
        self.thread.start()

    def work(self, terms, tell):
        with open_worker(terms, price_table(terms.prices), tell) as worker:
            asyncio.run(work(worker, self.told.wait))

    def place(self):
        return WorkerPlace(os.getpid())

    def ended(self):
        return None if self.thread.is_alive() else WorkerEnded()

    def stop(self):
        self.told.set()

    def kill(self):
        self.thread.join()
'''


def site(folder: Path, **engines: str) -> Path:
    return package(folder / "site", {"redraft.engines": engines}, "threaded", {"threaded": _THREADS})


@pytest.mark.nightly
def test_an_engine_of_a_package_works_on_a_batch(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for n in range(2):
        (tmp_path / "in" / f"{n}.md").write_text(story(12).text.replace("keeper", f"keeper {n}"), "utf-8")
    with installed(site(tmp_path, threads="threaded:Threads")), ChatServer() as server:
        command = Inside(tmp_path, server.base_url, COLUMNS="100")
        options = ("-m", "openai:m", "-w", "60", "--chunk-tokens", "192", "--engine", "threads", "--address", "home")
        done = command.run("batch", "in", *options, "-o", "out")
        helped = command.run("help", "batch", "run").out
    assert done.code == 0, done.err
    assert "note: begun at home" in done.err
    assert done.err.count("note: begun") == 1, "what several workers say is told once"
    assert len(list((tmp_path / "out").glob("?.md"))) == 2
    assert "local, ray, threads" in " ".join(helped.split())


def test_an_engine_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no engine 'moon'; there are local and ray"):
        engine_named("moon", None, "")
    with pytest.raises(UsageError, match="local workers have no address"):
        engine_named("local", "auto", "")
    with (
        installed(site(tmp_path, ray="threaded:Threads")),
        pytest.raises(UsageError, match="an installed package has an engine named ray, which is one of redraft's own"),
    ):
        engine_named("local", None, "")


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.plugins.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="the engine ray needs ray, which is not installed") as caught:
        engine_named("ray", None, "")
    assert caught.value.hint == 'pip install "redraft[ray]"'
