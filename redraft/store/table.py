"""Records as rows of tables: columns for what is searched, and the rest as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from redraft.domain import adapter_of, content_id
from redraft.store.connection import Connection, Row, Transaction, storable

T = TypeVar("T")
IN_LIST = "IN (SELECT value FROM json_each(?))"
"""The condition that a value is in a list, which is passed as `in_list(...)`."""


def in_list(values: Iterable[object]) -> str:
    """Return a list as one value of a statement."""
    return json.dumps(list(values))


def now() -> str:
    """Return the current time as the tables store it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def ordered(number: int) -> str:
    """Return a number as a key that sorts as the number does."""
    return f"{number:06d}"


def json_text(value: object) -> str:
    """Return a value as readable JSON."""

    def plain(record: Any) -> dict[str, Any]:
        return asdict(record) if is_dataclass(record) and not isinstance(record, type) else dict(record)

    return storable(json.dumps(value, ensure_ascii=False, default=plain))


def body_of(record: object, *columns: str) -> str:
    """Return a record as the JSON that is stored, without the fields in `columns`."""
    # As Python values first: pydantic's own JSON rejects lone surrogates, and rounds numbers as they are shown.
    values = adapter_of(type(record)).dump_python(record, by_alias=True, exclude=set(columns), warnings=False)
    return json_text(values)


def record_in(kind: type[T], row: Row, *columns: str, **values: object) -> T:
    """Return the record in a row: what its body says, with the fields in `columns` and `values`."""
    if not columns and not values:
        return cast("T", adapter_of(kind).validate_json(row["body"]))
    fields = json.loads(row["body"]) | {name: row[name] for name in columns} | values
    return cast("T", adapter_of(kind).validate_python(fields, by_name=True, by_alias=True))


def put_text(raw: Transaction, text: str) -> str:
    """Store a text within a write transaction; return its id."""
    key = content_id(text)
    raw.execute("INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING", (key, storable(text)))
    return key


def insert_row(raw: Transaction, table: str, row: Mapping[str, object], ending: str = "") -> Any:
    """Insert a row. `ending` is the end of the statement, such as what to do on a conflict; return the cursor."""
    statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))}) {ending}"  # noqa: S608
    return raw.execute(statement, tuple(map(storable, row.values())))


def change_rows(raw: Transaction, table: str, changes: Mapping[str, object], **where: object) -> int:
    """Change columns of the rows in which others have these values; return how many there were."""
    assignments, terms = (f"{name} = ?" for name in changes), (f"{name} = ?" for name in where)
    statement = f"UPDATE {table} SET {', '.join(assignments)} WHERE {' AND '.join(terms)}"  # noqa: S608
    return int(raw.execute(statement, tuple(map(storable, (*changes.values(), *where.values())))).rowcount)


