"""A disk that is full, at sizes from the first page on, and other programs that hold either file for long."""

from __future__ import annotations

import itertools
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from tests.torture.processes import Fate
from tests.torture.runner import Attack, Try, Violation
from tests.torture.world import KINDS, World, judged, undisturbed, world

# From a file that cannot hold its first page to one that holds all of it. Every file has the same room.
_SMALLEST, _LARGEST = 3_000, 420_000
_FILES = ("redraft.db", "redraft.checkpoints.db")
_MODES = ("IMMEDIATE", "EXCLUSIVE")
_HELD = (0.5, 6.0)
"""Seconds, all shorter than redraft waits."""


def full(seed: int) -> Iterator[Try]:
    """A disk with less and less room left, and then with any room."""
    kinds = itertools.cycle(KINDS)
    for size in range(_SMALLEST, _LARGEST, 24_000):
        kind = next(kinds)
        yield Try(f"full disk/{kind} {size} bytes", partial(_full, kind, (size,)))
    for number in itertools.count(1):
        chance = random.Random(f"{seed} disk {number}")
        kind = chance.choice(tuple(KINDS))
        sizes = tuple(sorted(chance.randint(_SMALLEST, _LARGEST) for _ in range(2)))
        yield Try(f"full disk/{kind} {sizes[0]}, {sizes[1]} bytes #{number}", partial(_full, kind, sizes))


def _full(kind: str, sizes: tuple[int, ...], folder: Path) -> Iterator[Violation]:
    with world(folder, REDRAFT_CONCURRENCY="2") as workspace:
        for size in sizes:
            runs = workspace.runs()
            fate = Fate(largest_file=size)
            done = workspace.run(*(("resume", runs[0]) if runs else KINDS[kind]), fate=fate)
            if done.trouble:
                yield Violation("crashed", f"{size} bytes: {done.trouble}")
            elif done.code and "redraft: " not in done.err:
                yield Violation("wrong", f"{size} bytes: exit {done.code}, and nothing is said: {done.err[-200:]!r}")
        yield from judged(workspace, kind, workspace.finished(kind))


def locks(seed: int) -> Iterator[Try]:
    """Another program holds one of the files, or both, from a random moment on."""
    for number in itertools.count(1):
        chance = random.Random(f"{seed} locks {number}")
        kind = tuple(KINDS)[number % len(KINDS)]
        files = _FILES if number % 5 == 0 else (_FILES[number % 2],)
        mode, duration = chance.choice(_MODES), chance.uniform(*_HELD)
        name = f"locks/{kind}, {' and '.join(files)}, {mode} {duration:.1f} s #{number}"
        yield Try(name, partial(_locked, kind, files, mode, duration, chance.random()))


def _locked(
    kind: str, files: tuple[str, ...], mode: str, duration: float, after: float, folder: Path
) -> Iterator[Violation]:
    with world(folder) as workspace:
        running = workspace.start(*KINDS[kind])
        time.sleep(after * undisturbed(kind).seconds)
        _hold(workspace, files, mode, duration)
        done = workspace.end(running)
        if done.trouble:
            yield Violation("crashed", done.trouble)
        yield from judged(workspace, kind, done if done.code == 0 else workspace.finished(kind))


def _hold(workspace: World, files: tuple[str, ...], mode: str, duration: float) -> None:
    existing = [workspace.folder / name for name in files if (workspace.folder / name).exists()]
    opened = [sqlite3.connect(path, isolation_level=None, timeout=20) for path in existing]
    try:
        for raw in opened:
            raw.execute(f"BEGIN {mode}")
        time.sleep(duration)
    finally:
        for raw in opened:
            with closing(raw):
                raw.rollback()


ATTACKS = (
    Attack("full disk", full, 2, small=("full disk/evaluate 75000 bytes", "full disk/direct 3000 bytes")),
    Attack("locks", locks, 2, small=("locks/hierarchical",)),
)
