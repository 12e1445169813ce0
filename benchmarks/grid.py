"""A grid over stories, killed with SIGKILL and gone on with: the same files, and nothing answered twice.

    python -m benchmarks.grid [--stories 20] [--kills 3]

Two settings of the built-in model (150 and 300 words) on each story, by coverage, consistency, faithfulness and spread.
One experiment is left alone. The other is killed when the ledger has an equal part more of its answers, each time in
another process, and then goes on to its end. All files must be the same to the byte but for the names of runs, which
are drawn, and the ledgers must hold the same answers, each once.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import ROOT, options_of, stories, table

METRICS = ("coverage", "consistency", "faithfulness", "spread")
WORDS = (150, 300)
_RUNS = re.compile(r'((?:made_in|judged_in)": )"\w+"')
_ANSWERS = "SELECT count(*), count(DISTINCT key) FROM calls WHERE reply IS NOT NULL"
_WAIT = 0.05


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--stories", type=int, default=20)
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    texts = [story["document"] for story in stories()][: options.stories]
    if not texts:
        sys.exit("the stories are not here: REDRAFT_DATA says where")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        books = folder / "books"
        books.mkdir()
        for number, text in enumerate(texts, 1):
            (books / f"story{number:02}.txt").write_text(text, "utf-8")
        calm, killed = folder / "calm", folder / "killed"
        began = time.monotonic()
        finished(books, calm)
        answers = answered(calm)[0]
        rows: list[tuple[object, ...]] = [("experiment", "answers", "different", "seconds")]
        rows.append(("left alone", *answered(calm), round(time.monotonic() - began)))
        began = time.monotonic()
        at = [killed_at(books, killed, answers * (kill + 1) // (options.kills + 1)) for kill in range(options.kills)]
        finished(books, killed)
        rows.append((f"killed at {', '.join(map(str, at))}", *answered(killed), round(time.monotonic() - began)))
        again = answered(killed)
        finished(books, killed)
        rows.append(("and repeated", *answered(killed), ""))
        table(rows)
        one, other = results(calm), results(killed)
        different = sorted(name for name in one if one[name] != other.get(name))
        print(f"\n{len(texts)} stories, {len(WORDS)} settings, {len(METRICS)} metrics: {len(one)} files")
        once = answered(killed) == answered(calm) == again and len(set(again)) == 1
        right = one.keys() == other.keys() and not different and once
        print("every file is the same, and nothing was answered twice" if right else f"WRONG: {different}")


def started(books: Path, folder: Path) -> subprocess.Popen[bytes]:
    """The experiment as a user types it."""
    folder.mkdir(exist_ok=True)
    metrics = [word for metric in METRICS for word in ("--metric", metric)]
    words = [word for number in WORDS for word in ("--words", str(number))]
    place = ["--db", str(folder / "redraft.db"), "-o", str(folder / "results"), "-q"]
    what = [sys.executable, "-m", "redraft", "experiment", "grid", str(books), "-m", "extractive"]
    # A settings file of whoever runs this is none of the benchmark's.
    alone = os.environ | {"REDRAFT_CONFIG": str(folder / "none.toml")}
    return subprocess.Popen([*what, *words, *metrics, *place], cwd=ROOT, stdout=subprocess.DEVNULL, env=alone)


def finished(books: Path, folder: Path) -> None:
    """Go on with the experiment to its end. Stories of which some metric has no score end it with 3."""
    if started(books, folder).wait() not in (0, 3):
        sys.exit("the experiment failed")


def killed_at(books: Path, folder: Path, answers: int) -> int:
    """Kill the experiment when so many answers are stored; returns how many there were."""
    process = started(books, folder)
    while process.poll() is None and answered(folder)[0] < answers:
        time.sleep(_WAIT)
    process.kill()
    process.wait()
    return answered(folder)[0]


def answered(folder: Path) -> tuple[int, int]:
    """How many answers the ledger has, and to how many different requests."""
    place = folder / "redraft.db"
    if not place.exists():
        return (0, 0)
    database = sqlite3.connect(f"file:{place}?mode=ro", uri=True)
    try:
        found = database.execute(_ANSWERS).fetchone()
    except sqlite3.OperationalError:
        return (0, 0)  # it is only just being made
    finally:
        database.close()
    return (found[0], found[1])


def results(folder: Path) -> dict[str, str]:
    """The files of an experiment without the names of its runs."""
    found = {one.name: one.read_text("utf-8") for one in sorted((folder / "results").iterdir())}
    return {name: _RUNS.sub(r'\1"-"', text) for name, text in found.items() if name != "items.csv"}


if __name__ == "__main__":
    main()
