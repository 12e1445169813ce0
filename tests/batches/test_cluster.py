"""A batch on several machines, none of which sees the files of another. Only root can make such machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from subprocess import PIPE

import pytest

from tests.cluster import KEY, PASSWORD, Cluster, cluster, ray_records, requests_seen, secrets_on
from tests.machines import missing
from tests.postgres import needs_postgres
from tests.support import story

pytestmark = [pytest.mark.slow, needs_postgres]
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install -e '.[dev,ray]'")
_HOLD = """
import os, sys
from redraft.store.store import Store
with Store(os.environ["REDRAFT_DB"]) as store, store.claim("r"):
    print(flush=True)
    sys.stdin.read()
"""
_WATCH = """
import os, time
from redraft.store.store import Store
with Store(os.environ["REDRAFT_DB"]) as store:
    assert store.is_claimed("r")
    began = time.monotonic()
    print(flush=True)
    while store.is_claimed("r") and time.monotonic() - began < 100:
        time.sleep(0.5)
    print(time.monotonic() - began)
"""


@pytest.fixture
def machines() -> Iterator[Cluster]:
    if reason := missing():
        pytest.skip(reason)
    with cluster() as started:
        yield started


@pytest.mark.nightly
def test_claims_of_a_lost_machine_end(machines: Cluster) -> None:
    machines.start_database()
    machine, watcher = machines.network.machine("lost"), machines.network.machine("other")
    holding = machine.start(sys.executable, "-c", _HOLD, env=machines.environment, stdin=PIPE, stdout=PIPE)
    assert holding.stdout is not None
    assert holding.stdout.readline()
    with watcher.start(sys.executable, "-c", _WATCH, env=machines.environment, stdout=PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline()
        machine.switch_off()
        seconds = float(watching.stdout.read())
    assert 1 < seconds < 60


@needs_ray
@pytest.mark.nightly
def test_workers_need_no_file_of_commands(machines: Cluster) -> None:
    machines.start_database()
    model, head = machines.start_model(0.5), machines.start_head()
    joined = [machines.join("one"), machines.join("two")]
    for n in range(12):
        head.write(f"/tmp/in/{n:02}.md", story(12).text.replace("keeper", f"keeper {n}").encode())
    head.write("/tmp/in/broken.md", b"")
    model_options = ("-m", "openai:m", "-w", "60", "--chunk-tokens", "192", "--context-tokens", "1024")
    engine_options = ("--engine", "ray", "--set", f"address={machines.address}", "--workers", "6", "--concurrency", "6")
    command = machines.redraft(head, "batch", "/tmp/in", *model_options, *engine_options, "-o", "/tmp/out", "--json")
    out, err = command.communicate(timeout=300)
    done = json.loads(out)
    assert (done["items"]["done"], done["items"]["failed"]) == (12, 1), err.decode()
    assert "storing 13 files in the database for workers on other machines" in err.decode()
    requests = requests_seen(model)
    assert {request["authorization"] for request in requests} == {f"Bearer {KEY}"}
    assert {machine.address for machine in joined} <= {request["caller"] for request in requests}
    assert len({json.dumps(request["messages"]) for request in requests}) == len(requests)
    names = {f"{n:02}.md" for n in range(12)} | {"items.jsonl", "report.md"}
    assert set(head.run("ls", "/tmp/out").split()) == names
    assert [secrets_on(machine) for machine in (head, *joined)] == [0, 0, 0]
    records = ray_records(head)
    assert "WorkerActor" in records
    assert KEY not in records
    assert PASSWORD not in records
