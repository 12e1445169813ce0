"""The engine `ray`: workers as actors on a Ray cluster, each connected to the store and the models itself.

Only a worker's setup, its messages for users, and its end go through Ray. Keys and the database password are passed in
a method call: Ray stores an actor's environment and constructor arguments and shows them to everyone with access to the
cluster.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stdout, suppress
from queue import SimpleQueue
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from redraft.batches.engine import Engine, Worker
from redraft.batches.worker import Tell, WorkerExit, WorkerTerms, carry_out
from redraft.errors import RedraftError, Set, UsageError
from redraft.llm.budget import PriceTable, price_table
from redraft.store.connection import is_only_here, is_server, shown
from redraft.text.sanitizer import one_line

_CARRIED = re.compile(
    r"(?:REDRAFT|OPENAI|ANTHROPIC|AZURE|AWS|GOOGLE|LANGSMITH|LANGCHAIN|TIKTOKEN|OTEL)_\w+|PG[A-Z]+"
    r"|\w+_(?:API_KEY|BASE_URL|API_BASE|ENDPOINT)"
)
"""Environment variables that are passed on: which models to ask, and their keys."""
_QUIET = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
_CLIENT = "ray://"
_MIN = 2
_CALLS_AT_ONCE = 4
"""Concurrent calls to an actor: its work, the wait for its messages, and short calls."""
_STORE_BYTES = 100_000_000
"""The minimum size of Ray's object store, which we do not use."""
_REACHABLE = "postgresql://USER@HOST/DATABASE"
_REACHED = "with a HOST that every machine reaches"
_OF_ITS_PROCESS = {"env_vars": {"MALLOC_ARENA_MAX": "2"}}
"""The environment of an actor, as for local workers. Ray shows it, so it must not contain secrets."""
_LAST_WORDS = 2.0
_TO_DIE = 5.0
_TO_ANSWER = 10.0
_REFUSALS = (ConnectionError, RuntimeError, ValueError, OSError, ImportError, RayError)


class WorkerActor:
    """A worker as an actor. Its methods run concurrently in threads."""

    def __init__(self) -> None:
        self._messages: SimpleQueue[str] = SimpleQueue()
        self._stopped = Event()
        self._node = ray.get_runtime_context().get_node_id()

    def pid(self) -> int:
        """Return the process id; an answer shows that it has started."""
        return os.getpid()

    def work(
        self, terms: WorkerTerms, prices: PriceTable, environment: Mapping[str, str], home: str, folder: str
    ) -> WorkerExit:
        """Work until nothing is left to do; returns how it ended. `home` is Ray's id of the machine of the process that
        starts it, empty where that is not part of the cluster, and `folder` its working directory."""
        os.environ.update(environment)
        is_home = home == self._node
        if is_home:
            os.chdir(folder)
        try:
            return carry_out(terms, prices, self._messages.put, self._stopped.wait, delivers=is_home)
        finally:
            self._messages.put("")

    def heard(self) -> str:
        """Return the next message for users, waiting for it; empty after the last."""
        return self._messages.get()

    def stop(self) -> None:
        """Return the current items to the queue and stop."""
        self._stopped.set()


def ray_engine(address: str | None, db: str) -> AbstractContextManager[Engine]:
    """Return the engine that starts an actor for each worker, on an existing cluster or a local Ray."""
    if shown(db) != db and any(db in word for word in sys.orig_argv):
        raise UsageError(
            "the database's password is on the command line, which Ray shows to all who use the cluster",
            hint="put the address into the environment variable REDRAFT_DB instead",
        )
    database = f"at {shown(db)}" if is_server(db) else "a file"
    if address and address.startswith(_CLIENT) and is_only_here(db):
        raise UsageError(
            f"the database is {database} on this machine, where the cluster's workers cannot read it",
            fix=("use ", Set("db", _REACHABLE), f", {_REACHED}, or start the batch on a machine of the cluster"),
        )
    return _joined(address, database, is_pinned=is_only_here(db))


