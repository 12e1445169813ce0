"""The queue of a batch in the store: its documents, which workers lease."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Annotated, Any, Literal

from pydantic import Field

from redraft.errors import RunCommand, RunError, Set, UsageError
from redraft.events import ItemCounts
from redraft.store.connection import Row, Transaction, storable
from redraft.store.store import Store
from redraft.store.table import IN_LIST, RecordTable, change_rows, in_list, insert_row, json_text, now

Status = Literal["open", "paused", "cancelled", "stopped"]
"""Workers take items of `open` batches. A `stopped` batch met a problem that affects every item, such as a used-up
budget."""
Stage = Literal["done", "paused", "cancelled", "stopped", "working", "idle"]
"""An open batch is `working` if a worker is active, otherwise `idle`."""
State = Literal["waiting", "leased", "done", "failed", "aside"]
"""An item is set `aside` when several workers have died while processing it."""
Error = Mapping[str, Any]
MAX_CRASHES = 3
LEASE_SECONDS = 60.0
_PAGE = 500
_TAKE = """
    UPDATE items SET state = 'leased', worker = :worker, until = :until, attempts = attempts + 1
    WHERE batch = :batch AND idx = :idx RETURNING *
"""
_NEXT = """
    SELECT idx, deaths FROM items WHERE batch = ? AND state = 'waiting' AND deaths <= ?
    ORDER BY priority DESC, attempts, idx LIMIT ?
"""
_TRY_AGAIN = """
    UPDATE items SET state = 'waiting', error = NULL, deaths = 0 WHERE batch = ? AND state IN ('failed', 'aside')
"""
_OPEN = """
    SELECT 1 FROM batches WHERE name = ? AND status = 'open'
    AND EXISTS (SELECT 1 FROM items WHERE batch = name AND state IN ('waiting', 'leased'))
"""
_WAITING = "SELECT 1 FROM items WHERE batch = ? AND state = 'waiting' LIMIT 1"
# In the order of an index; otherwise SQLite would scan all items of the batch, however few are leased.
_LEASED = """
    SELECT * FROM items WHERE batch = ? AND state = 'leased' AND {} ORDER BY priority DESC, attempts, idx
