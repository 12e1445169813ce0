"""The steps of the schema. The first makes all tables; a change is one more function, below the others, in `STEPS`.

A step that others have applied is never changed.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from importlib import resources

from redraft.errors import StoreError

Execute = Callable[[str], object]
"""Executes a statement in SQLite's dialect on whichever database it is."""
_OLD = re.compile(r"m\d{3}_")
_LEADING_COMMENTS = re.compile(r"^(?:--.*)?\n", re.MULTILINE)


def baseline(execute: Execute) -> None:
    """Make all tables."""
    for statement in statements(resources.files("redraft.store").joinpath("schema.sql").read_text("utf-8")):
        execute(statement)


STEPS: dict[str, Callable[[Execute], None]] = {"001_baseline": baseline}
"""The steps in their order, by the names under which a database has them on record."""


def statements(script: str) -> Iterator[str]:
    """The statements of a script, without the comments between them."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield _LEADING_COMMENTS.sub("", statement).strip().removesuffix(";")
            statement = ""


def refuse_others(applied: Sequence[str], place: str) -> None:
    """Refuse a database with steps of which nothing is known here: that of a newer redraft, or of an old one."""
    unknown = [name for name in applied if name not in STEPS]
    if any(_OLD.match(name) for name in unknown):
        raise StoreError(
            "the database was written by a redraft from before 26 November 2026, which only such a one reads",
            place=place,
            hint="with that redraft `redraft export RUN -o run.html` writes a run to a file, and `redraft pack export"
            " BOOK -o book.pack.json` the questions about a document, which `redraft pack import` reads here;"
            " name another database with --db",
        )
    if unknown:
        raise StoreError(
            f"the database was written by a newer redraft (it has {unknown[-1]})",
            place=place,
            hint="upgrade redraft, or name another database with --db",
        )
