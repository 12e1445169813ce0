"""All that the built-in judge finds in a summary, sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from redraft.builtin.coherence.contradictions import contradictions
from redraft.builtin.coherence.faults import Fault, faults
from redraft.builtin.coherence.reading import Line, read
from redraft.builtin.coherence.repeats import Repeat, repeats
from redraft.builtin.coherence.signs import Signed, signs_of
from redraft.builtin.coherence.weighing import THRESHOLD, Part, chances

# So many aims, riddles and blows in one sentence are more than it can explain.
_TOO_MUCH_AT_STAKE = 4


class Analysed(NamedTuple):
    """A sentence of a summary, and what speaks for its being confusing."""

    line: Line
    signed: Signed
    repeat: Repeat
    faults: tuple[Fault, ...]
    contradicts: int | None
    """The sentence before it that says the opposite."""
    chances: Mapping[Part, float]

    @property
    def score(self) -> float:
        """How likely it is that a reader is confused: more than one where something is wrong beyond doubt."""
        return sum(self.chances.values()) + self.is_certain

    @property
    def is_certain(self) -> bool:
        """Whether something is wrong beyond doubt."""
        return self.repeat.twin is not None or self.contradicts is not None or bool(self.faults)

    @property
    def confuses(self) -> bool:
        """The verdict. A reader always asks who somebody is that is named without a word on it, or why so much happens.

        Of two sentences that repeat each other, only the later can be spared.
        """
        first = self.repeat.is_first and not self.is_certain
        score = self.score - self.chances["repetition"] * first
        signs = self.signed.signs
        return score >= THRESHOLD or signs["bare"] > 0 or signs["stakes"] >= _TOO_MUCH_AT_STAKE


@lru_cache(maxsize=8)
def analyse(summary: str, *, is_part: bool = False) -> tuple[Analysed, ...]:
    """Every sentence that has words, of a summary or of a part from its middle.

    It is kept, as a summary is asked about in many small parts.
    """
    lines = read(summary)
    repeated = repeats(lines)
    signed = signs_of(lines, repeated)
    told = zip(lines, signed, repeated, faults(lines, is_part=is_part), contradictions(lines), strict=True)
    return tuple(
        # What turns a sentence into its opposite repeats it in nearly all its words.
        Analysed(
            line,
            signs,
            repeat._replace(twin=None) if against is not None else repeat,
            wrong,
            against,
            chances(signs.signs),
        )
        for line, signs, repeat, wrong, against in told
    )
