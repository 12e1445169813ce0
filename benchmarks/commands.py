"""What commands take: time and memory.

    python -m benchmarks.commands                        # those that have nothing to ask
    python -m benchmarks.commands --megabytes 100        # a large document, by the built-in model

Of those that have nothing to ask it is `redraft --help` beside an interpreter that does nothing, and the processor time
of those that read, of a summary of the sample book whose every answer is known, and of a `Session`: medians after one
round to warm the caches. Without bytecode (PYTHONDONTWRITEBYTECODE) every figure is about a quarter higher.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.common import SAMPLE, options_of, seconds, table

ROUNDS = 21
_SYLLABLES = ("ka", "lo", "mi", "ren", "tor", "sel", "vin", "dar", "qua", "nis", "pol", "eth", "gra", "hum", "ost")
_LITTLE = ("the", "of", "and", "to", "in", "a", "was", "that", "he", "it", "his", "with", "for", "on", "at", "had")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--megabytes", type=int, help="the size of a document")
    megabytes = parser.parse_args().megabytes
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REDRAFT_DB"] = str(Path(folder) / "redraft.db")
        if megabytes:
            large(Path(folder) / "large.txt", megabytes)
        else:
            small(Path(folder) / "summary.md")


def small(summary: Path) -> None:
    """Commands with nothing to ask."""
    command = shutil.which("redraft")
    if command is None:
        sys.exit("redraft is not on the PATH: activate the environment that it is installed in")
    nothing, helping = (
        1000 * median(words, time.perf_counter) for words in ((sys.executable, "-c", "pass"), (command, "--help"))
    )
    table([("", "ms", "times"), ("python -c pass", nothing, 1.0), ("redraft --help", helping, helping / nothing)])
    summarize = (command, "summarize", str(SAMPLE), "-w", "200", "-q", "-o", str(summary))
    subprocess.run(summarize, check=True)
    listed = subprocess.run((command, "runs", "--json"), stdout=subprocess.PIPE, check=True)
    run = json.loads(listed.stdout)["runs"][0]["run"]
    commands = {"summarize": summarize, "runs": (command, "runs")}
    commands |= {name: (command, name, run) for name in ("trace", "show")}
    commands["redraft.Session()"] = (sys.executable, "-P", "-c", "import redraft; redraft.Session(':memory:')")
    table([("", "s of a processor"), *((name, median(words, children)) for name, words in commands.items())])


def median(command: tuple[str, ...], clock: Callable[[], float]) -> float:
    """The median over some rounds, after one to warm the caches."""
    times = [
        seconds(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True), clock)
        for _ in range(ROUNDS + 1)
    ]
    return statistics.median(times[1:])


def children() -> float:
    """The processor time of all processes that were started."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def large(path: Path, megabytes: int) -> None:
    """A document of so many megabytes: the seconds that a command takes, and the most memory that it has at once."""
    with path.open("w") as file:
        file.writelines(paragraphs(megabytes * 1_000_000))
    rows: list[tuple[object, ...]] = [("", "s", "MB at most")]
    for name, options in (("plan", ["--dry-run"]), ("summarize", [])):
        began = time.perf_counter()
        words = [sys.executable, "-m", "redraft", "summarize", str(path), "--quiet", *options]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"it ended with {status}")
        rows.append((name, time.perf_counter() - began, usage.ru_maxrss / 1000))
    table(rows)


def paragraphs(size: int) -> Iterator[str]:
    """Sentences of made-up words, some of them frequent, in chapters."""
    draw = random.Random(1)
    words = ["".join(draw.choices(_SYLLABLES, k=draw.randint(1, 4))) for _ in range(30_000)]
    weights = [1 / (at + 10) for at in range(len(words))]
    number = 0
    while size > 0:
        text = f"Chapter {number // 400 + 1}\n\n" if number % 400 == 0 else ""
        for _ in range(draw.randint(2, 7)):
            chosen = draw.choices(words, weights, k=draw.randint(6, 25))
            text += " ".join(draw.choice((word, word, draw.choice(_LITTLE))) for word in chosen).capitalize() + ". "
        yield text + "\n\n"
        size -= len(text) + 2
        number += 1


if __name__ == "__main__":
    main()
