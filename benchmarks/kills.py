"""What is repeated of work that is killed with SIGKILL and gone on with, and whether its result is the same.

    python -m benchmarks.kills run [--kills 20] [--seed 1]
    python -m benchmarks.kills grid [--kills 3] [--stories 20]

`run` is a 600 KB text, 16 requests at once at temperature 0, killed at random moments of its course; each time it is
resumed until done. At most the calls in flight at the kill may be repeated, and nothing that was stored; the text must
be that of a run which nobody killed. A reply that the server has sent is in flight until the client has stored it.

`grid` is an experiment with two settings of the built-in model (150 and 300 words) on each story, by coverage,
consistency, faithfulness and spread. One is left alone. The other is killed when the ledger has an equal part more of
its answers, each time in another process, and then goes on to its end. All tables but the cost must be the same to the
byte, apart from the ids of runs, which are drawn, and the ledgers must hold the same answers, each once.
"""

from __future__ import annotations

import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.common import (
    ROOT,
    Server,
    options_of,
    prose,
    redraft,
    server,
    start_redraft,
    stories,
    table,
    use_vocabulary,
)

CONCURRENCY = 16
LATENCY = ("--latency-base", "0.2", "--latency-prompt", "0.00001", "--latency-completion", "0.0015")
SETTINGS = ("--model", "openai:gpt-4o-mini", "--temperature", "0", "--concurrency", str(CONCURRENCY))
METRICS = ("coverage", "consistency", "faithfulness", "spread")
WORDS = (150, 300)
_RUN = re.compile(r"\b[0-9a-f]{8}\b")
_ANSWERS = "SELECT count(*), count(DISTINCT key) FROM calls WHERE reply IS NOT NULL"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("what", choices=("run", "grid"))
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stories", type=int, default=20)
    options = parser.parse_args()
    use_vocabulary()
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "run":
            runs(Path(folder), options.kills or 20, options.seed)
        else:
            grids(Path(folder), options.kills or 3, options.stories)


def runs(folder: Path, kills: int, seed: int) -> None:
    """A run, killed at random moments and resumed."""
    chance = random.Random(seed)
    rows: list[tuple[object, ...]] = [
        ("kill", "at call", "stored", "stored and repeated", "repeated", "sent but not stored", "same text")
    ]
    book = folder / "book.txt"
    book.write_text(prose(600_000), "utf-8")
    undisturbed = folder / "undisturbed"
    undisturbed.mkdir()
    with server(undisturbed, *LATENCY) as chat:
        whole, _ = redraft("summarize", str(book), *SETTINGS, url=chat.url, database=undisturbed / "redraft.db")
    calls = whole["usage"]["calls"]
    for kill in range(1, kills + 1):
        at = chance.randint(1, calls - 1)
        here = folder / str(kill)
        here.mkdir()
        with server(here, *LATENCY) as chat:
            rows.append((kill, at, *killed_and_resumed(chat, book, here / "redraft.db", at, whole["summary"])))
    table(rows)
    again, repeated, lost = ([int(str(row[column])) for row in rows[1:]] for column in (3, 4, 5))
    print(f"\n{calls} calls undisturbed; {sum(repeated)} repeated in {len(repeated)} kills, at most {max(repeated)}")
    print(f"replies sent by the server but not yet stored at the kill: {sum(lost)}, at most {max(lost)}")
    right = not any(again) and max(repeated) <= CONCURRENCY and all(row[6] == "yes" for row in rows[1:])
    print("every text is the same, and nothing stored was asked again" if right else "WRONG")


def killed_and_resumed(chat: Server, book: Path, database: Path, at: int, expected: str) -> tuple[object, ...]:
    """Answers stored at the kill; those of them asked for again; calls made twice; replies that the server had sent
    before the kill and the client had not stored; whether the summary is the expected one."""
    process = start_redraft("summarize", str(book), *SETTINGS, url=chat.url, database=database)
    while chat.answered() < at and process.poll() is None:
        time.sleep(0.002)
    killed = time.monotonic()
    process.kill()
    process.communicate()
    with sqlite3.connect(database) as ledger:
        stored = {row[0] for row in ledger.execute("SELECT t.text FROM calls JOIN texts t ON t.id = calls.reply")}
    # What the server was still working on is logged once it is done, or notices that nobody listens.
    time.sleep(1.0)
    before = chat.served()
    sent = sum(one.answered and one.end < killed for one in before)
    run = redraft("runs", url=chat.url, database=database)[0]["runs"][0]["run"]
    done, _ = redraft("resume", run, url=chat.url, database=database)
    served = chat.served()
    repeated = sum(count - 1 for count in Counter(one.prompt for one in served).values())
    again = sum(one.reply in stored for one in served[len(before) :])
    same = "yes" if done["summary"] == expected else "NO"
    return len(stored), again, repeated, max(0, sent - len(stored)), same


def grids(folder: Path, kills: int, most: int) -> None:
    """An experiment, killed and repeated."""
    texts = [story["document"] for story in stories()][:most]
    if not texts:
        sys.exit("the stories are not here: REDRAFT_DATA says where")
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
    at = [killed_at(books, killed, answers * (kill + 1) // (kills + 1)) for kill in range(kills)]
    finished(books, killed)
    rows.append((f"killed at {', '.join(map(str, at))}", *answered(killed), round(time.monotonic() - began)))
    again = answered(killed)
    finished(books, killed)
    rows.append(("and repeated", *answered(killed), ""))
    table(rows)
    one, other = results(calm), results(killed)
    different = sorted(name for name in one if one[name] != other.get(name))
    print(f"\n{len(texts)} stories, {len(WORDS)} settings, {len(METRICS)} metrics: {len(one)} tables")
    once = answered(killed) == answered(calm) == again and len(set(again)) == 1
    right = one.keys() == other.keys() and not different and once
    print("every table is the same, and nothing was answered twice" if right else f"WRONG: {different}")


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
        time.sleep(0.05)
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
    """The tables of an experiment, without the ids of its runs and its cost, in which calls lost at a kill count."""
    texts = {path.name: path.read_text("utf-8") for path in sorted((folder / "results").glob("*.csv"))}
    return {name: _RUN.sub("-", text) for name, text in texts.items() if name not in ("items.csv", "cost.csv")}


if __name__ == "__main__":
    main()
