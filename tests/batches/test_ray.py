"""The engine `ray` on a real cluster: one for all of these tests, with two processors."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from redraft.batches import engine as crews
from redraft.batches.engine import Engine, WorkerPool, engine_named
from redraft.batches.queue import Batches
from redraft.batches.request import budget_key_of
from redraft.batches.worker import WorkerTerms
from redraft.errors import RedraftError, UsageError
from redraft.store.store import Store
from tests.batches.test_work import documents, opened, pids_of, states
from tests.batches.test_work import folder as folder
from tests.batches.test_work import store as store
from tests.chatserver import ChatServer, asked
from tests.command import Command
from tests.judges import KEY
from tests.postgres import database, needs_postgres

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install -e '.[dev,ray]'"),
]
_CPUS = 2


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    if getattr(request, "param", "file") == "file":
        yield tmp_path / "redraft.db"
    else:
        with database() as address:
            yield address


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        address="local", num_cpus=_CPUS, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000
    )
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.fixture
def engine(cluster: str, store: Store) -> Iterator[Engine]:
    with engine_named("ray", None, store.address) as opened_engine:
        yield opened_engine


def watched(worker_pool: WorkerPool, meanwhile: Callable[[], object] = lambda: None, seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while worker_pool.repair():
        assert time.monotonic() < until, "the batch hangs"
        meanwhile()
        time.sleep(0.1)


def wait_for(true: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.parametrize(
    "place", ["file", pytest.param("server", marks=[needs_postgres, pytest.mark.nightly])], indirect=True
)
@pytest.mark.nightly
def test_killed_actors_pay_nothing_twice(engine: Engine, store: Store, folder: Path) -> None:
    documents(folder, 12)
    kills, chance = 0, random.Random(5)
    with ChatServer(latency=lambda *_: 0.25) as server:
        opened(store, folder, server.base_url, max_cost=50.0)
        terms = WorkerTerms(store.address, "b", "", 0, 2, prices=str(folder / "prices.toml"))
        with WorkerPool(store, engine, terms, lambda line: None) as worker_pool:

            def kill() -> None:
                nonlocal kills
                if kills < 4 and len(server.seen) > 5 * (kills + 1) and (places := pids_of(worker_pool)):
                    os.kill(chance.choice(places), signal.SIGKILL)
                    kills += 1

            watched(worker_pool, kill)
        assert kills >= 3
        assert states(store) == {"done": 12}
        answered = Counter(asked(request) for request in server.answered)
    rows = store.connection.rows("SELECT * FROM calls")
    lost = sum(row["outcome"] in ("lost", "cancelled") for row in rows)
    assert sum(times - 1 for times in answered.values()) <= lost, "only what was in flight is asked again"
    calls, cost = store.calls.used(budget_key_of("b"))
    assert calls == len([row for row in rows if row["outcome"] != "rate_limited"])
    assert cost is not None
    assert cost <= 50.0


@pytest.mark.nightly
def test_a_cancellation_ends_actors(engine: Engine, store: Store, folder: Path) -> None:
    documents(folder, 4)
    with ChatServer(latency=lambda *_: 60.0) as server:
        opened(store, folder, server.base_url)
        with WorkerPool(store, engine, WorkerTerms(store.address, "b", "", 0, 2), lambda line: None) as worker_pool:
            wait_for(lambda: worker_pool.repair() and server.in_flight >= 2)
            pids = pids_of(worker_pool)
            Batches(store).set_status("b", "cancelled")
            watched(worker_pool, seconds=20)
    assert states(store) == {"waiting": 4}
    assert {item.deaths for item in Batches(store).items("b")} == {0}
    wait_for(lambda: not any(map(is_there, pids)))


@pytest.mark.nightly
def test_a_full_cluster_ends_the_wait(
    engine: Engine, store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents(folder, 2)
    opened(store, folder, "http://127.0.0.1:9/v1")
    occupants = [occupied(1.0) for _ in range(_CPUS)]
    terms = WorkerTerms(store.address, "b", "", 0, 2)
    with WorkerPool(store, engine, terms, lambda line: None) as worker_pool:
        assert worker_pool.repair()
        Batches(store).set_status("b", "cancelled")
        assert not worker_pool.repair(), "what was cancelled waits for no room"
    opened(store, folder, "http://127.0.0.1:9/v1")
    monkeypatch.setattr(crews, "_NO_ROOM", 1.0)
    with (
        WorkerPool(store, engine, terms, lambda line: None) as worker_pool,
        pytest.raises(RedraftError, match="there were no resources for a single worker"),
    ):
        watched(worker_pool, seconds=20)
    assert states(store) == {"waiting": 2}
    del occupants


def occupied(cpus: float) -> Any:
    import ray

    class Other:
        def is_there(self) -> bool:
            return True

    actor = ray.remote(Other).options(num_cpus=cpus).remote()
    assert ray.get(actor.is_there.remote())
    return actor


def is_there(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except OSError:
        return False


def test_ray_stores_no_keys(engine: Engine, store: Store, folder: Path) -> None:
    import ray
    from ray._private import state

    documents(folder, 1)
    with ChatServer() as server:
        opened(store, folder, server.base_url)
        with WorkerPool(store, engine, WorkerTerms(store.address, "b", "", 0, 1), lambda line: None) as worker_pool:
            watched(worker_pool)
        assert server.seen[0].authorization == f"Bearer {KEY}"
    session = Path(ray._private.worker._global_node.get_session_dir_path())
    logs = [path for path in session.rglob("*") if path.is_file()]
    assert len(logs) > 3
    assert not [path for path in logs if KEY.encode() in path.read_bytes()]
    records = repr(state.state.actor_table(None)) + repr(state.state.job_table())
    assert "WorkerActor" in records
    assert KEY not in records


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.nightly
def test_actors_end_with_their_command(cluster: str, folder: Path, number: signal.Signals) -> None:
    documents(folder, 4)
    with ChatServer(latency=lambda *_: 60.0) as server:
        command = Command(folder, server.base_url)
        options = ("-m", "openai:m", "-w", "60", "--chunk-tokens", "192", "--name", "b", "-o", "out")
        process = command.start("batch", "in", *options, "--engine", "ray", "--set", f"address={cluster}")
        with Store(command.database) as store:
            wait_for(lambda: server.in_flight >= 2 or process.poll() is not None)
            assert process.poll() is None, process.communicate()
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
            if number == signal.SIGKILL:
                assert states(store)["leased"] > 0, "of nobody's leases is known that they are free"
            else:
                assert process.returncode == 130, err
                assert "Resume: redraft batch resume b" in err
                assert "***" not in err, "Ray has things to say of a signal"
                assert states(store) == {"waiting": 4}
                assert {item.deaths for item in Batches(store).items("b")} == {0}
        wait_for(lambda: server.in_flight == 0, 20)
    assert not out


@pytest.mark.nightly
def test_a_missing_cluster_is_named(folder: Path) -> None:
    documents(folder, 1)
    command = Command(folder)
    done = command.run("batch", "in", "--engine", "ray", "--set", "address=127.0.0.1:9", "--json")
    assert done.code == 1
    assert "no Ray cluster can be joined at 127.0.0.1:9: " in done.json["error"]["message"]


def test_remote_engines_need_reachable_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="the database is a file on this machine"):
        engine_named("ray", "ray://far.example:10001", "/home/me/redraft.db")
    with pytest.raises(UsageError, match="the database is at postgresql://me@localhost/x on this machine") as caught:
        engine_named("ray", "ray://far.example:10001", "postgresql://me:hunter2hunter2@localhost/x")
    assert caught.value.hint.startswith(
        "use Session('postgresql://USER@HOST/DATABASE'), with a HOST that every machine reaches"
    )
    secret = "postgresql://me:hunter2hunter2@far.example/redraft"
    engine_named("ray", "ray://far.example:10001", secret)
    monkeypatch.setattr(sys, "orig_argv", ["redraft", "batch", "in", f"--db={secret}"])
    with pytest.raises(UsageError, match="the database's password is on the command line") as caught:
        engine_named("ray", "ray://far.example:10001", secret)
    assert "hunter2" not in str(caught.value)
