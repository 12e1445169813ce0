"""How long `redraft --help` takes beside an interpreter that does nothing.

python -m benchmarks.startup
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time

from benchmarks.common import table

ROUNDS = 21


def main() -> None:
    command = shutil.which("redraft")
    if command is None:
        sys.exit("redraft is not on the PATH: activate the environment that it is installed in")
    nothing = milliseconds(sys.executable, "-c", "pass")
    helping = milliseconds(command, "--help")
    table([("", "ms", "times"), ("python -c pass", nothing, 1.0), ("redraft --help", helping, helping / nothing)])


def milliseconds(*command: str) -> float:
    """The median over some rounds, after one to warm the caches."""
    taken = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[1:])


if __name__ == "__main__":
    main()
