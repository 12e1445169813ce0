"""Results in notebooks: as data frames, and as Markdown in which the texts of documents and models are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from redraft.errors import UsageError
from redraft.report.tables import figure, unmarked

_PANDAS: Mapping[type, str] = {str: "object", float: "float64", int: "Int64", bool: "boolean"}
_LONGEST = 20_000


def data_frame(columns: Mapping[str, type], rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return the rows as a data frame of pandas, or else of polars, with typed columns also where there are no rows.
    Raises `UsageError` if neither is installed."""
    known = list(rows)
    values = {name: [row.get(name) for row in known] for name in columns}
    if find_spec("pandas"):
        pandas = import_module("pandas")
        return pandas.DataFrame(
            {name: pandas.Series(values[name], dtype=_PANDAS[kind]) for name, kind in columns.items()}
        )
    if find_spec("polars"):
        return import_module("polars").DataFrame(values, schema=dict(columns))
    raise UsageError("a data frame needs pandas or polars, and neither is installed", hint="pip install pandas")


def markdown_rows(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    shown = [[_cell(row.get(name)) for name in columns] for row in rows]
    lines = [[name.replace("_", " ") for name in columns], ["---"] * len(columns), *shown]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return escaped(value) if isinstance(value, str) else figure(value if isinstance(value, int | float) else None)


def escaped(text: str) -> str:
    """Return untrusted text as one line of Markdown that notebooks show as it is: no HTML, links or formulas."""
    return unmarked(text[:_LONGEST]).replace("$", "\\$").replace("&", "&amp;")
