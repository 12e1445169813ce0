"""A batch on a cluster of several machines, one of which is lost in the midst of it, while another joins.

    python -m benchmarks.cluster [--documents 40] [--seconds 4] [--loss none killed silent]

The machines are namespaces of this one, so it must be run by root: each has an address behind a bridge, a host name,
processes and folders of its own. The documents are on the machine of the command alone; the database is a Postgres
server on another, and so is that of the model. `killed` is a machine whose processes all die, and its kernel says so to
whoever talks to them; `silent` one whose cable is pulled first, so that nobody is told. The least calls are the
different requests: what is beyond them was in flight on the machine that was lost.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from benchmarks.common import prose, table
from tests.cluster import CPUS, Cluster, cluster, requests_seen, secrets_on
from tests.machines import Machine, Process, missing

_CHARACTERS = 20_000
_CALLS_EACH = 6
_IN, _OUT = "/tmp/documents", "/tmp/summaries"
_MACHINES = 3
_PATIENCE = 1800.0
_LOOK_AGAIN = 0.5
_PRICES = '[prices]\n"m" = { prompt = 1.0, completion = 4.0 }\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=4.0, help="what a call takes")
    parser.add_argument("--concurrency", type=int, default=12)
    parser.add_argument("--loss", nargs="+", choices=["none", "killed", "silent"], default=["none", "killed", "silent"])
    given = parser.parse_args()
    if why := missing():
        sys.exit(why)
    found: list[dict[str, object]] = []
    for loss in given.loss:
        with cluster() as made:
            found.append(measured(made, loss, given.documents, given.seconds, given.concurrency))
        table([(name, *(one[name] for one in found)) for name in found[0]])


def measured(made: Cluster, loss: str, count: int, seconds: float, concurrency: int) -> dict[str, object]:
    """One batch of so many documents on three machines, from an empty database."""
    made.start_database()
    model, head = made.start_model(seconds), made.start_head()
    lost, other = made.join("lost"), made.join("other")
    write_documents(head, count)
    head.write("/tmp/prices.toml", _PRICES.encode())
    began = time.monotonic()
    command = begun(made, head, concurrency)
    working = seconds_until(lambda: len(requests_seen(model)) > 0, command)
    at, late, joined = time.monotonic(), None, None
    if loss != "none":
        seconds_until(lambda: len(requests_seen(model)) > count * _CALLS_EACH // 4, command)
        at = time.monotonic()
        lost.kill_all() if loss == "killed" else lost.switch_off()
        late = made.join("late")
        joined = seconds_until(lambda: calls_of(requests_seen(model), late) > 0, command)
    out, told = command.communicate(timeout=_PATIENCE)
    ended = time.monotonic()
    sys.stderr.write(told.decode())
    done, seen = json.loads(out), requests_seen(model)
    machines = [one for one in (head, other, late) if one is not None]
    return {
        "loss": loss,
        "documents": count,
        "done": done["items"]["done"],
        "summaries where the command is": len(head.run("ls", _OUT).split()) - 2,
        "s": ended - began,
        "s to the first call": working,
        "s from the loss to the end": ended - at if late else "",
        "s until whoever joined asks": joined if late else "",
        "calls": len(seen),
        "least calls": len({prompt_of(one) for one in seen}),
        "answered twice": sum(n - 1 for n in Counter(prompt_of(one) for one in seen if one["answered"]).values()),
        "calls by head, lost, other, late": "/".join(str(calls_of(seen, one)) for one in (head, lost, other, late)),
        "booked by the budget": done["calls"],
        "files of Ray with a secret": sum(secrets_on(one) for one in machines),
    }


def begun(made: Cluster, head: Machine, concurrency: int) -> Process:
    """The command, as a user would give it on the head's machine."""
    return made.redraft(
        *(head, "batch", _IN, "-m", "openai:m", "-w", "200", "--max-cost", "1000", "--skip", "none"),
        *("--engine", "ray", "--set", f"address={made.address}", "--workers", str(_MACHINES * CPUS)),
        *("--concurrency", str(concurrency), "--name", "bench", "-o", _OUT, "--json"),
        environment={"REDRAFT_PRICES": "/tmp/prices.toml"},
    )


def seconds_until(true: Callable[[], bool], command: Process) -> float:
    """The seconds until something is so; as many as there were where the command has ended before."""
    began = time.monotonic()
    while not true() and command.poll() is None:
        time.sleep(_LOOK_AGAIN)
    return time.monotonic() - began


def prompt_of(request: dict[str, Any]) -> str:
    """What tells one request from others."""
    return json.dumps(request["messages"], sort_keys=True)


def calls_of(seen: list[dict[str, Any]], machine: Machine | None) -> int:
    """How many calls a machine has made."""
    return sum(machine is not None and one["caller"] == machine.address for one in seen)


def write_documents(head: Machine, count: int) -> None:
    """Documents of one length, no two of them alike, which only one machine has."""
    draw, text = random.Random(1), prose(2_000_000)
    for number in range(count):
        at = draw.randrange(len(text) - _CHARACTERS)
        head.write(f"{_IN}/{number:05}.txt", f"Report {number}.\n\n{text[at : at + _CHARACTERS]}".encode())


if __name__ == "__main__":
    main()
