"""The tables on a server, made by the same steps as those in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from redraft.errors import StoreError
from redraft.store.connection import Raw
from redraft.store.postgres.connection import PostgresConnection
from redraft.store.postgres.server import SCHEMA
from redraft.store.schema import STEPS, refuse_others

_RECORD = "redraft_steps"
# SQLite has these.
_FUNCTIONS = (
    """
    CREATE OR REPLACE FUNCTION json_each(given text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT AS $$
        SELECT value FROM pg_catalog.json_array_elements_text(
            CASE json_typeof(given::json) WHEN 'array' THEN given::json ELSE '[]' END)
        UNION ALL SELECT value FROM pg_catalog.json_each_text(
            CASE json_typeof(given::json) WHEN 'object' THEN given::json ELSE '{}' END)
    $$
    """,
    """
    CREATE OR REPLACE FUNCTION json_array_length(given text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT pg_catalog.json_array_length(given::json) $$
    """,
    """
    CREATE OR REPLACE FUNCTION json_extract(given text, path text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT given::json ->> substr(path, 3) $$
    """,
    """
    CREATE OR REPLACE FUNCTION instr(given text, part text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT strpos(given, part) $$
    """,
    """
    CREATE OR REPLACE FUNCTION max(one bigint, other bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT greatest(one, other) $$
    """,
)
_NUMBER = "bigint GENERATED ALWAYS AS IDENTITY"
_WORDS = (
    (r"INTEGER PRIMARY KEY", f"{_NUMBER} PRIMARY KEY"),
    (r"\bINTEGER\b", "bigint"),
    (r"\bREAL\b", "double precision"),
    (r"\bBLOB\b", "bytea"),
    # As SQLite orders texts: by their characters, whatever the language of the server is.
    (r"\bTEXT\b", 'text COLLATE "C"'),
    (r" COLLATE NOCASE", ""),
    (r"(\w+)\(batch, file\)", r"\1(batch, lower(file))"),
    (r"(REFERENCES \w+\([\w, ]+\)(?: ON DELETE CASCADE)?)", r"\1 DEFERRABLE"),
    (r"\)\s+STRICT, WITHOUT ROWID$", ")"),
    (r"\)\s+STRICT$", f", rowid {_NUMBER})"),
)
_TRIGGER = re.compile(r"CREATE TRIGGER (?P<name>\w+) (?P<when>AFTER .+? ON \w+) BEGIN\s(?P<done>.*)\sEND", re.DOTALL)
_COMMENT = re.compile(r"[ \t]*--.*")
_OF_DRAFTS = " REFERENCES drafts(id)"


def migrate_server(connection: PostgresConnection, *, may_make: bool) -> bool:
    """Bring a database up to date; returns whether there is one."""
    there = connection.row("SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = ?", (SCHEMA, _RECORD))
    if there is None and not may_make:
        return False
    applied = _applied(connection) if there else []
    refuse_others(applied, connection.place)
    if len(applied) < len(STEPS):
        # Two processes may open a new database at once: the second finds nothing left to do.
        with connection.writing() as raw:
            _require_ours(connection)
            known = set(_applied(connection))
            for name in STEPS:
                if name not in known:
                    _apply(raw, name)
    return True


def _apply(raw: Raw, name: str) -> None:
    def execute(statement: str) -> None:
        for translated in on_a_server(statement):
            raw.execute(translated)

    STEPS[name](execute)
    raw.execute(f"INSERT INTO {_RECORD} (name) VALUES (?)", (name,))  # noqa: S608


def on_a_server(statement: str) -> Iterator[str]:
    """A statement of a step as Postgres reads it; one that makes or changes no table is read by `dialect`."""
    made = _COMMENT.sub("", statement)
    if not made.startswith(("CREATE", "ALTER", "DROP")):
        yield made
    elif trigger := _TRIGGER.fullmatch(made):
        yield from _triggered(**trigger.groupdict())
    else:
        # Runs and drafts name each other, and one of them comes first.
        if made.startswith("CREATE TABLE runs"):
            made = made.replace(_OF_DRAFTS, "")
        for there, here in _WORDS:
            made = re.sub(there, here, made)
        yield made
        if made.startswith("CREATE TABLE drafts"):
            yield f"ALTER TABLE runs ADD FOREIGN KEY (draft){_OF_DRAFTS} DEFERRABLE"


def _triggered(name: str, when: str, done: str) -> Iterator[str]:
    """What a trigger does is a function there."""
    yield f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {done} RETURN NULL; END $$"
    yield f"CREATE TRIGGER {name} {when} FOR EACH ROW EXECUTE FUNCTION {name}()"


def _applied(connection: PostgresConnection) -> list[str]:
    return [row["name"] for row in connection.rows(f"SELECT name FROM {_RECORD} ORDER BY name")]  # noqa: S608


def _require_ours(connection: PostgresConnection) -> None:
    """Our tables come into being together with the record of it, so a schema without it is somebody else's."""
    with connection.writing() as raw:
        tables = connection.rows("SELECT tablename FROM pg_tables WHERE schemaname = ?", (SCHEMA,))
        names = {row["tablename"] for row in tables}
        if names and _RECORD not in names:
            raise StoreError(
                f"the schema {SCHEMA} is another program's (it has a table {min(names)})",
                place=connection.place,
                hint="name another database with --db",
            )
        if not connection.row("SELECT 1 FROM pg_namespace WHERE nspname = ?", (SCHEMA,)):
            raw.execute(f"CREATE SCHEMA {SCHEMA}")
        for statement in _FUNCTIONS:
            raw.execute(statement)
        raw.execute(f"CREATE TABLE IF NOT EXISTS {_RECORD} (name text PRIMARY KEY)")
