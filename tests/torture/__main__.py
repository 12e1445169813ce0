"""All attacks, for so many minutes, and one table: how often they were made, and what they have broken.

    python -m tests.torture --minutes 30 [--seed N] [--only NAME]
    python -m tests.torture --tries 20000 [--seed N] [--only NAME]

The second makes so many tries of those attacks that generate what is tried, and need no process of their own for it.

Each violation is told on stderr with the command that makes it again. The exit code is 1 when there was one.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from tests.torture import (
    budgets,
    crowds,
    disks,
    envelopes,
    faults,
    forms,
    injections,
    kills,
    leaks,
    readings,
    refusals,
)
from tests.torture.runner import WORKERS, Attack, Row, Try, attacked, batches, chosen, counted, table

ATTACKS: tuple[Attack, ...] = (
    *kills.ATTACKS,
    *faults.ATTACKS,
    *budgets.ATTACKS,
    *crowds.ATTACKS,
    *disks.ATTACKS,
    *injections.ATTACKS,
    *leaks.ATTACKS,
    batches("readings", readings.lost, share=30),
    batches("envelopes", envelopes.misread, share=25),
    batches("refusals", refusals.taken, share=24),
    # Each is a judgment by the whole pipeline.
    batches("forms", forms.scored_wrongly, share=2, size=10),
)


_CONTEXT = multiprocessing.get_context("spawn")


def main() -> int:
    """Attack, print the table, and tell whether a promise was broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="python -m tests.torture"
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="shared among the attacks")
    parser.add_argument("--tries", type=int, metavar="N", help="so many of the generators', in place of minutes")
    parser.add_argument("--seed", type=int, default=1, help="what is random goes by it")
    parser.add_argument("--only", default="", metavar="NAME", help="an attack, a try, or how the names of tries begin")
    parser.add_argument("--list", action="store_true", help="name the attacks, and do nothing")
    options = parser.parse_args()
    if options.list:
        print("\n".join(attack.name for attack in ATTACKS))
        return 0
    rows = list(campaign(options.minutes * 60, options.seed, options.only, options.tries))
    if not rows:
        parser.error(f"no attack and no try is named {options.only!r}: see --list")
    amount = f"{options.tries} tries" if options.tries else f"{options.minutes:g} minutes"
    print(f"seed {options.seed}, {amount}\n\n{table(rows)}")
    return int(any(row.breaches for row in rows))


def campaign(seconds: float, seed: int, only: str = "", count: int | None = None) -> Iterator[Row]:
    """A row for each attack that is made: for so many seconds, or until so many tries of the generators are."""

    def command(attempt: Try) -> str:
        return f"python -m tests.torture --seed {seed} --only {attempt.name!r}"

    attacks = [attack for attack in ATTACKS if not only or attack.name == only.partition("/")[0]]
    attacks = attacks if count is None else [attack for attack in attacks if attack.share]
    total_weight = sum(attack.weight for attack in attacks)
    shares, remaining = sum(attack.share for attack in attacks), count or 0
    # Python that is threaded keeps to one core. Processes of an attack keep their own.
    with ThreadPoolExecutor(WORKERS) as threads, ProcessPoolExecutor(WORKERS, _CONTEXT) as processes:
        for attack in attacks:
            if count is None:
                chosen_tries = chosen(attack, seed, only) if only else []
                tries, limit = (
                    iter(chosen_tries) if chosen_tries else attack.tries(seed),
                    seconds * attack.weight / total_weight,
                )
            else:
                part = round(remaining * attack.share / shares)
                tries, limit = counted(attack, seed, part), math.inf
                remaining, shares = remaining - part, shares - attack.share
            yield attacked(attack, tries, limit, command, processes if attack.share else threads)


if __name__ == "__main__":
    sys.exit(main())