class RecordTable(Generic[T]):
    """The records of one kind in a table of a database."""

    def __init__(
        self,
        connection: Connection,
        name: str,
        record: type[T],
        key: tuple[str, ...],
        kind: str = "",
        *,
        columns: tuple[str, ...] = (),
        row: Callable[[T], dict[str, Any]] = lambda _: {},
        fields: Callable[[Row], dict[str, Any]] = lambda _: {},
        has_text: bool = False,
        order: str = "",
    ) -> None:
        """`key` are the columns that identify a row, and `kind` the value of that column in a table of several kinds.

        The fields in `columns` have a column of the same name and are not in the body. `row` returns the other columns
        of a record, and `fields` the values that a row tells better than its body. With `has_text`, its `text` is
        stored among the texts, and the column `text` has its id. `order` is SQL, the last column of the key by default.
        """
        self._order = order or key[-1]
        self._connection, self._name, self._key, self._kind = connection, name, key, kind
        self._record, self._columns, self._row, self._fields, self._has_text = record, columns, row, fields, has_text
        self._outside = (*columns, *(("text",) if has_text else ()))
        texted = f"SELECT r.*, t.text AS content FROM {name} r JOIN texts t ON t.id = r.text"  # noqa: S608
        self._select = texted if has_text else f"SELECT r.* FROM {name} r"  # noqa: S608

    def put(self, *records: T, keep: bool = False, new: Mapping[str, object] | None = None, **columns: object) -> None:
        """Store records, all or none. One with the key of another replaces it; with `keep` the stored one stays.

        `columns` are those that a record does not tell, such as its run; those in `new` are set once and stay.
        """
        with self._connection.writing() as raw:
            for record in records:
                row = {name: getattr(record, name) for name in self._columns} | self._row(record) | columns
                row |= {"kind": self._kind} if self._kind else {}
                if self._has_text:
                    row["text"] = put_text(raw, attrgetter("text")(record))
                row["body"] = body_of(record, *self._outside)
                fixed = {*self._key, *(new or ())}
                row |= new or {}
                changed = ", ".join(f"{name} = excluded.{name}" for name in row if name not in fixed)
                conflict = "DO NOTHING" if keep else f"({', '.join(self._key)}) DO UPDATE SET {changed}"
                insert_row(raw, self._name, row, f"ON CONFLICT {conflict}")

    def rows(self, order: str = "", /, **where: object) -> list[Row]:
        """Return the rows whose columns have these values, or one of those in a list. Another `order` than that of the
        table is SQL, and may end with a limit."""
        condition, values = self._condition(where)
        return self._connection.rows(f"{self._select} {condition} ORDER BY {order or self._order}", values)

    def find(self, order: str = "", /, **where: object) -> list[T]:
        """Return the records in these rows."""
        return [self.read(row) for row in self.rows(order, **where)]

    def first(self, order: str = "", /, **where: object) -> T | None:
        """Return the first of these records."""
        rows = self.rows(f"{order or self._order} LIMIT 1", **where)
        return self.read(rows[0]) if rows else None

    def by(self, field: str, /, **where: object) -> dict[Any, T]:
        """Return the records in these rows by one of their fields."""
        return {getattr(record, field): record for record in self.find(**where)}

    def of(self, run: str) -> list[T]:
        """Return the records of a run."""
        return self.find(run=run)

    def read(self, row: Row) -> T:
        """Return the record in a row."""
        text = {"text": row["content"]} if self._has_text else {}
        return record_in(self._record, row, *self._columns, **text, **self._fields(row))

    def cut(self, run: str, first: str, end: str = ":") -> list[str]:
        """Delete the records of a run with keys from `first` to before `end`, by default to the last number; return
        their keys."""
        statement = f"DELETE FROM {self._name} WHERE run = ? AND kind = ? AND key >= ? AND key < ? RETURNING key"  # noqa: S608
        with self._connection.writing() as raw:
            return [row["key"] for row in raw.execute(statement, (run, self._kind, first, end)).fetchall()]

    def delete(self, **where: object) -> None:
        """Delete the rows whose columns have these values."""
        condition, values = self._condition(where)
        self._connection.write(f"DELETE FROM {self._name} AS r {condition}", values)  # noqa: S608

    def _condition(self, where: Mapping[str, object]) -> tuple[str, tuple[object, ...]]:
        where = {**where, "kind": self._kind} if self._kind else where
        terms = (f"r.{name} {IN_LIST if isinstance(value, list) else '= ?'}" for name, value in where.items())
        values = (in_list(value) if isinstance(value, list) else storable(value) for value in where.values())
        return f"WHERE {' AND '.join(terms)}" if where else "", tuple(values)


def run_records(connection: Connection, kind: str, record: type[T], **options: Any) -> RecordTable[T]:
    """Return what runs record of one kind, each under a key, which `row` returns."""
    return RecordTable(connection, "records", record, ("run", "kind", "key"), kind, **options)


@dataclass(eq=False)
class Cache:
    """What can be computed again, of one kind: texts by key. Nothing is stored in a read-only database."""

    _connection: Connection
    _kind: str

    def find(self, keys: Sequence[str]) -> dict[str, str]:
        """Return what is stored under these keys."""
        query = f"SELECT key, body FROM cache WHERE kind = ? AND key {IN_LIST}"  # noqa: S608
        rows = self._connection.rows(query, (self._kind, in_list(keys)))
        return {row["key"]: row["body"] for row in rows}

    def put(self, bodies: Mapping[str, str], owner: str = "", *, keep: bool = False) -> None:
        """Store texts by key, all or none, until their owner, a document or text, is deleted; with `keep` the stored
        ones stay."""
        if self._connection.only_read:
            return
        conflict = "DO NOTHING" if keep else "(kind, key) DO UPDATE SET body = excluded.body"
        with self._connection.writing() as raw:
            raw.executemany(
                f"INSERT INTO cache (kind, key, owner, body) VALUES (?, ?, ?, ?) ON CONFLICT {conflict}",  # noqa: S608
                [(self._kind, key, owner, storable(body)) for key, body in bodies.items()],
            )

    def extend(self, bodies: Mapping[str, str], owner: str = "") -> None:
        """Store JSON objects of lists by key, all or none: what is stored under a key keeps its entries, and gets those
        that it lacks."""
        with self._connection.writing():
            extended = {key: json.loads(body) for key, body in self.find(list(bodies)).items()}
            for key, body in bodies.items():
                lists = extended.setdefault(key, {})
                for name, entries in json.loads(body).items():
                    by_text = {json.dumps(entry, sort_keys=True): entry for entry in [*lists.get(name, ()), *entries]}
                    lists[name] = list(by_text.values())
            self.put({key: json_text(lists) for key, lists in extended.items()}, owner)
