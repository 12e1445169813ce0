"""All attacks, for so many minutes, and one table: how often they were made, and what they have broken.

    python -m tests.torture --minutes 30 [--seed N] [--only NAME]

Each violation is told on stderr with the command that makes it again. The exit code is 1 when there was one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.torture import budgets, crowds, disks, faults, kills, private
from tests.torture.runner import WORKERS, Attack, Row, Try, attacked, chosen, table

ATTACKS: tuple[Attack, ...] = (
    *kills.ATTACKS,
    *faults.ATTACKS,
    *budgets.ATTACKS,
    *crowds.ATTACKS,
    *disks.ATTACKS,
    *private.ATTACKS,
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="python -m tests.torture"
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="shared among the attacks")
    parser.add_argument("--seed", type=int, default=1, help="what is random goes by it")
    parser.add_argument("--only", default="", metavar="NAME", help="an attack, a try, or how the names of tries begin")
    options = parser.parse_args()
    rows = list(campaign(options.minutes * 60, options.seed, options.only))
    if not rows:
        parser.error(f"no attack and no try is named {options.only!r}: {', '.join(attack.name for attack in ATTACKS)}")
    print(f"seed {options.seed}, {options.minutes:g} minutes\n\n{table(rows)}")
    return int(any(row.breaches for row in rows))


def campaign(seconds: float, seed: int, only: str = "") -> Iterator[Row]:
    """A row for each attack that is made in so many seconds."""

    def command(attempt: Try) -> str:
        return f"python -m tests.torture --seed {seed} --only {attempt.name!r}"

    attacks = [attack for attack in ATTACKS if not only or attack.name == only.partition("/")[0]]
    total_weight = sum(attack.weight for attack in attacks)
    with ThreadPoolExecutor(WORKERS) as threads:
        for attack in attacks:
            named = chosen(attack, seed, only) if only else []
            tries = iter(named) if named else attack.tries(seed)
            yield attacked(attack, tries, seconds * attack.weight / total_weight, command, threads)


if __name__ == "__main__":
    sys.exit(main())
