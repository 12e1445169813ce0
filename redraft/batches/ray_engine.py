"""The engine `ray`: workers as actors on a Ray cluster, each connected to the store and the models itself.

Only a worker's setup, its messages for users, and its end go through Ray. Keys and the database password are passed in
a method call: Ray stores an actor's environment and constructor arguments and shows them to everyone with access to the
cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Mapping
from queue import SimpleQueue
from threading import Event
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from redraft.batches.engine import WorkerExit, WorkerPlace
from redraft.batches.worker import Tell, WorkerTerms, is_for_good, open_worker, work
from redraft.errors import RedraftError, Set, UsageError
from redraft.llm.budget import PriceTable, price_table
from redraft.store.addresses import is_only_here, is_server, shown
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

    def place(self) -> tuple[int, str, str]:
        """Return the process id, the machine's address, and Ray's node id."""
        return os.getpid(), ray.util.get_node_ip_address(), self._node

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
            with open_worker(terms, prices, self._messages.put, delivers=is_home) as worker:
                asyncio.run(work(worker, self._stopped.wait))
        except RedraftError as error:
            message = one_line(f"{error} {error.hint}".strip())
            self._messages.put(message)
            return WorkerExit(message, for_good=True) if is_for_good(error) else WorkerExit(f"it ended with: {message}")
        finally:
            self._messages.put("")
        return WorkerExit()

    def heard(self) -> str:
        """Return the next message for users, waiting for it; empty after the last."""
        return self._messages.get()

    def stop(self) -> None:
        """Return the current items to the queue and stop."""
        self._stopped.set()


class RayEngine:
    """Starts an actor for each worker, on an existing cluster or a local Ray."""

    def __init__(self, address: str | None, db: str) -> None:
        if shown(db) != db and any(db in word for word in sys.orig_argv):
            raise UsageError(
                "the database's password is on the command line, which Ray shows to all who use the cluster",
                hint="put the address into the environment variable REDRAFT_DB instead",
            )
        self._is_client = bool(address and address.startswith(_CLIENT))
        self._database = f"at {shown(db)}" if is_server(db) else "a file"
        if self._is_client and is_only_here(db):
            raise UsageError(
                f"the database is {self._database} on this machine, where the cluster's workers cannot read it",
                fix=("use ", Set("db", _REACHABLE), f", {_REACHED}, or start the batch on a machine of the cluster"),
            )
        self._address = address
        self._pinned = is_only_here(db)
        """A database or server that only this machine can reach keeps all workers on it."""
        self._is_own = False
        self._node = ""
        self._joined = contextlib.ExitStack()

    def __enter__(self) -> Self:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        logging.getLogger("ray").setLevel(logging.ERROR)
        if not ray.is_initialized():
            with contextlib.ExitStack() as joining:
                # Ray's messages must not go to our standard output.
                nowhere = joining.enter_context(open(os.devnull, "w", encoding="utf-8"))
                joining.enter_context(contextlib.redirect_stdout(nowhere))
                # Ray installs a signal handler of its own.
                before = signal.getsignal(signal.SIGTERM)
                try:
                    self._join()
                finally:
                    signal.signal(signal.SIGTERM, before)
                joining.callback(ray.shutdown)
                self._joined = joining.pop_all()
        if not self._is_client:
            self._node = ray.get_runtime_context().get_node_id()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._joined.close()

    def room(self) -> int:
        """Return one per processor of the cluster, and at least two."""
        if self._is_own:
            return max(_MIN, os.cpu_count() or 1)
        nodes = [node for node in ray.nodes() if node["Alive"] and (not self._pinned or node["NodeID"] == self._node)]
        return max(_MIN, int(sum(node["Resources"].get("CPU", 0) for node in nodes)))

    def is_elsewhere(self) -> bool:
        """Return whether workers may run on other machines of the cluster, including ones that join later."""
        return not (self._is_own or self._pinned)

    def start(self, terms: WorkerTerms, tell: Tell) -> RayWorker:
        """Ask for an actor. One that there is no room for waits, which is how a cluster knows that it shall grow."""
        options: dict[str, Any] = {"num_cpus": 1, "max_concurrency": _CALLS_AT_ONCE, "runtime_env": _OF_ITS_PROCESS}
        if self._is_own:
            options["num_cpus"] = 0  # no other user shares the processors
        elif self._pinned:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(self._node, soft=False)
            if len([node for node in ray.nodes() if node["Alive"]]) > 1:
                advice = f"for others use the database {_REACHABLE}, {_REACHED}"
                tell(f"the database is {self._database}, so all workers are on this machine; {advice}")
        carried = {name: value for name, value in os.environ.items() if name in terms.keys or _CARRIED.fullmatch(name)}
        actor = ray.remote(WorkerActor).options(**options).remote()
        working = actor.work.remote(terms, price_table(terms.prices), carried, self._node, os.getcwd())
        return RayWorker(actor, working, self._node, tell)

    def _join(self) -> None:
        if self._address != "local":
            try:
                address = self._address or os.environ.get("RAY_ADDRESS", "")
                parts = urlsplit(address if "://" in address else f"//{address}")
                if parts.hostname and parts.port:
                    # Ray itself would take many minutes to notice that nothing answers there.
                    socket.create_connection((parts.hostname, parts.port), _TO_ANSWER).close()
                ray.init(address=self._address or "auto", **_QUIET)
            except _REFUSALS as error:
                if self._address or os.environ.get("RAY_ADDRESS") or not isinstance(error, ConnectionError):
                    raise _not_joined(self._address or "auto", error) from error
            else:
                return
        ray.init(address="local", include_dashboard=False, object_store_memory=_STORE_BYTES, **_QUIET)
        self._is_own = True


class RayWorker:
    """The handle of a worker on the cluster."""

    def __init__(self, actor: Any, working: Any, home: str, tell: Tell) -> None:
        self._actor, self._working, self._home, self._tell = actor, working, home, tell
        self._begun = actor.place.remote()
        self._place: WorkerPlace | None = None
        self._next = actor.heard.remote()

    def place(self) -> WorkerPlace | None:
        """Return where it runs; None while the cluster has no resources for it."""
        if self._place is None and _is_ready(self._begun):
            with contextlib.suppress(RayError):
                pid, address, node = ray.get(self._begun)
                self._place = WorkerPlace(pid, "" if node == self._home else address)
        return self._place

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

    def stop(self) -> None:
        self._actor.stop.remote()

    def kill(self) -> None:
        ray.kill(self._actor)
        ray.wait([self._working], timeout=_TO_DIE)

    def _listen(self, seconds: float) -> None:
        """Forward its messages, waiting so long for more, until the last."""
        with contextlib.suppress(RayError):
            while _is_ready(self._next, seconds) and (line := ray.get(self._next)):
                self._tell(line)
                self._next = self._actor.heard.remote()


def _is_ready(reference: Any, seconds: float = 0) -> bool:
    return bool(ray.wait([reference], timeout=seconds)[0])


def _in_short(error: BaseException) -> str:
    """Return the essence of a Ray error message."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return one_line(lines[-1].partition(" Some common causes")[0])


def _not_joined(address: str, error: BaseException) -> RedraftError:
    message = f"no Ray cluster can be joined at {address}: {_in_short(error)}"
    allowed = "its token is here (RAY_AUTH_MODE=token)"
    if address.startswith(_CLIENT):
        hint = f'check that Ray runs there with pip install "ray[client]", and that {allowed}'
    elif ":" in address and type(error) is ConnectionError:
        # Ray's message where a socket gives more detail: a cluster is there, but does not know this machine.
        hint = f"is this machine in the cluster? From outside use ray://HOST:10001; and check that {allowed}"
    else:
        hint = f"check that Ray runs there, and that {allowed}; or use --set address=local"
    return RedraftError(message, hint=hint)
