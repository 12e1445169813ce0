"""Runs and what they produced: drafts, partial summaries and gaps."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Literal, TypeVar, get_args

from pydantic import ValidationError

from redraft.domain import Draft, Gap, Parent, Piece, content_id
from redraft.errors import Advice, RunCommand, RunError, UsageError
from redraft.settings import KINDS, SUMMARIZE, DraftConfig, JudgeConfig, Limits, Purpose, RefineConfig, purpose_of
from redraft.store.connection import (
    Connection,
    Repository,
    Row,
    Transaction,
    body_of,
    insert,
    json_text,
    record_in,
    storable,
    upsert,
)
from redraft.store.documents import now, ordered, put_text, records_of

Status = Literal["running", "waiting", "done", "stopped", "failed", "interrupted"]
"""A `stopped` run used up its budget, a `waiting` one needs an answer from a person. All but `done` can be resumed."""
KILLED = "killed"
"""The status of a run whose process has died, which is on record as running."""
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, IndexError)
"""Raised by reading values that are not as they were stored."""
R = TypeVar("R")
_DAMAGED = (RunCommand("runs"), " lists those that are not; ", RunCommand("forget"), " removes it")
_PAGE, _OPENING = 100, 400
_COLUMNS = ("id", "identity", "document", "status", "experiment", "draft", "seconds", "created", "updated")
_BESIDE = ("tokenizer", "version", "parent", "stop_reason", "why", "error", "output", "prompt_hashes")
"""The fields in the body of a row, beside settings."""
_SETTINGS = ("settings", "limits", "judging", "refinement")
_DRAFTS = "SELECT d.*, t.text AS content FROM drafts d JOIN texts t ON t.id = d.text"
_PIECES = "SELECT r.*, t.text AS content FROM records r JOIN texts t ON t.id = r.text WHERE run = ? AND kind = 'piece'"
_BODY = "SELECT body FROM runs WHERE id = ?"
_RECORD = upsert("records", ("run", "kind", "key"), "body")


WITHOUT_SUMMARY = {
    "pack": "it builds questions",
    "keyfacts": "it builds key facts",
    "compare": "it asked which of two summaries is better",
}


class DamagedRun(RunError):
    """The row of a run cannot be read."""

    code = "damaged"


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run."""

    id: str
    identity: str
    document: str
    settings: DraftConfig
    limits: Limits
    prompt_hashes: dict[str, str]
    tokenizer: str
    version: str
    """The version of redraft and, after `with`, the package of a custom strategy."""
    purpose: Purpose = SUMMARIZE
    experiment: str | None = None
    """The experiment that started it, if any."""
    parent: str | None = None
    """The run that this was forked from, or repeats with changes; it may have been deleted."""
    status: Status = "running"
    stop_reason: str | None = None
    why: str = ""
    """The agent's reason for stopping, if an agent led the run."""
    error: dict[str, Any] | None = field(default=None)
    draft: str | None = None
    output: str | None = None
    """The file to write the summary to."""
    seconds: float = 0.0
    created: str = ""
    updated: str = ""

    @property
    def kind(self) -> str:
        """Return the kind of the run, by its purpose."""
        return self.purpose.kind

    @property
    def judging(self) -> JudgeConfig | None:
        """Return the judging settings, if drafts are judged."""
        return self.purpose.judging

    @property
    def refinement(self) -> RefineConfig | None:
        """Return the refinement settings, if the draft is refined."""
        return self.purpose.refinement

    @property
    def next_step(self) -> Advice:
        """What to do about a run that has no outcome yet; one that was killed is stored as running."""
        if self.status == "running":
            return "wait until it ends; if its process has died: ", RunCommand("resume", self.id)
        return RunCommand("resume", self.id)

    def drafted(self) -> str:
        """Return the draft of the result. Raises a `RunError` if there is none yet, or never will be."""
        if what := WITHOUT_SUMMARY.get(self.kind):
            raise RunError(
                f"run {self.id} made no summary: {what}", fix=(RunCommand("runs"), " lists the runs that did")
            )
        if self.draft is None:
            raise RunError(f"run {self.id} has no summary yet", fix=self.next_step)
        return self.draft


def new_run_id() -> str:
    """Return a new id: short enough to type, long enough to be unique."""
    return secrets.token_hex(4)


