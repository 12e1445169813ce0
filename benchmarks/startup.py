"""How long `redraft --help` takes beside an interpreter that does nothing, and the processor time of commands that have
nothing to ask: those that read, a summary of the sample book whose every answer is known, and a `Session`. Without
bytecode (PYTHONDONTWRITEBYTECODE) every figure is about a quarter higher.

    python -m benchmarks.startup
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import ROOT, table

ROUNDS = 21
BOOK = ROOT / "examples" / "the-salt-ledger.md"


def main() -> None:
    command = shutil.which("redraft")
    if command is None:
        sys.exit("redraft is not on the PATH: activate the environment that it is installed in")
    nothing = milliseconds(sys.executable, "-c", "pass")
    helping = milliseconds(command, "--help")
    table([("", "ms", "times"), ("python -c pass", nothing, 1.0), ("redraft --help", helping, helping / nothing)])
    with tempfile.TemporaryDirectory() as name:
        os.environ["REDRAFT_DB"] = str(Path(name) / "redraft.db")
        summarize = (command, "summarize", str(BOOK), "-w", "200", "-q", "-o", str(Path(name) / "summary.md"))
        subprocess.run(summarize, check=True)
        listed = subprocess.run((command, "runs", "--json"), stdout=subprocess.PIPE, check=True)
        run = json.loads(listed.stdout)["runs"][0]["run"]
        commands = {"summarize": summarize} | {
            one[0]: (command, *one) for one in (("runs",), ("trace", run), ("show", run))
        }
        session = "import redraft; redraft.Session(':memory:')"
        commands["redraft.Session()"] = (sys.executable, "-P", "-c", session)
        table([("", "s of a processor"), *((name, processor_seconds(*one)) for name, one in commands.items())])


def milliseconds(*command: str) -> float:
    """The median over some rounds, after one to warm the caches."""
    taken = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[1:])


def processor_seconds(*command: str) -> float:
    """The median over some rounds, after one to warm the caches."""
    taken = []
    for _ in range(ROUNDS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken[1:])


if __name__ == "__main__":
    main()
