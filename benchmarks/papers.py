"""What can be recomputed of the four papers from released data, beside the published figures.

Run `python -m benchmarks.papers`, with REDRAFT_DATA for all of it. It exits with 1 where a figure is off, and its last
line is the result.
"""

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass

MODULES = ("papers_longsumeval", "papers_booookscore", "papers_hamlet", "papers_thesis")


@dataclass(frozen=True)
class Check:
    """One published figure and ours."""

    paper: str
    where: str
    published: float
    ours: float
    tolerance: float = 0.0
    note: str = ""

    @property
    def equal(self) -> bool:
        return abs(self.published - self.ours) <= self.tolerance + 1e-9


def all_checks() -> Iterator[Check]:
    for name in MODULES:
        yield from importlib.import_module(f"benchmarks.{name}").checks()


def main() -> int:
    checks = list(all_checks())
    width = max((len(check.where) for check in checks), default=5)
    paper = ""
    for check in checks:
        if check.paper != paper:
            paper = check.paper
            print(f"\n{paper}\n  {'':{width}} published    ours")
        mark = "" if check.equal else "  off"
        note = "  ".join(
            ("", *([f"±{check.tolerance:g}"] if check.tolerance else []), *([check.note] if check.note else []))
        )
        print(f"  {check.where:{width}} {check.published:9g} {check.ours:7g}{mark}{note}")
    off = sum(not check.equal for check in checks)
    print(f"\n{len(checks) - off} of {len(checks)} figures equal the published ones.")
    return 1 if off or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