class Runs(Repository):
    """The runs in one database."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.damaged: dict[str, str] = {}
        """Runs left out of lists because their rows cannot be read, with the reason."""

    def readable(self, key: str, read: Callable[[], R]) -> R | None:
        """Return the result of `read`; None if the rows of the run are damaged."""
        try:
            result = read()
        except (RunError, *DAMAGE) as error:
            self.damaged[key] = error.message if isinstance(error, RunError) else f"{type(error).__name__}: {error}"
            return None
        self.damaged.pop(key, None)
        return result

    def _all(self, rows: Sequence[Row]) -> list[Run]:
        runs = (self.readable(str(row["id"]), partial(_run, dict(row))) for row in rows)
        return [run for run in runs if run is not None]

    def add(self, run: Run) -> None:
        """Store a new run."""
        body: dict[str, Any] = {name: getattr(run, name) for name in _BESIDE}
        for name in _SETTINGS:
            settings = getattr(run, name)
            body[name] = settings and settings.model_dump(mode="json")
        columns = {name: getattr(run, name) for name in _COLUMNS}
        columns |= {"kind": run.kind, "body": json_text(body), "created": (moment := now()), "updated": moment}
        self._write(insert("runs", *columns), tuple(columns.values()))

    def get(self, key: str) -> Run:
        """Return the run with this id or unique prefix."""
        if not isinstance(key, str):
            raise UsageError(f"a run is named by its id, not by a {type(key).__name__}", hint="pass result.run.id")
        rows = self._connection.rows(
            "SELECT * FROM runs WHERE lower(substr(id, 1, ?)) = lower(?) LIMIT 2", (len(key), storable(key))
        )
        if not key:
            raise RunError("no run was given", fix=(RunCommand("runs"), " lists them"))
        if len(rows) != 1:
            what = "no run" if not rows else "more than one run"
            named = self._connection.rows("SELECT 1 FROM batches WHERE name = ?", (storable(key),)) if not rows else []
            batch = "it is a batch: ", RunCommand("batch results", key), " names its runs"
            raise RunError(f"{what} begins with {key!r}", fix=batch if named else (RunCommand("runs"), " lists them"))
        return _run(dict(rows[0]))

    def some(self, keys: Sequence[str]) -> list[Run]:
        """The runs with these ids, read at once; damaged ones are left out."""
        return self._all(
            self._connection.rows(
                "SELECT * FROM runs WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)
            )
        )

    def openings(self, drafts: Sequence[str]) -> dict[str, tuple[int, str]]:
        """The words, and the first characters, of some drafts, read at once."""
        rows = self._connection.rows(
            "SELECT d.id, d.words, substr(t.text, 1, ?) AS body FROM drafts d JOIN texts t ON t.id = d.text"
            " WHERE d.id IN (SELECT value FROM json_each(?))",
            (_OPENING, json.dumps(list(drafts))),
        )
        return {row["id"]: (row["words"], row["body"]) for row in rows}

    def same(self, identity: str) -> list[Run]:
        """Return the runs with the same settings on the same text, oldest first."""
        rows = self._connection.rows("SELECT * FROM runs WHERE identity = ? ORDER BY created, rowid", (identity,))
        return self._all(rows)

    def latest(
        self,
        limit: int,
        *,
        status: str | None = None,
        model: str | None = None,
        documents: Sequence[str] | None = None,
        wanted: Callable[[Run], bool] | None = None,
    ) -> list[Run]:
        """Return the latest runs, newest first, filtered by status, part of the model's name, or document."""
        conditions = {
            "status = ?": status,
            "document IN (SELECT value FROM json_each(?))": None if documents is None else json.dumps(list(documents)),
        }
        filters = {condition: value for condition, value in conditions.items() if value is not None}
        where = f"WHERE {' AND '.join(filters)}" if filters else ""
        query = f"SELECT * FROM runs {where} ORDER BY created DESC, rowid DESC LIMIT ? OFFSET ?"  # noqa: S608
        runs: list[Run] = []
        for page in count():
            rows = self._connection.rows(query, (*filters.values(), _PAGE, page * _PAGE))
            named = (run for run in self._all(rows) if not model or model in run.settings.model)
            runs += (run for run in named if wanted is None or wanted(run))
            if len(rows) < _PAGE or len(runs) >= limit:
                break
        return runs[:limit]

    def check_filter(self, kind: str | None, status: str | None) -> None:
        """Raise `UsageError` for a kind or a status that no run can have, which would find nothing."""
        of_parts = (row["kind"] for row in self._connection.rows("SELECT DISTINCT kind FROM runs ORDER BY kind"))
        kinds, statuses = dict.fromkeys([*KINDS, *of_parts]), (*get_args(Status), KILLED)
        for what, wanted, choices in (("kind", kind, kinds), ("status", status, statuses)):
            if wanted and wanted not in choices:
                raise UsageError(f"{wanted!r:.60} is not a {what} of runs", hint=f"choose from: {', '.join(choices)}")

    def stamps(self) -> list[tuple[str, str, str]]:
        """Return the id, last change and stored status of every run, newest first."""
        rows = self._connection.rows("SELECT id, updated, status FROM runs ORDER BY created DESC, rowid DESC")
        return [(row["id"], row["updated"], row["status"]) for row in rows]

    def unchanged_since(self, moment: str) -> list[Run]:
        """Return the runs that have not changed since a time, newest first."""
        rows = self._connection.rows(
            "SELECT * FROM runs WHERE updated < ? ORDER BY created DESC, rowid DESC", (moment,)
        )
        return self._all(rows)

    def set_status(
        self,
        key: str,
        status: Status,
        *,
        stop_reason: str | None = None,
        error: dict[str, Any] | None = None,
        why: str = "",
    ) -> None:
        """Set the status of a run."""
        changes = {"stop_reason": stop_reason, "error": error, "why": why}
        self._change(key, changes, "status = ?, updated = ?", status, now())

    def set_output(self, run: str, path: str) -> None:
        """Set the file to write the summary to."""
        self._change(run, {"output": path})

    def set_limits(self, key: str, limits: Limits) -> None:
        """Set new limits for a resumed run."""
        self._change(key, {"limits": limits.model_dump(mode="json")})

    def set_judging(self, key: str, judging: JudgeConfig) -> None:
        """Record the judging settings of a run after it has built its questions."""
        self._change(key, {"judging": judging.model_dump(mode="json")})

    def _change(self, key: str, changes: Mapping[str, object], columns: str = "", *values: object) -> None:
        """Change fields in the body of a run, and columns with it."""
        with self._connection.writing("names") as raw:
            row = raw.execute(_BODY + raw.for_update, (key,)).fetchone()
            if row is not None:
                with damage_named(key):
                    body = json_text({**json.loads(row["body"]), **changes})
                statement = f"UPDATE runs SET {columns}{columns and ', '}body = ? WHERE id = ?"  # noqa: S608
                raw.execute(statement, (*values, body, key))

    def add_seconds(self, key: str, seconds: float) -> None:
        """Add to the time a run has taken, over all its resumptions."""
        self._write("UPDATE runs SET seconds = seconds + ?, updated = ? WHERE id = ?", (seconds, now(), key))

    def keep_draft(
        self,
        run: str,
        text: str,
        words: int,
        node: str,
        notes: Sequence[str] = (),
        round_: int = 0,
        parents: Sequence[Parent] = (),
    ) -> str:
        """Store a draft and make it the run's result. The same draft is stored once, with the latest notes."""
        with self._connection.writing("names") as raw:
            key = _put_draft(raw, run, round_, node, text, words, notes, parents)
            raw.execute("UPDATE runs SET draft = ?, updated = ? WHERE id = ?", (key, now(), run))
        return key

    def add_draft(
        self,
        run: str,
        text: str,
        words: int,
        node: str,
        round_: int,
        notes: Sequence[str] = (),
        parents: Sequence[Parent] = (),
    ) -> str:
        """Store a draft that is not the run's result, or not yet."""
        with self._connection.writing("names") as raw:
            return _put_draft(raw, run, round_, node, text, words, notes, parents)

    def choose_draft(self, run: str, key: str) -> None:
        """Make a draft the run's result."""
        self._write("UPDATE runs SET draft = ?, updated = ? WHERE id = ?", (key, now(), run))

    def drafts(self, run: str) -> list[Draft]:
        """Return all drafts of a run in the order in which they were made."""
        rows = self._connection.rows(f"{_DRAFTS} WHERE d.run = ? ORDER BY d.round, d.rowid", (run,))
        return [_draft_in(row) for row in rows]

    def draft(self, key: str) -> Draft:
        """Return the draft with this id."""
        row = self._connection.row(f"{_DRAFTS} WHERE d.id = ?", (key,))
        if row is None:
            raise RunError(f"no draft {key!r}")
        return _draft_in(row)

    def add_piece(self, run: str, piece: Piece, parents: Sequence[Parent] = ()) -> None:
        """Store a partial summary with its parents. An earlier one at the same place is replaced, and so are the later
        steps made from that one."""
        key = "/".join(map(ordered, (piece.level, piece.index, piece.step)))
        end = "/".join(map(ordered, (piece.level, piece.index + 1)))
        with self._connection.writing("names") as raw:
            text = put_text(raw, piece.text)
            _drop_pieces(raw, run, key, end)
            _put_parents(raw, run, piece.name, parents)
            values = (run, "piece", key, text, body_of(piece, "text"))
            raw.execute(insert("records", "run", "kind", "key", "text", "body"), values)

    def drop_merges(self, run: str) -> None:
        """Delete the pieces above the lowest level, because they are about to be made again."""
        with self._connection.writing("names") as raw:
            _drop_pieces(raw, run, ordered(1), ":")

    def pieces(self, run: str) -> list[Piece]:
        """Return all partial summaries of a run, lowest level first."""
        return [_piece_in(row) for row in self._connection.rows(f"{_PIECES} ORDER BY key", (run,))]

    def piece_of(self, run: str, text: str) -> Piece | None:
        """Return the last partial summary with this text id, or None."""
        row = self._connection.row(f"{_PIECES} AND r.text = ? ORDER BY key DESC LIMIT 1", (run, text))
        return _piece_in(row) if row else None

    def add_gap(self, run: str, gap: Gap) -> None:
        """Record a chunk that could not be summarized."""
        self._write(_RECORD, (run, "gap", ordered(gap.chunk), body_of(gap)))

    def close_gap(self, run: str, chunk: int) -> None:
        """Delete a gap after its chunk was summarized."""
        self._write("DELETE FROM records WHERE run = ? AND kind = 'gap' AND key = ?", (run, ordered(chunk)))

    def gaps(self, run: str) -> list[Gap]:
        """Return the chunks of a run that could not be summarized."""
        return [record_in(Gap, row) for row in records_of(self._connection, run, "gap")]


