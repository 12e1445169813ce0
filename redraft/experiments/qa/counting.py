"""Adding questions up: what the tables of the experiment have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from redraft.experiments.pooled import interval_of_share
from redraft.experiments.qa.records import Item
from redraft.reports.tables import Cell, mean

ALL = "all"
_MOST_LENGTHS = 13
_DIGITS = 6
COUNTS = ("accuracy", "95% from", "95% to", "right", "judged", "unjudged", "no answer", "of", "similarity")
"""The columns of an accuracy, and of what it rests on."""


class Length(NamedTuple):
    """About so many tokens that were read, and the steps that read them, each of a document."""

    tokens: int
    steps: frozenset[tuple[str, int]]


def lengths(read: Mapping[tuple[str, int], int]) -> list[Length]:
    """The steps of documents by how many tokens each reads. A short document has other steps than a long one: what lies
    nearest to each other is put together until there are as few lengths as the thesis has steps."""
    groups = [[step for step, own in read.items() if own == tokens] for tokens in sorted({*read.values()})]
    while len(groups) > _MOST_LENGTHS:
        spans = [read[after[-1]] - read[before[0]] for before, after in pairwise(groups)]
        at = spans.index(min(spans))
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return [Length(round(fmean(read[step] for step in group)), frozenset(group)) for group in groups]


@dataclass(frozen=True, slots=True)
class Tally:
    """Some questions, as they were put to models."""

    items: Sequence[Item]

    @property
    def models(self) -> list[str]:
        """The models, in the order in which they were named."""
        return list(dict.fromkeys(item.model for item in self.items))

    @property
    def lengths(self) -> list[Length]:
        """How much was read."""
        return lengths({(item.document, item.step): item.tokens for item in self.items})

    def only(
        self,
        *,
        model: str = ALL,
        of_type: str = ALL,
        third: str = ALL,
        third_read: str = ALL,
        length: Length | None = None,
    ) -> Tally:
        """Those of one model, type, third of the text asked about, third of what was read, length of that."""
        return Tally(
            [
                item
                for item in self.items
                if model in (ALL, item.model)
                and of_type in (ALL, item.question.type)
                and third in (ALL, item.third)
                and third_read in (ALL, item.third_read)
                and (length is None or (item.document, item.step) in length.steps)
            ]
        )

    @property
    def read(self) -> Tally:
        """Those whose paragraph was read: they alone say how well a model answers."""
        return Tally([item for item in self.items if item.place == "read"])

    @property
    def counts(self) -> tuple[Cell, ...]:
        """The cells of the columns `COUNTS`."""
        known = [item.correct for item in self.items if item.correct is not None]
        silent = sum(item.response is None for item in self.items)
        spread = interval_of_share(self._by_question())
        return (
            mean([float(one) for one in known]),
            round(spread.low, _DIGITS) if spread else None,
            round(spread.high, _DIGITS) if spread else None,
            sum(known),
            len(known),
            len(self.items) - len(known) - silent,
            silent,
            len(self.items),
            mean([item.similarity for item in self.items]),
        )

    def _by_question(self) -> list[tuple[float, float]]:
        """Of each question how often it was done right by, and of how often that is known: a question that many steps
        have read counts as often as in the accuracy itself."""
        found: dict[tuple[str, int], list[bool]] = {}
        for item in self.items:
            if item.correct is not None:
                found.setdefault(item.name, []).append(item.correct)
        return [(sum(one), len(one)) for one in found.values()]

    @property
    def basis(self) -> str:
        """What a table rests on, in a sentence or two."""
        read = self.read
        right, unjudged, silent, cut = (
            len(read.items),
            sum(one.correct is None and one.response is not None for one in read.items),
            sum(one.response is None for one in self.items),
            sum(one.place == "cut" for one in self.items),
        )
        return (
            f"Rests on {right} of {len(self.items)} questions put, those whose paragraph was read; of these"
            f" {unjudged} are unjudged. Of all, {silent} have no answer, and {cut} were left out because a step ends"
            " within their paragraph."
        )
