"""Tables that are declared by a function which yields their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar, TypeVarTuple

from redraft.domain import Totals
from redraft.lab.experiments.experiment import AGAIN
from redraft.report.tables import Cell, Table

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Row = tuple[Cell, ...]
_SPENT = ("calls", "cached", "prompt_tokens", "completion_tokens")


def table(
    name: str,
    title: str | Callable[[*Ts], str],
    caption: str | Callable[[*Ts], str],
    columns: Sequence[str] | Callable[[*Ts], Sequence[str]],
    basis: Callable[[*Ts], str],
) -> Callable[[Callable[[*Ts], Iterable[Row]]], Callable[[*Ts], Table]]:
    """Declare a table by a function that yields its rows. Title, caption and columns may depend on its arguments."""

    def declare(yield_rows: Callable[[*Ts], Iterable[Row]]) -> Callable[[*Ts], Table]:
        @wraps(yield_rows)
        def make(*args: *Ts) -> Table:
            heading, explanation = (text if isinstance(text, str) else text(*args) for text in (title, caption))
            names = columns(*args) if callable(columns) else columns
            rows = tuple(yield_rows(*args))
            explanation = explanation if rows else explanation.replace(AGAIN, "Nothing failed.")
            return Table(name, heading, explanation, basis(*args), tuple(names), rows)

        return make

    return declare


def sum_fields(some: Iterable[Totals | None], names: Sequence[str] = _SPENT) -> Row:
    """Return the sums of some fields and of the price; the price is None if any price is unknown."""
    known = [totals for totals in some if totals is not None]
    prices = [totals.cost_usd for totals in known]
    price = None if None in prices else sum(filter(None, prices), 0.0)
    return (*(sum(getattr(totals, name) for totals in known) for name in names), price)


def group_by(items: Iterable[T], *names: str) -> dict[Any, list[T]]:
    """Return the items grouped by the value of one or several attributes, in order of first occurrence."""
    groups: dict[Any, list[T]] = {}
    key = attrgetter(*names)
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