def _draft_in(row: Row) -> Draft:
    """Return the draft in a row."""
    return record_in(Draft, row, "id", "run", "round", "words", text=row["content"])


def _piece_in(row: Row) -> Piece:
    """Return the partial summary in a row."""
    return record_in(Piece, row, text=row["content"])


def _put_parents(raw: Transaction, run: str, child: str, parents: Sequence[Parent]) -> None:
    """Store the parents of a piece or a draft, replacing earlier ones, within the transaction that stores it."""
    _drop_parents(raw, run, [child])
    rows = [(run, "parent", f"{child}#{at}", parent.text, body_of(parent, "text")) for at, parent in enumerate(parents)]
    raw.executemany(insert("records", "run", "kind", "key", "text", "body"), rows)


def _drop_parents(raw: Transaction, run: str, children: Sequence[str]) -> None:
    """Delete the parents of texts that are about to be written again."""
    raw.executemany(
        "DELETE FROM records WHERE run = ? AND kind = 'parent' AND key > ? AND key < ?",
        # A dollar sign sorts next after a number sign.
        [(run, f"{child}#", f"{child}$") for child in children],
    )


def _drop_pieces(raw: Transaction, run: str, first: str, end: str) -> None:
    """Delete the pieces with keys from `first` to before `end`, and their parents."""
    statement = "DELETE FROM records WHERE run = ? AND kind = 'piece' AND key >= ? AND key < ? RETURNING key"
    rows = raw.execute(statement, (run, first, end)).fetchall()
    _drop_parents(raw, run, ["/".join(str(int(number)) for number in row["key"].split("/")) for row in rows])


