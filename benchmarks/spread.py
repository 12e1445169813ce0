"""One long book by 64 workers of one request each: how close the draft comes to the fastest schedule there is.

    python -m benchmarks.spread [--workers 64] [--processes 4] [--words 300000] [--context-tokens 32768] [--slower 1]
        [--db ADDRESS]

The workers are those of a batch, each with a place for one request, an event loop and a connection of its own to the
database. So that they have room on one machine several of them are in one process, as threads. The server is that of
`benchmarks.schedule`, so many times slower: 1 are 222 tokens a second, 3 are 74. The bounds are those, too: the larger
of all latencies divided by the number of workers and the longest chain of calls that need each other's replies; and the
same chain where each merge waits until so many at once can have answered all that it rests on. `begun after` is how
long after the first call of the draft half of the workers had begun one: what they have to open and to load they do on
the same processors. `one worker` is the same book by a single one that may have as many requests under way, as
`redraft summarize` has.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.common import ROOT, Server, prose, server, table, use_vocabulary
from benchmarks.schedule import LATENCY, longest_chain
from redraft.batches.asked import Asked
from redraft.batches.sources import put_in
from redraft.batches.work import Worker, share_of
from redraft.runs.opening import load_openai
from redraft.settings import Limits, Settings
from redraft.store.batches import Batch
from redraft.store.store import Store

_BATCH = "book"
_CHARACTERS_A_WORD = 5.85
_CHUNK_TOKENS, _SUMMARY = 2_048, 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--words", type=int, default=300_000)
    parser.add_argument("--context-tokens", type=int, default=32_768)
    parser.add_argument("--slower", type=float, default=1.0)
    parser.add_argument("--db", help="an empty database on a server, in place of a file")
    parser.add_argument("--numbers", nargs="*", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    use_vocabulary()
    if given.numbers is not None:
        threads(given.db, given.numbers, given.workers)
        return
    rows: list[tuple[object, ...]] = [
        ("", "calls", "least", "s", "bound", "of it", "nearer", "of it", "calls / workers", "begun after", "CPU s")
    ]
    with tempfile.TemporaryDirectory() as name:
        alone = Path(name) / "alone"
        rows.append(("one worker", *measured(alone, None, 1, 1, given)))
    with tempfile.TemporaryDirectory() as name:
        rows.append(
            (f"{given.workers} workers", *measured(Path(name), given.db, given.workers, given.processes, given))
        )
    table(rows)


def measured(
    folder: Path, db: str | None, workers: int, processes: int, given: argparse.Namespace
) -> tuple[object, ...]:
    """The draft of the book from an empty database."""
    folder.mkdir(exist_ok=True)
    book, address = folder / "book.txt", db or str(folder / "redraft.db")
    book.write_text(prose(int(given.words * _CHARACTERS_A_WORD)), "utf-8")
    with server(folder, *slowed(LATENCY, given.slower)) as chat, Store(address) as store:
        settings = Settings(
            model="openai:gpt-4o-mini",
            base_url=chat.url,
            words=_SUMMARY,
            chunk_tokens=_CHUNK_TOKENS,
            context_tokens=given.context_tokens,
        )
        limits = Limits(concurrency=given.workers).model_dump(mode="json")
        store.batches.open(Batch(_BATCH, Asked(settings).to_json(), limits))
        put_in(store, _BATCH, [str(book)])
        used = by_processes(address, workers, processes)
        return report(store, chat, given.workers, used)


def by_processes(address: str, workers: int, processes: int) -> float:
    """Have the batch done; returns the seconds of the processors that it took."""
    before = os.times()
    shares = [list(range(number, workers, processes)) for number in range(processes)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.spread", "--db", address, "--workers", str(workers), "--numbers"]
            + [str(one) for one in share],
            cwd=ROOT,
            env={**os.environ, "OPENAI_API_KEY": "sk-benchmark"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for share in shares
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    if sum(process.wait() for process in started):
        sys.exit("a process failed")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def threads(address: str, numbers: list[int], workers: int) -> None:
    """Some of the workers, in this process: begun together with those of the others."""
    load_openai()
    failures: list[BaseException] = []
    stores = {number: Store(address) for number in numbers}

    def work(number: int) -> None:
        try:
            with stores[number] as store:
                limits = share_of(store.batches.get(_BATCH), number, workers)
                asyncio.run(Worker(store, _BATCH, f"w{number}", limits).work())
        except BaseException as error:
            failures.append(error)
            raise

    everybody = [threading.Thread(target=work, args=(number,)) for number in numbers]
    print("ready", flush=True)
    sys.stdin.readline()
    for one in everybody:
        one.start()
    for one in everybody:
        one.join()
    sys.exit(bool(failures))


def report(store: Store, chat: Server, workers: int, used: float) -> tuple[object, ...]:
    """The row of a draft that is made."""
    time.sleep(0.5)
    (item,) = store.batches.items(_BATCH)
    assert item.run is not None, item.error
    assert item.state == "done", item.error
    pieces, served = store.runs.pieces(item.run), chat.served()
    seconds = {piece: next(one.seconds for one in served if one.reply == piece.text) for piece in pieces}
    texts = {piece.text for piece in pieces}
    tidying = sum(one.seconds for one in served if one.reply not in texts)
    total, chain = sum(seconds.values()) + tidying, longest_chain(pieces, seconds, math.inf) + tidying
    bound, nearer = max(total / workers, chain), longest_chain(pieces, seconds, workers) + tidying
    took = store.calls.totals(item.run).seconds
    least = len({json.dumps(one.prompt) for one in served})
    starts = sorted(one.start for one in served)
    begun = starts[min(workers, len(starts)) // 2] - starts[0]
    return len(served), least, took, bound, took / bound, nearer, took / nearer, total / workers, begun, used


def slowed(latency: tuple[str, ...], times: float) -> list[str]:
    """The options of a server that takes so many times as long."""
    return [one if one.startswith("-") else str(float(one) * times) for one in latency]


if __name__ == "__main__":
    main()
