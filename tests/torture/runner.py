"""Tries of attacks, several at a time until their minutes are over, and the table of what they have broken."""

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
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack: tries without an end, those first that are made in any case."""

    name: str
    tries: Callable[[int], Iterator[Try]]
    weight: float = 1.0
    """Its share of the minutes, beside the others."""
    small: tuple[str, ...] = ()
    """The names of those that are made in the small form."""


@dataclass(slots=True)
class Row:
    """What came of an attack."""

    name: str
    tries: int = 0
    breaches: Counter[Breach] = field(default_factory=Counter)


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
    if only == attack.name:
        return []
    tries = itertools.islice(attack.tries(seed), _LOOKED_THROUGH)
    matching = [attempt for attempt in tries if attempt.name.startswith(only)]
    return [attempt for attempt in matching if attempt.name == only] or matching


def attacked(
    attack: Attack, tries: Iterator[Try], seconds: float, command: Callable[[Try], str], pool: Executor
) -> Row:
    """Make tries, several at once, until the time is over or there are no more; print each violation to stderr."""
    row, until, running = Row(attack.name), time.monotonic() + seconds, {}
    while True:
        more = itertools.islice(tries, WORKERS - len(running)) if time.monotonic() < until else iter(())
        running |= {pool.submit(make, attempt): attempt for attempt in more}
        if not running:
            return row
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            attempt = running.pop(future)
            row.tries += 1
            for violation in future.result():
                row.breaches[violation.breach] += violation.count
                note = f"{violation.breach} ({violation.count}): {attempt.name}: {violation.what}"
                print(f"{note}\n    {command(attempt)}", file=sys.stderr, flush=True)


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
