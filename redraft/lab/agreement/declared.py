"""What the package declares in files of data: formats, tables, and kinds of sheets."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from redraft.report.tables import Cell, Table

Row = tuple[Cell, ...]


@cache
def declared(name: str) -> dict[str, Any]:
    """Return the content of one of the files."""
    return tomllib.loads(resources.files("redraft.lab.agreement").joinpath(f"{name}.toml").read_text("utf-8"))


def make_table(name: str, basis: str, rows: Iterable[Row], more: Sequence[str] = (), **words: Any) -> Table:
    """Return a table of `tables.toml` with `more` columns behind its own, and with these words filled in."""
    entry = declared("tables")[name]
    caption = words.get("caption") or entry["caption"]
    return Table(
        entry.get("name", name),
        entry["title"].format(**words),
        caption.format(**words).strip(),
        basis,
        (*(column.format(**words) for column in entry["columns"]), *more),
        tuple(rows),
    )
