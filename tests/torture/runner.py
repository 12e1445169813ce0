"""Tries of attacks, made two at a time until their share of the minutes is over, and the table that comes of them."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, get_args

Breach = Literal["lost", "repeated", "wrong", "bricked", "crashed", "over", "leaked"]
"""A stored answer is paid again, or a piece is missing; a call is sent twice that was not in flight; the outcome is
another; a run cannot go on; a traceback, or a hang; more is spent than allowed; something is where it must not be."""

# Of a name that is asked for, the tries of an attack are looked through as far as this.
_LOOKED_THROUGH = 5000
WORKERS = min(4, os.cpu_count() or 2)


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken, so many times in one try."""

    breach: Breach
    what: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Try:
    """One try of an attack, in an empty directory. The name and the seed are all that it takes to make it again."""

    name: str
    run: Callable[[Path], Iterable[Violation]]
    size: int = 1
    """How many tries of the table it stands for."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack: tries without an end, those first that are made in any case."""

    name: str
    tries: Callable[[int], Iterator[Try]]
    weight: float = 1.0
    """Its share of the minutes, beside the others."""
    small: tuple[str, ...] = ()
    """The names of those that are made in the small form, where each try has processes of its own."""
    share: int = 0
    """Of tries that are counted, its share beside the others; 0 where each try has processes of its own."""
    batch: Callable[[int, int, int], Try] | None = None
    """The batch of a seed and a number, with at most so many tries, of those that are made within one process."""


Generator = Callable[[int, int], Iterable[str]]
"""Makes so many tries by a seed, and tells what came out wrong. It is a function of a module, as processes want it."""


def batches(name: str, generator: Generator, share: int, size: int = 100) -> Attack:
    """An attack by a generator, so many tries at once."""

    def batch(seed: int, number: int, count: int) -> Try:
        run = partial(_batch, generator, min(count, size), seed * 1_000_003 + number)
        return Try(f"{name}/batch #{number}", run, min(count, size))

    def tries(seed: int) -> Iterator[Try]:
        return (batch(seed, number, size) for number in itertools.count())

    return Attack(name, tries, share=share, batch=batch)


def counted(attack: Attack, seed: int, count: int) -> Iterator[Try]:
    """So many tries by a generator: its batches in their order, of the last one as much as is wanted."""
    assert attack.batch is not None
    for number in itertools.count():
        if count <= 0:
            return
        yield (attempt := attack.batch(seed, number, count))
        count -= attempt.size


def _batch(generator: Generator, count: int, seed: int, folder: Path) -> Iterator[Violation]:
    del folder
    yield from (Violation("wrong", what) for what in generator(count, seed))


@dataclass(slots=True)
class Row:
    """What came of an attack."""

    name: str
    tries: int = 0
    breaches: Counter[Breach] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def make(attempt: Try) -> list[Violation]:
    """Make one try. A harness that fails hides what it would have found, so that counts too."""
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    try:
        return list(attempt.run(folder))
    except Exception:  # noqa: BLE001
        return [Violation("crashed", f"the harness itself failed: {traceback.format_exc(limit=-4)}")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def chosen(attack: Attack, seed: int, only: str) -> list[Try]:
    """The tries of an attack that a name, or the beginning of one, stands for."""
    looked_through = itertools.islice(attack.tries(seed), _LOOKED_THROUGH)
    if only == attack.name:
        return []
    matching = [attack for attack in looked_through if attack.name.startswith(only)]
    return [attack for attack in matching if attack.name == only] or matching


def attacked(
    attack: Attack, tries: Iterator[Try], seconds: float, command: Callable[[Try], str], pool: Executor
) -> Row:
    """Make tries, several at once, until the time is over or there are no more."""
    row, until, running = Row(attack.name), time.monotonic() + seconds, {}
    while True:
        more = itertools.islice(tries, WORKERS - len(running)) if time.monotonic() < until else iter(())
        running |= {pool.submit(make, attempt): attempt for attempt in more}
        if not running:
            return row
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            _count(row, running.pop(future), future, command)


def _count(row: Row, attempt: Try, done: Future[list[Violation]], command: Callable[[Try], str]) -> None:
    row.tries += attempt.size
    for violation in done.result():
        row.breaches[violation.breach] += violation.count
        note = f"{violation.breach} ({violation.count}): {attempt.name}: {violation.what}\n    {command(attempt)}"
        row.notes.append(note)
        print(note, file=sys.stderr, flush=True)


def table(rows: Sequence[Row]) -> str:
    """The rows in columns, with their sum."""
    total = Row("all", sum(row.tries for row in rows), sum((row.breaches for row in rows), Counter()))
    cells = [("attack", "tries", *get_args(Breach))]
    cells += [
        (row.name, str(row.tries), *(str(row.breaches[breach]) for breach in get_args(Breach)))
        for row in (*rows, total)
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
        for line in cells
    ]
    rule = "-" * len(lines[0])
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])
