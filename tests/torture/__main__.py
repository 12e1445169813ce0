"""All attacks, for so many minutes, and one table: how often they were made, and what they have broken.

    python -m tests.torture --minutes 30 [--seed N] [--only NAME]

Each violation is told on stderr with the command that makes it again. The exit code is 1 when there was one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tests.torture import budgets, crowds, disks, documents, faults, kills, leaks, terminals
from tests.torture.replies import spoiled
from tests.torture.runner import Attack, Row, Try, attacked, batches, chosen, table

ATTACKS: tuple[Attack, ...] = (
    *kills.ATTACKS,
    *faults.ATTACKS,
    *budgets.ATTACKS,
    *crowds.ATTACKS,
    *disks.ATTACKS,
    *documents.ATTACKS,
    *terminals.ATTACKS,
    *leaks.ATTACKS,
    # Which verdicts came to stand beside another item than the one that they are about.
    batches("replies", lambda count, seed: spoiled(count, seed).examples),
)


def main() -> int:
    """Attack, print the table, and tell whether a promise was broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="python -m tests.torture"
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="shared among the attacks")
    parser.add_argument("--seed", type=int, default=1, help="what is random goes by it")
    parser.add_argument("--only", default="", metavar="NAME", help="an attack, a try, or how the names of tries begin")
    parser.add_argument("--list", action="store_true", help="name the attacks, and do nothing")
    options = parser.parse_args()
    if options.list:
        print("\n".join(attack.name for attack in ATTACKS))
        return 0
    rows = list(campaign(options.minutes * 60, options.seed, options.only))
    if not rows:
        parser.error(f"no attack and no try is named {options.only!r}: see --list")
    print(f"seed {options.seed}, {options.minutes:g} minutes\n\n{table(rows)}")
    return int(any(row.found for row in rows))


def campaign(seconds: float, seed: int, only: str) -> Iterator[Row]:
    """A row for each attack that is made."""

    def command(one: Try) -> str:
        return f"python -m tests.torture --seed {seed} --only {one.name!r}"

    wanted = [attack for attack in ATTACKS if not only or attack.name == only.partition("/")[0]]
    whole = sum(attack.weight for attack in wanted)
    for attack in wanted:
        named = chosen(attack, seed, only) if only else []
        tries = iter(named) if named else attack.tries(seed)
        yield attacked(attack, tries, seconds * attack.weight / whole, command)


if __name__ == "__main__":
    sys.exit(main())