def _put_draft(
    raw: Transaction,
    run: str,
    round_: int,
    node: str,
    text: str,
    words: int,
    notes: Sequence[str],
    parents: Sequence[Parent],
) -> str:
    """Store a draft with its parents; return its id."""
    key = f"{run}-{round_}-{content_id(node + text)[:8]}"
    body = body_of(Draft(key, run, round_, node, "", words, tuple(notes)), "id", "run", "round", "text", "words")
    raw.execute(
        f"{insert('drafts', 'id', 'run', 'round', 'text', 'words', 'body')}"
        " ON CONFLICT (id) DO UPDATE SET body = excluded.body",
        (key, run, round_, put_text(raw, text), words, body),
    )
    _put_parents(raw, run, key, parents)
    return key


@contextmanager
def damage_named(key: str) -> Iterator[None]:
    """Raise unreadable values as `DamagedRun`."""
    try:
        yield
    except DAMAGE as error:
        raise DamagedRun(f"run {key} is damaged: {type(error).__name__}: {error}", fix=_DAMAGED) from error


def _run(row: dict[str, Any]) -> Run:
    """Return the run in a row; raises `DamagedRun`."""
    with damage_named(str(row["id"])):
        return _known(row)


def _known(row: dict[str, Any]) -> Run:
    """Return the run in a row; raises `RunError` if a later version stored settings that this one does not know."""
    values: dict[str, Any] = json.loads(row["body"]) | {name: row[name] for name in _COLUMNS}
    try:
        judging, refinement = values.pop("judging"), values.pop("refinement")
        values["purpose"] = purpose_of(
            row["kind"],
            judging and JudgeConfig.model_validate(judging),
            refinement and RefineConfig.model_validate(refinement),
        )
        values["settings"] = DraftConfig.model_validate(values["settings"])
        values["limits"] = Limits.model_validate(values["limits"])
    except ValidationError as error:
        unknown = [".".join(map(str, fault["loc"])) for fault in error.errors() if fault["type"] == "extra_forbidden"]
        what = f"has the setting {', '.join(unknown)}, which" if unknown else "has settings that"
        raise RunError(
            f"run {row['id']} was made by redraft {values['version']}: it {what} this version does not know",
            hint="update redraft, or use the version that made it",
        ) from error
    return Run(**values)