@contextmanager
def _joined(address: str | None, database: str, *, is_pinned: bool) -> Iterator[Engine]:
    """Join a cluster, or start a local Ray. A `database` that only this machine can reach keeps all workers on it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    logging.getLogger("ray").setLevel(logging.ERROR)
    is_own = False
    with ExitStack() as joined:
        if not ray.is_initialized():
            # As long as Ray runs, its messages must not go to our standard output.
            joined.enter_context(redirect_stdout(joined.enter_context(open(os.devnull, "w", encoding="utf-8"))))
            # Ray installs a signal handler of its own.
            before = signal.getsignal(signal.SIGTERM)
            try:
                is_own = _join(address)
            finally:
                signal.signal(signal.SIGTERM, before)
            joined.callback(ray.shutdown)
        is_client = bool(address and address.startswith(_CLIENT))
        home = "" if is_client else ray.get_runtime_context().get_node_id()

        def start(terms: WorkerTerms, tell: Tell) -> RayWorker:
            """Ask for an actor. One without room waits, which is how a cluster knows that it shall grow."""
            options: dict[str, Any] = {"num_cpus": 1, "max_concurrency": _CALLS_AT_ONCE, "runtime_env": _OF_ITS_PROCESS}
            if is_own:
                options["num_cpus"] = 0  # no other user shares the processors
            elif is_pinned:
                options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(home, soft=False)
                if len([node for node in ray.nodes() if node["Alive"]]) > 1:
                    advice = f"for others use the database {_REACHABLE}, {_REACHED}"
                    tell(f"the database is {database}, so all workers are on this machine; {advice}")
            environment = os.environ.items()
            carried = {name: value for name, value in environment if name in terms.keys or _CARRIED.fullmatch(name)}
            actor = ray.remote(WorkerActor).options(**options).remote()
            working = actor.work.remote(terms, price_table(terms.prices), carried, home, os.getcwd())
            return RayWorker(terms, actor, working, tell)

        cpus = float(os.cpu_count() or 1)
        if not is_own:
            nodes = [node for node in ray.nodes() if node["Alive"] and (not is_pinned or node["NodeID"] == home)]
            cpus = sum(node["Resources"].get("CPU", 0) for node in nodes)
        yield Engine(start, max(_MIN, int(cpus)), not (is_own or is_pinned))


def _join(address: str | None) -> bool:
    """Join the cluster at an address; return whether a local Ray had to be started instead."""
    if address != "local":
        place = address or os.environ.get("RAY_ADDRESS", "")
        try:
            parts = urlsplit(place if "://" in place else f"//{place}")
            if parts.hostname and parts.port:
                # Ray itself would take many minutes to notice that nothing answers there.
                socket.create_connection((parts.hostname, parts.port), _TO_ANSWER).close()
            ray.init(address=address or "auto", **_QUIET)
        except _REFUSALS as error:
            if not place and isinstance(error, ConnectionError):
                ray.init(address="local", include_dashboard=False, object_store_memory=_STORE_BYTES, **_QUIET)
                return True
            where, allowed = address or "auto", "its token is here (RAY_AUTH_MODE=token)"
            if where.startswith(_CLIENT):
                hint = f'check that Ray runs there with pip install "ray[client]", and that {allowed}'
            elif ":" in where and type(error) is ConnectionError:
                # Ray's message where a socket gives more detail: a cluster is there, but does not know this machine.
                hint = f"is this machine in the cluster? From outside use ray://HOST:10001; and check that {allowed}"
            else:
                hint = f"check that Ray runs there, and that {allowed}; or use --set address=local"
            raise RedraftError(f"no Ray cluster can be joined at {where}: {_in_short(error)}", hint=hint) from error
        return False
    ray.init(address="local", include_dashboard=False, object_store_memory=_STORE_BYTES, **_QUIET)
    return True


class RayWorker(Worker):
    """A worker on the cluster."""

    def __init__(self, terms: WorkerTerms, actor: Any, working: Any, tell: Tell) -> None:
        super().__init__(terms)
        self._actor, self._working, self._tell = actor, working, tell
        self._starting, self._next = actor.pid.remote(), actor.heard.remote()

    @property
    def pid(self) -> int | None:
        with suppress(RayError):
            return int(ray.get(self._starting)) if _is_ready(self._starting) else None
        return None

    def ended(self) -> WorkerExit | None:
        """Return how it ended, from its result or Ray's error."""
        self._listen(0)
        if not _is_ready(self._working):
            return None
        try:
            ended: WorkerExit = ray.get(self._working)
            self._listen(_LAST_WORDS)
        except RayError as error:
            ended = WorkerExit(f"its actor has died: {_in_short(error)}")
        # A worker that could not be reached may still be working.
        ray.kill(self._actor)
        return ended

    def stop(self, *, at_once: bool = False) -> None:
        if at_once:
            ray.kill(self._actor)
            ray.wait([self._working], timeout=_TO_DIE)
        else:
            self._actor.stop.remote()

    def _listen(self, seconds: float) -> None:
        """Forward its messages, waiting so long for more, until the last."""
        with suppress(RayError):
            while _is_ready(self._next, seconds) and (line := ray.get(self._next)):
                self._tell(line)
                self._next = self._actor.heard.remote()


def _is_ready(reference: Any, seconds: float = 0) -> bool:
    return bool(ray.wait([reference], timeout=seconds)[0])


def _in_short(error: BaseException) -> str:
    """Return the essence of a Ray error message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return one_line(lines[-1].partition(" Some common causes")[0])
