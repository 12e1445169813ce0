"""Who says that the document has it where citations and footnotes say: a judge, or the words that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.history.lineage import By

_PAIR = 2


def basis(by: Mapping[int, By], what: str) -> str:
    """Who says so of citations or footnotes, by their numbers, in a sentence; empty where there are none."""
    judged, matched = ([number for number, its in sorted(by.items()) if its == who] for who in ("judge", "words"))
    if not judged or not matched:
        how = (
            "are quotes by which a judge confirmed the sentence"
            if judged
            else "were matched by wording, not by a judge"
        )
        return f"All {what}s {how}." if by else ""
    one, other = (
        f"{what} {_numbered(judged)} is a quote" if len(judged) == 1 else f"{what}s {_numbered(judged)} are quotes",
        f"{_numbered(matched)} {'was' if len(matched) == 1 else 'were'} matched by wording",
    )
    return f"{one[:1].upper()}{one[1:]} by which a judge confirmed the sentence; {other}."


def _numbered(numbers: Sequence[int]) -> str:
    """Numbers in few letters: 1 to 4, 6 and 9."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [part for one in runs for part in ([f"{one[0]} to {one[-1]}"] if len(one) > _PAIR else map(str, one))]
    return f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
