"""Adding items up: what the tables of an experiment have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from redraft.domain import Perspective
from redraft.experiments.hamlet.records import Item, Measured, Share
from redraft.packs.keyfacts import ALL, LEVELS, bin_of
from redraft.reports.tables import Cell

WHOLE = "whole"
MODELS_MEAN = "mean of models"
ALL_MODELS = "all models"
FIFTHS = tuple(bin_of((n + 0.5) / 5) for n in range(5))
LEVEL_COLUMNS = (*LEVELS, WHOLE)
LEVEL_KEYS = (*LEVELS, ALL)
COUNTS = ("items", "of", "failed", "unjudged")
"""The columns that say what a row rests on: items that were scored, of how many, and verdicts that were not given."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Some items, seen through one metric."""

    items: Sequence[Item]
    metric: Literal["recall", "faithfulness"]

    @property
    def measured(self) -> list[Measured]:
        """What the metric says, where it says something."""
        found = (item.recall if self.metric == "recall" else item.faithfulness for item in self.items)
        return [one for one in found if one is not None and one.score is not None]

    @property
    def unjudged(self) -> int:
        """How many verdicts were not given."""
        return sum(one.unjudged for one in self.measured)

    @property
    def failed(self) -> int:
        """How many items have failed."""
        return sum(item.failure is not None for item in self.items)

    @property
    def counts(self) -> tuple[Cell, ...]:
        """The cells of the columns `COUNTS`."""
        return (len(self.measured), len(self.items), self.failed, self.unjudged)

    def share(self, level: str) -> Share:
        """Equation 1 or 2 over all the facts, or the sentences, of these items together."""
        shares = [one.levels[level] for one in self.measured if level in one.levels]
        return Share(sum(share.part for share in shares), sum(share.whole for share in shares))

    def values(self, levels: Iterable[str]) -> list[float | None]:
        """The shares by level."""
        return [self.share(level).value for level in levels]

    def of(
        self, *, model: str | None = None, perspective: Perspective | None = None, fifth: str | None = None
    ) -> Tally:
        """Those of one model, of one perspective, of one fifth of the documents."""
        chosen = [
            item
            for item in self.items
            if model in (None, item.model) and perspective in (None, item.perspective) and fifth in (None, item.bin)
        ]
        return Tally(chosen, self.metric)

    @property
    def models(self) -> list[str]:
        """The models, in the order in which they were named."""
        return list(dict.fromkeys(item.model for item in self.items))

    @property
    def perspectives(self) -> list[Perspective]:
        """The perspectives that there are."""
        return sorted({item.perspective for item in self.items})

    @property
    def basis(self) -> str:
        """What a table rests on, in a sentence or two."""
        scored, asked = len(self.measured), len(self.items)
        silent = sum(item.failure is None for item in self.items) - scored
        verdicts = self.share(ALL).whole + self.unjudged
        left = f", {silent} without a score" if silent > 0 else ""
        return (
            f"Rests on {scored} of {asked} item{'s' * (asked != 1)}; {self.failed} failed{left};"
            f" {self.unjudged} of {verdicts} verdicts were not given."
        )
