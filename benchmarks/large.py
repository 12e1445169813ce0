"""How much memory and time a large document takes: planned, and summarized by the built-in model.

python -m benchmarks.large [--megabytes 100] [--plan-only]
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import options_of, table

_SYLLABLES = ("ka", "lo", "mi", "ren", "tor", "sel", "vin", "dar", "qua", "nis", "pol", "eth", "gra", "hum", "ost")
_LITTLE = ("the", "of", "and", "to", "in", "a", "was", "that", "he", "it", "his", "with", "for", "on", "at", "had")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--plan-only", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.txt"
        with path.open("w") as file:
            file.writelines(paragraphs(given.megabytes * 1_000_000))
        rows: list[tuple[object, ...]] = [("", "s", "MB at most")]
        rows.append(("plan", *measured(path, "--dry-run")))
        if not given.plan_only:
            rows.append(("summarize", *measured(path)))
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


def measured(path: Path, *options: str) -> tuple[float, float]:
    """The seconds that the command takes, and the most memory that it has at once."""
    environment = {**os.environ, "REDRAFT_DB": str(path.with_suffix(".db"))}
    words = [sys.executable, "-m", "redraft", "summarize", str(path), "--quiet", *options]
    began = time.perf_counter()
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"it ended with {status}")
    return time.perf_counter() - began, usage.ru_maxrss / 1000


if __name__ == "__main__":
    main()
