"""How much of what a file holds was read of it, part by part; and that too little of it is no document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redraft.errors import DocumentError

LEAST_SHARE = 0.9
"""Of a file, and of each part of it, this much is read at least where nobody has said that less will do."""
_UNNOTICED, _OF_ALL = 10, 0.01
"""So few characters, and no larger share, may be a matter of how they are counted."""
_SMALL = 1_000
"""A part that lacks fewer characters is no reason to refuse a file of which enough was read in all."""


class Extent(NamedTuple):
    """How many characters of text a part of a file holds, and how many of them were read or left out on purpose."""

    part: str
    held: int
    read: int

    @property
    def missing(self) -> int:
        """How many were not read."""
        return max(0, self.held - self.read)

    @property
    def is_short(self) -> bool:
        """Whether some of it was not read."""
        return self.missing > min(_UNNOTICED, _OF_ALL * self.held)

    @property
    def share(self) -> float:
        """Which share was read."""
        return 1 - self.missing / max(1, self.held)

    @property
    def percent(self) -> str:
        """The share, which is never rounded up to all of it."""
        return f"{min(int(100 * self.share), 99 if self.missing else 100)} %"

    def __str__(self) -> str:
        return f"of {self.held:,} characters in {self.part}, {self.held - self.missing:,} were read ({self.percent})"


def missing(parts: Sequence[Extent]) -> tuple[str, ...]:
    """What is missing of each part, in sentences."""
    return tuple(str(one) for one in parts if one.is_short)


def check(parts: Sequence[Extent], name: str) -> None:
    """Refuse a file of which too little was read, as a whole or in a part of any size."""
    held = sum(one.held for one in parts)
    whole = Extent(name, held, held - sum(one.missing for one in parts))
    lacking = [one for one in parts if one.is_short and one.share < LEAST_SHARE]
    if not whole.is_short or (whole.share >= LEAST_SHARE and all(one.missing < _SMALL for one in lacking)):
        return
    worst = max(parts, key=lambda one: one.missing)
    more = f"; in all {whole.percent} of the file" if len(parts) > 1 else ""
    raise DocumentError(
        f"it is damaged: {worst}{more}",
        place=name,
        hint="get the file once more, or save it again with the program that made it; --partial reads what there is",
    )
