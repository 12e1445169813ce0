"""Items made by hand, for tables whose numbers are worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from redraft.domain import Evidence, KeyFact, Perspective, Span, Tree
from redraft.evaluators.reference.keyfacts import share
from redraft.lab.experiments.frames import as_table
from redraft.lab.experiments.hamlet import HamletItem, HamletScore, Pooled
from redraft.lab.experiments.published import draw_pictures
from redraft.runs.experiment_runner import Failure

Pair = tuple[int, int]
LOST = Failure("drafting", "rejected", "the provider refused")


def recall(root: Pair, branch: Pair, leaf: Pair, unjudged: int = 0) -> HamletScore:
    """So many of so many facts of each level are stated."""
    parts, wholes = zip(root, branch, leaf, strict=True)
    part, whole = sum(parts), sum(wholes)
    levels: dict[str, Pooled] = {"root": root, "branch": branch, "leaf": leaf, "all": (part, whole)}
    return HamletScore("scored", share(part, whole), levels, unjudged)


def faithful(every: Pair, errors: Mapping[str, int] | None = None, unjudged: int = 0, **levels: Pair) -> HamletScore:
    """So many of so many sentences are borne out, in all and of each level."""
    return HamletScore("scored", share(*every), {**levels, "all": every}, unjudged, errors or {})


def item(model: str = "a", position: float = 0.1, perspective: Perspective = "analytical", **came: Any) -> HamletItem:
    """An item of which came what is given."""
    fact = KeyFact(1, "root", None, "A fact.", Evidence(""))
    tree = Tree(int(position * 10), perspective, Span(0, 1), position, (fact,), "Why?")
    return HamletItem("d", "A Book", tree, model, **came)


def rows(table: Any, *names: str, **criteria: Any) -> list[tuple[Any, ...]]:
    """The columns `names` of the rows of a table or frame that have what is wanted in their other columns."""
    if isinstance(table, pd.DataFrame):
        table = as_table("every", "cost", table, "")
    return [tuple(record[name] for name in names) for record in table.records if criteria.items() <= record.items()]


def drawn(experiment: str, **frames: Any) -> dict[str, Any]:
    """The charts of the tables of these names, made from frames."""
    return draw_pictures(
        experiment, [as_table(experiment, name, frame, "", measure="m") for name, frame in frames.items()]
    )