"""
_LEASED_BY = _LEASED.format("worker = ?")
_RUN_OUT = _LEASED.format("until < ?")
_ANSWERS = "SELECT count(*) AS n FROM calls WHERE run = ? AND outcome = 'ok'"


@dataclass(frozen=True, slots=True)
class Batch:
    """A stored batch. `asked` holds the settings of its items as JSON."""

    name: Annotated[str, Field(alias="batch")]
    asked: Mapping[str, Any]
    limits: Mapping[str, Any]
    folder: str | None = ""
    """The folder for its summaries, if it has one."""
    status: Status | Stage = "open"
    error: Error | None = None
    """The `code`, `message` and `hint` of an error that affects every document."""
    created: str = ""


@dataclass(frozen=True, slots=True)
class BatchDocument:
    """A document of a batch: its source, or its title if the store has its text; and its state, once it was added."""

    source: str
    state: State = field(default="waiting", kw_only=True)
    run: str | None = field(default=None, kw_only=True)
    document: str | None = field(default=None, kw_only=True)
    """Its id in the store."""
    priority: int = field(default=0, kw_only=True)
    attempts: int = field(default=0, kw_only=True)
    """How often it was started."""
    error: Error | None = field(default=None, kw_only=True)
    """The `code`, `message` and `hint` of an error found before it was added, or of its run."""


@dataclass(frozen=True, slots=True)
class BatchItemRow(BatchDocument):
    """A stored document of a batch. The index and the number of attempts identify a lease."""

    file: str
    """The name of its result file without suffix; a number is appended if the name is taken."""
    batch: str = ""
    idx: int = 0
    worker: str | None = None
    until: float | None = None
    deaths: int = 0
    """How many workers died while processing it since it last made progress."""
    answers: int = 0
    """How many answers its run had when the last of them died."""
    short: bool = False
    """Whether it finished with gaps or missed a goal."""


class Batches:
    """The batches in one store."""

    def __init__(self, store: Store, clock: Callable[[], float] | None = None) -> None:
        self._connection = store.connection
        self._clock = clock or self._connection.clock
        columns = ("name", "status", "created")
        self._batches = RecordTable(self._connection, "batches", Batch, ("name",), columns=columns)

    def open(self, batch: Batch) -> Batch:
        """Store a batch, or open it again with new limits and a new folder: what failed or was set aside is tried anew.
        Return it as it is stored."""
        with self._connection.writing() as raw:
            stored = self._batches.first(name=batch.name)
            if stored is not None and {**stored.asked, "left_out": None} != {**batch.asked, "left_out": None}:
                raise UsageError(
                    f"the batch {batch.name} was started with other settings", fix=("give it another ", Set("name"))
                )
            created = stored.created if stored else now()
            self._batches.put(replace(batch, status="open", error=None, created=created), updated=now())
            raw.execute(_TRY_AGAIN, (batch.name,))
        return self.get(batch.name)

    def get(self, name: str) -> Batch:
        """Return the batch with this name."""
        if not isinstance(name, str):
            raise UsageError(f"the name of a batch is of the type {type(name).__name__}", hint="pass a str")
        batch = self._batches.first(name=name)
        if batch is None:
            raise RunError(f"there is no batch {name!r}", fix=(RunCommand("batch status"), " lists them"))
        return batch

    def all(self) -> list[Batch]:
        """Return all batches, newest first."""
        return self._batches.find("created DESC, name")

    def set_status(self, name: str, status: Status, error: Error | None = None) -> None:
        """Set the status of a batch. A cancelled batch stays cancelled."""
        with self._connection.writing():
            batch = self._batches.first(name=name)
            if batch is not None and not (status == "stopped" and batch.status == "cancelled"):
                self._batches.put(replace(batch, status=status, error=error), updated=now())

    def add(self, name: str, items: Iterable[BatchItemRow]) -> int:
        """Add items to a batch, each source once; return how many are new."""
        folder = self.get(name).folder
        same_folder = in_list([name, *(batch.name for batch in self.all() if folder and batch.folder == folder)])
        with self._connection.writing() as raw:
            last = raw.execute("SELECT max(idx) AS idx FROM items WHERE batch = ?", (name,)).fetchone()["idx"]
            first = idx = 0 if last is None else last + 1
            for item in items:
                idx += _add(raw, name, idx, item, same_folder)
        return idx - first

    def items(self, name: str) -> Iterator[BatchItemRow]:
        """Return all items of a batch in order."""
        last = -1
        query = "SELECT * FROM items WHERE batch = ? AND idx > ? ORDER BY idx LIMIT ?"
        while rows := self._connection.rows(query, (name, last, _PAGE)):
            yield from (item_in(row) for row in rows)
            last = rows[-1]["idx"]

    def lately(self, name: str, seconds: float) -> tuple[int, float]:
        """Return how many items finished in the last seconds during which the batch was open, and the number of
        seconds."""
        (batch,) = self._connection.rows("SELECT updated FROM batches WHERE name = ?", (name,))
        moment = datetime.now(UTC)
        since = max(moment - timedelta(seconds=seconds), datetime.fromisoformat(batch["updated"]))
        (ended,) = self._connection.rows(
            "SELECT count(*) AS n FROM items JOIN runs ON runs.id = items.run"
            " WHERE items.batch = ? AND items.state IN ('done', 'failed') AND runs.updated > ?",
            (name, since.isoformat(timespec="milliseconds")),
        )
        return int(ended["n"]), (moment - since).total_seconds()

    def counts(self, name: str) -> ItemCounts:
        """Count the items of a batch by state."""
        rows = self._connection.rows(
            "SELECT state, count(*) AS n, sum(short) AS short FROM items WHERE batch = ? GROUP BY state", (name,)
        )
        return ItemCounts(**{row["state"]: row["n"] for row in rows}, short=sum(row["short"] for row in rows))

    def is_over(self, name: str) -> bool:
        """Return whether a batch has nothing left to do, or must not be worked on."""
        return self._connection.row(_OPEN, (name,)) is None

    def lease(self, name: str, worker: str, most: int, seconds: float = LEASE_SECONDS) -> list[BatchItemRow]:
        """Lease up to a number of items to a worker: by priority, then those with the fewest attempts. An item that
        killed a worker before is leased alone, so that the next death can be attributed to it."""
        # Idle workers poll often and must not block writers.
        if not self._connection.row(_WAITING, (name,)) and not self._connection.row(_RUN_OUT, (name, self._clock())):
            return []
        with self._connection.writing() as raw:
            for row in raw.execute(_RUN_OUT, (name, self._clock())).fetchall():
                _lose(raw, row, "it has not reported back since")
            if raw.execute("SELECT status FROM batches WHERE name = ?", (name,)).fetchone()["status"] != "open":
                return []
            leased = raw.execute(_LEASED_BY, (name, worker)).fetchall()
            if any(row["deaths"] for row in leased):
                return []
            rows = raw.execute(_NEXT, (name, 0 if leased else MAX_CRASHES, most)).fetchall()
            suspect = next((at for at, row in enumerate(rows) if row["deaths"]), len(rows))
            chosen = rows[: max(1, suspect)]
            lease = {"batch": name, "worker": worker, "until": self._clock() + seconds}
            return [item_in(raw.execute(_TAKE, lease | {"idx": row["idx"]}).fetchone()) for row in chosen]

    def renew(self, name: str, worker: str, seconds: float = LEASE_SECONDS) -> set[tuple[int, int]]:
        """Extend all leases of a worker; return the items that it still has, each with its attempt."""
        with self._connection.writing() as raw:
            rows = raw.execute(_LEASED_BY, (name, worker)).fetchall()
            until = self._clock() + seconds
            raw.executemany(
                "UPDATE items SET until = ? WHERE batch = ? AND idx = ?", [(until, name, row["idx"]) for row in rows]
            )
        return {(row["idx"], row["attempts"]) for row in rows}

    def settle(
        self,
        item: BatchItemRow,
        state: State,
        *,
        run: str | None = None,
        short: bool = False,
        error: Error | None = None,
    ) -> bool:
        """Record the result of a leased item (`waiting` returns it to the queue). Return whether the lease was still
        valid."""
        changes: dict[str, object] = {"state": state, "worker": None, "until": None, "short": int(short)}
        changes |= {"error": json_text(error) if error else None} | ({"run": run} if run else {})
        return self.change(item, **changes)

    def release(self, name: str, worker: str, how: str) -> int:
        """Record the death of a worker and release its leases. Return how many there were."""
        with self._connection.writing() as raw:
            rows = raw.execute(_LEASED_BY, (name, worker)).fetchall()
            for row in rows:
                _lose(raw, row, how)
        return len(rows)

    def change(self, item: BatchItemRow, **changes: object) -> bool:
        """Change columns of a leased item, such as its `run`; return whether the lease was still valid."""
        lease = {"batch": item.batch, "idx": item.idx, "worker": item.worker, "attempts": item.attempts}
        with self._connection.writing() as raw:
            return change_rows(raw, "items", changes, **lease, state="leased") == 1


def item_in(row: Row) -> BatchItemRow:
    """Return the item in a row: all of it is searched, so each field has a column."""
    error = json.loads(row["error"]) if row["error"] else None
    return BatchItemRow(**{**dict(row), "short": bool(row["short"]), "error": error})


def _add(raw: Transaction, batch: str, idx: int, item: BatchItemRow, same_folder: str) -> bool:
    """Add an item to a batch unless it exists; return whether it is new. A missing text is restored. The name of its
    file differs from those of all batches in `same_folder`, which is a list for `IN_LIST`."""
    source = storable(item.source)
    stored = raw.execute("SELECT idx, document FROM items WHERE batch = ? AND source = ?", (batch, source)).fetchone()
    outcome = {"state": "failed", "error": json_text(item.error)} if item.error else {"state": "waiting"}
    if stored is None:
        row: dict[str, object] = {"batch": batch, "idx": idx, "source": source, "document": item.document}
        # A number is appended if another item has the name; some file systems ignore case.
        name, query = storable(item.file), f"SELECT 1 FROM items WHERE batch {IN_LIST} AND lower(file) = lower(?)"  # noqa: S608
        numbers = count(max(idx + 1, 2))
        while raw.execute(query, (same_folder, name)).fetchone():
            name = f"{storable(item.file)}-{next(numbers)}"
        insert_row(raw, "items", row | {"file": name, "priority": item.priority} | outcome)
    elif stored["document"] is None and item.document is not None:
        change_rows(raw, "items", {"document": item.document}, batch=batch, idx=stored["idx"])
    elif item.error is not None:
        change_rows(raw, "items", outcome, batch=batch, idx=stored["idx"], state="waiting")
    return stored is None


def _lose(raw: Transaction, row: Row, how: str) -> None:
    """Count a worker's death at an item. If the item has progressed since the last death, the count restarts."""
    answers = raw.execute(_ANSWERS, (row["run"],)).fetchone()["n"]
    deaths = 1 if answers > row["answers"] else row["deaths"] + 1
    error = {
        "code": "aside",
        "message": f"{deaths} workers died while processing it; the last one: {how}",
        "hint": "check the document; to resume the batch tries it again",
    }
    outcome = {"state": "aside", "error": json_text(error)} if deaths >= MAX_CRASHES else {"state": "waiting"}
    changes = {"error": None, "worker": None, "until": None, "deaths": deaths, "answers": answers, **outcome}
    change_rows(raw, "items", changes, batch=row["batch"], idx=row["idx"])
