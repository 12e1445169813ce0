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
def made() -> Iterator[Cluster]:
    if why := missing():
        pytest.skip(why)
    with cluster() as one:
        yield one


@pytest.mark.nightly
def test_what_a_machine_held_is_soon_free_when_it_has_gone_without_a_word(made: Cluster) -> None:
    made.start_database()
    machine, other = made.network.machine("lost"), made.network.machine("other")
    holding = machine.start(sys.executable, "-c", _HOLD, env=made.environment, stdin=PIPE, stdout=PIPE)
    assert holding.stdout is not None
    assert holding.stdout.readline()
    with other.start(sys.executable, "-c", _WATCH, env=made.environment, stdout=PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline()
        machine.switch_off()
        seconds = float(watching.stdout.read())
    assert 1 < seconds < 60


@needs_ray
@pytest.mark.nightly
def test_other_machines_need_nothing_of_that_of_the_command(made: Cluster) -> None:
    made.start_database()
    model, head = made.start_model(0.5), made.start_head()
    others = [made.join("one"), made.join("two")]
    for n in range(12):
        head.write(f"/tmp/in/{n:02}.md", story(12).text.replace("keeper", f"keeper {n}").encode())
    head.write("/tmp/in/broken.md", b"")
    command = made.redraft(
        *(head, "batch", "/tmp/in", "-m", "openai:m", "-w", "60", "--chunk-tokens", "192", "--context-tokens", "1024"),
        *(
            "--engine",
            "ray",
            "--set",
            f"address={made.address}",
            "--workers",
            "6",
            "--concurrency",
            "6",
            "-o",
            "/tmp/out",
        ),
        *("--json",),
    )
    out, err = command.communicate(timeout=300)
    done = json.loads(out)
    assert (done["items"]["done"], done["items"]["failed"]) == (12, 1), err.decode()
    assert "storing 13 files in the database for workers on other machines" in err.decode()
    seen = requests_seen(model)
    assert {one["authorization"] for one in seen} == {f"Bearer {KEY}"}
    assert {one.address for one in others} <= {one["caller"] for one in seen}
    assert len({json.dumps(one["messages"]) for one in seen}) == len(seen)
    names = {f"{n:02}.md" for n in range(12)} | {"items.jsonl", "report.md"}
    assert set(head.run("ls", "/tmp/out").split()) == names
    assert [secrets_on(one) for one in (head, *others)] == [0, 0, 0]
    records = ray_records(head)
    assert "WorkerActor" in records
    assert KEY not in records
    assert PASSWORD not in records
