"""A batch of documents of 20 KB against a simulated server: rate, overhead, calls, memory, growth.

    python -m benchmarks.batch [--documents 50 500] [--workers 2 4] [--engine local] [--concurrency 16] [--seconds 4]

The calls' own time is what all of them take at as many at once as there may be; what a batch takes beyond that is
overhead: starting the workers, slots that nothing fills, processor time. The least calls are the different requests
in the ledger: what is beyond them was asked twice. Processor time is that of the command and all that it has started,
with Ray's own processes where `--engine ray` starts a Ray on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, Server, options_of, prose, server, table

_PRICES = '[prices]\n"m" = { prompt = 1.0, completion = 4.0 }\n'


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--engine", choices=["local", "ray"], default="local")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--characters", type=int, default=20_000, help="how long a document is")
    parser.add_argument("--seconds", type=float, default=4.0, help="what a call takes at least")
    options = parser.parse_args()
    times = ("s", "a minute", "calls' own s", "overhead", "CPU s each")
    rows: list[tuple[object, ...]] = [("workers", "documents", "calls", "least calls", *times, "MB a worker")]
    for workers, count in product(options.workers, options.documents):
        rows.append((workers, count, *measured(count, workers, options)))
        table(rows[:1] + rows[-1:])
    table(rows)


def measured(count: int, workers: int, options: argparse.Namespace) -> tuple[object, ...]:
    """One batch of so many documents, from an empty database."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder / "in", count, options.characters)
        (folder / "prices.toml").write_text(_PRICES, "utf-8")
        ray = ("--engine", "ray", "--set", "address=local") if options.engine == "ray" else ()
        with server(folder, "--latency-base", f"{options.seconds}", "--latency-jitter", "0") as chat:
            done, took, used, peak = run(
                *(folder, chat, "batch", str(folder / "in"), "-m", "openai:m", "-w", "200", "--max-cost", "1000"),
                *("--skip", "none", "--workers", str(workers), "--concurrency", str(options.concurrency)),
                *("--name", "bench", "-o", str(folder / "out"), *ray),
            )
            served = chat.served()
        assert done["items"]["done"] == count, done
        with closing(sqlite3.connect(folder / "redraft.db")) as ledger:
            (least,) = ledger.execute("SELECT count(DISTINCT key) FROM calls").fetchone()
    own = sum(request.seconds for request in served) / options.concurrency
    overhead = f"{(took - own) / own:.1%}"
    return len(served), least, took, 60 * count / took, own, overhead, used / count, peak


def write_documents(folder: Path, count: int, characters: int) -> None:
    """Documents of one length, no two of them alike."""
    folder.mkdir()
    draw, text = random.Random(1), prose(2_000_000)
    for number in range(count):
        at = draw.randrange(len(text) - characters)
        (folder / f"{number:05}.txt").write_text(f"Report {number}.\n\n{text[at : at + characters]}", "utf-8")


def run(folder: Path, at: Server, *arguments: str) -> tuple[Any, float, float, float]:
    """The command's JSON, the seconds it took, those of the processors, and the most memory of one of its workers."""
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "sk-benchmark",
        "OPENAI_BASE_URL": at.url,
        "REDRAFT_DB": str(folder / "redraft.db"),
        "REDRAFT_PRICES": str(folder / "prices.toml"),
    }
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "redraft", *arguments, "--json"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        text=True,
    )
    used: dict[int, float] = {}
    peaks: dict[int, float] = {}
    watching = threading.Thread(target=_watch, args=(process, used, peaks), daemon=True)
    watching.start()
    out, _ = process.communicate()
    took = time.monotonic() - began
    watching.join()
    return json.loads(out), took, sum(used.values()), max(peaks.values(), default=0.0)


def _watch(process: subprocess.Popen[str], used: dict[int, float], peaks: dict[int, float]) -> None:
    """Note the processor time of the command and of all that it has started, and the most memory of each worker."""
    while process.poll() is None:
        for pid in _family(process.pid):
            try:
                times = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
                status = Path(f"/proc/{pid}/status").read_text("utf-8")
                name = Path(f"/proc/{pid}/cmdline").read_text("utf-8")
            except OSError:
                continue
            used[pid] = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
            lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
            if "redraft.batches.worker" in name or name.startswith("ray::WorkerActor"):
                peaks[pid] = max(peaks.get(pid, 0.0), *(int(line.split()[1]) / 1000 for line in lines), 0.0)
        time.sleep(0.2)


def _family(pid: int) -> list[int]:
    """A process and all that it and its children have started."""
    try:
        tasks = [task.read_text("utf-8") for task in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        tasks = []
    return [pid, *(one for task in tasks for child in task.split() for one in _family(int(child)))]


if __name__ == "__main__":
    main()
