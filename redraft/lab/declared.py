"""What the lab declares as data: the words of its tables, the formats of annotations, and the kinds of sheets; and the
packages that it needs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from redraft.plugins import require
from redraft.report.tables import Cell, Table

Row = tuple[Cell, ...]


def require_lab(what: str) -> None:
    """Raise if a package of the extra is not installed, saying how to install it."""
    require(what, "lab", "matplotlib", "pandas", "scipy", "sklearn")


@cache
def declared(name: str) -> dict[str, Any]:
    """Return the content of a file of declarations: tables, formats or sheets."""
    return tomllib.loads(resources.files("redraft.lab").joinpath(f"{name}.toml").read_text("utf-8"))


def make_table(
    part: str,
    name: str,
    basis: str,
    rows: Iterable[Row | Mapping[str, Cell]],
    *,
    columns: Sequence[str] = (),
    more: Sequence[str] = (),
    **words: Any,
) -> Table:
    """Return a table of a part of `tables.toml`, an experiment or `agree`, with these words filled in.

    It has the declared columns unless `columns` names its own, and `more` columns behind these. A row is its cells in
    order, or by column.
    """
    tables = declared("tables")
    # Tables that every experiment has are in a part of their own.
    entry = tables.get(part, {}).get(name) or tables["every"][name]
    caption = words.get("caption") or entry["caption"]
    names = [*(columns or [column.format(**words) for column in entry.get("columns", ())]), *more]
    cells = (tuple(map(row.get, names)) if isinstance(row, Mapping) else row for row in rows)
    title, text = entry["title"].format(**words), caption.format(**words).strip()
    return Table(entry.get("name", name), title, text, basis, tuple(names), tuple(cells))
