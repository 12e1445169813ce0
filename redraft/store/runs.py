"""Runs and what they produced: drafts, partial summaries and gaps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ValidationError

from redraft.domain import Draft, Evaluation, Gap, Parent, Piece, content_id
from redraft.errors import Advice, RunCommand, RunError, UsageError
from redraft.fields import first_problem
from redraft.order import KINDS, Order, stored_order
from redraft.settings import LISTED_METRICS, DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.store.connection import Connection, Row, storable
from redraft.store.table import (
    IN_LIST,
    RecordTable,
    body_of,
    change_rows,
    in_list,
    insert_row,
    json_text,
    now,
    ordered,
    record_in,
    run_records,
)

Status = Literal["running", "waiting", "done", "stopped", "failed", "interrupted"]
"""A `stopped` run used up its budget, a `waiting` one needs an answer from a person. All but `done` can be resumed."""
KILLED = "killed"
"""The status of a run whose process has died, which is on record as running."""
INCOMPLETE = "incomplete"
"""The status of a run in which a metric could give no verdict, which is on record as done."""
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, IndexError)
"""Raised by reading values that are not as they were stored."""
_LIST_RUNS = (RunCommand("runs"), " lists them")
_DAMAGED = (RunCommand("runs"), " lists those that are not; ", RunCommand("forget"), " removes it")
_PAGE, _OPENING = 100, 400
_COLUMNS = ("id", "identity", "document", "status", "experiment", "draft", "seconds", "created", "updated")
_NEWEST_FIRST = "ORDER BY created DESC, rowid DESC"


WITHOUT_SUMMARY = {
    "pack": "it builds questions",
    "keyfacts": "it builds key facts",
    "compare": "it asked which of two summaries is better",
}


class DamagedRun(RunError, code="damaged"):
    """The row of a run cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What a run, its line in a list and its result have in common."""

    identity: str
    document: str
    tokenizer: str
    experiment: str | None = None
    """The experiment that started it, if any."""
    parent: str | None = None
    """The run that this was forked from, or repeats with changes; it may have been deleted."""
    stop_reason: str | None = None
    why: str = ""
    """The agent's reason for stopping, if an agent led the run."""
    notes: tuple[str, ...] = ()
    """What was assumed when it began, such as the window of its model."""
    seconds: float = 0.0
    created: str = ""
    updated: str = ""


@dataclass(frozen=True, slots=True)
class Run(RunRecord):
    """A stored run."""

    id: str
    order: Annotated[Order, BeforeValidator(stored_order)]
    prompt_hashes: dict[str, str]
    version: str
    """The version of redraft and, after `with`, the package of a custom strategy."""
    status: Status = "running"
    error: dict[str, Any] | None = None
    draft: str | None = None
    source_notes: tuple[str, ...] | None = None
    """What was noted when its document was read. Another run may have read the same text from other files."""

    @property
    def kind(self) -> str:
        """Return the kind of the run, by its order."""
        return self.order.kind

    @property
    def settings(self) -> DraftConfig:
        """Return the settings that determine the summary."""
        return self.order.settings

    @property
    def limits(self) -> Limits:
        """Return what the run may spend, and how fast."""
        return self.order.limits

    @property
    def judging(self) -> JudgeConfig | None:
        """Return the judging settings, if drafts are judged."""
        return self.order.judging

    @property
    def refinement(self) -> RefineConfig | None:
        """Return the refinement settings, if the draft is refined."""
        return self.order.refinement

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


class Runs:
    """The runs in one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        columns, order = ("id", "run", "round", "words"), "r.round, r.rowid"
        self._drafts = RecordTable(connection, "drafts", Draft, ("id",), columns=columns, has_text=True, order=order)
        self.drafts = self._drafts.of
        """Returns all drafts of a run in the order in which they were made."""
        self._pieces = run_records(
            connection,
            "piece",
            Piece,
            row=lambda piece: {"key": _key_of(piece)},
            has_text=True,
        )
        self.pieces = self._pieces.of
        """Returns all partial summaries of a run, lowest level first."""
        self._parents = run_records(connection, "parent", Parent, columns=("text",))
        self.gaps = run_records(connection, "gap", Gap, row=lambda gap: {"key": ordered(gap.chunk)})
        """The chunks of runs that could not be summarized."""
        self.damaged: dict[str, str] = {}
        """Runs left out of lists because their rows cannot be read, with the reason."""

    @contextmanager
    def damage_noted(self, key: str) -> Iterator[None]:
        """Note that the rows of a run are damaged, and go on."""
        try:
            yield
        except (RunError, *DAMAGE) as error:
            self.damaged[key] = error.message if isinstance(error, RunError) else f"{type(error).__name__}: {error}"
        else:
            self.damaged.pop(key, None)

    def _read(self, rows: Sequence[Row]) -> list[Run]:
        """Return the runs in these rows, without those that are damaged."""
        runs: list[Run] = []
        for row in rows:
            with self.damage_noted(str(row["id"])):
                runs.append(_run(row))
        return runs

    def add(self, run: Run) -> None:
        """Store a new run."""
        row = {name: getattr(run, name) for name in _COLUMNS} | {"kind": run.kind, "body": body_of(run, *_COLUMNS)}
        row["created"] = row["updated"] = now()
        with self._connection.writing() as raw:
            insert_row(raw, "runs", row)

    def get(self, key: str) -> Run:
        """Return the run with this id or unique prefix."""
        if not isinstance(key, str):
            raise UsageError(f"a run is named by its id, not by a {type(key).__name__}", hint="pass result.run.id")
        if not key:
            raise RunError("no run was given", fix=_LIST_RUNS)
        query = "SELECT * FROM runs WHERE lower(substr(id, 1, ?)) = lower(?) LIMIT 2"
        rows = self._connection.rows(query, (len(key), storable(key)))
        if len(rows) != 1:
            problem = "no run" if not rows else "more than one run"
            is_batch = not rows and self._connection.row("SELECT 1 FROM batches WHERE name = ?", (storable(key),))
            batch = "it is a batch: ", RunCommand("batch results", key), " names its runs"
            raise RunError(f"{problem} begins with {key!r}", fix=batch if is_batch else _LIST_RUNS)
        return _run(rows[0])

    def some(self, *, ids: Sequence[str] | None = None, identity: str = "", unchanged_since: str = "") -> list[Run]:
        """Return the runs with these ids, or with the same settings on the same text, or that have not changed since a
        time, oldest first, read at once; damaged ones are left out."""
        where, value = ("id " + IN_LIST, in_list(ids)) if ids is not None else ("identity = ?", identity)
        if unchanged_since:
            where, value = "updated < ?", unchanged_since
        return self._read(self._connection.rows(f"SELECT * FROM runs WHERE {where} ORDER BY created, rowid", (value,)))  # noqa: S608

    def openings(self, drafts: Sequence[str]) -> dict[str, tuple[int, str]]:
        """The words, and the first characters, of some drafts, read at once."""
        rows = self._connection.rows(
            "SELECT d.id, d.words, substr(t.text, 1, ?) AS body FROM drafts d JOIN texts t ON t.id = d.text"  # noqa: S608
            f" WHERE d.id {IN_LIST}",
            (_OPENING, in_list(drafts)),
        )
        return {row["id"]: (row["words"], row["body"]) for row in rows}

    def latest(self, limit: int) -> list[Run]:
        """Return the latest runs, newest first."""
        return list(islice(self.newest(), limit))

    def newest(self, *, status: str | None = None, documents: Sequence[str] | None = None) -> Iterator[Run]:
        """Yield the runs with a status, or on some documents, newest first; damaged ones are left out. They are read
        page by page, for a caller that looks for some of them."""
        filters = {"status = ?": status} if status is not None else {}
        filters |= {f"document {IN_LIST}": in_list(documents)} if documents is not None else {}
        where = f"WHERE {' AND '.join(filters)}" if filters else ""
        query = f"SELECT * FROM runs {where} {_NEWEST_FIRST} LIMIT ? OFFSET ?"  # noqa: S608
        for page in count():
            rows = self._connection.rows(query, (*filters.values(), _PAGE, page * _PAGE))
            yield from self._read(rows)
            if len(rows) < _PAGE:
                return

    def check_filter(self, kind: str | None, status: str | None) -> None:
        """Raise `UsageError` for a kind or a status that no run can have, which would find nothing."""
        rows = self._connection.rows("SELECT DISTINCT kind FROM runs ORDER BY kind")
        kinds, statuses = (
            dict.fromkeys([*KINDS, *(row["kind"] for row in rows)]),
            (*get_args(Status), KILLED, INCOMPLETE),
        )
        for name, value, choices in (("kind", kind, kinds), ("status", status, statuses)):
            if value and value not in choices:
                raise UsageError(f"{value!r:.60} is not a {name} of runs", hint=f"choose from: {', '.join(choices)}")

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
        self.change(key, {"stop_reason": stop_reason, "error": error, "why": why}, status=status)

    def change(self, key: str, changes: Mapping[str, object], **columns: str) -> None:
        """Change fields of a run, such as `error`, or parts of its order, such as `order.limits`, and columns, such as
        the `draft` that is its result."""
        with self._connection.writing() as raw:
            row = raw.execute("SELECT body FROM runs WHERE id = ?", (key,)).fetchone()
            if row is not None:
                with damage_named(key):
                    body = json.loads(row["body"])
                    for name, value in changes.items():
                        part, _, field_name = name.rpartition(".")
                        plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
                        (body[part] if part else body)[field_name] = plain
                    columns["body"] = json_text(body)
                change_rows(raw, "runs", columns | {"updated": now()}, id=key)

    def add_seconds(self, key: str, seconds: float) -> None:
        """Add to the time a run has taken, over all its resumptions."""
        self._connection.write("UPDATE runs SET seconds = seconds + ?, updated = ? WHERE id = ?", (seconds, now(), key))

    def keep_draft(
        self,
        run: str,
        text: str,
        words: int,
        node: str,
        notes: Sequence[str] = (),
        round_: int = 0,
        parents: Sequence[Parent] = (),
        *,
        is_result: bool = True,
    ) -> str:
        """Store a draft, and make it the run's result if it is. The same draft is stored once, with the latest
        notes."""
        key = f"{run}-{round_}-{content_id(node + text)[:8]}"
        with self._connection.writing() as raw:
            self._drafts.put(Draft(key, run, round_, node, text, words, tuple(notes)))
            self._put_parents(run, key, parents)
            if is_result:
                change_rows(raw, "runs", {"draft": key, "updated": now()}, id=run)
        return key

    def draft(self, key: str) -> Draft:
        """Return the draft with this id."""
        draft = self._drafts.first(id=key)
        if draft is None:
            raise RunError(f"no draft {key!r}")
        return draft

    def add_piece(self, run: str, piece: Piece, parents: Sequence[Parent] = ()) -> None:
        """Store a partial summary with its parents. An earlier one at the same place is replaced, and so are the later
        steps made from that one."""
        with self._connection.writing():
            self.drop_pieces(
                run,
                _key_of(piece),
                "/".join(map(ordered, (piece.level, piece.index + 1))),
            )
            self._pieces.put(piece, run=run)
            self._put_parents(run, piece.name, parents)

    def drop_pieces(self, run: str, first: str, end: str = ":") -> None:
        """Delete the pieces with keys from `first` to before `end`, by default to the last, and their parents."""
        with self._connection.writing():
            for key in self._pieces.cut(run, first, end):
                self._put_parents(run, "/".join(str(int(number)) for number in key.split("/")), ())

    def _put_parents(self, run: str, child: str, parents: Sequence[Parent]) -> None:
        """Store the parents of a piece or a draft, replacing earlier ones, within the transaction that stores it."""
        # A dollar sign sorts next after a number sign.
        self._parents.cut(run, f"{child}#", f"{child}$")
        for place, parent in enumerate(parents):
            self._parents.put(parent, run=run, key=f"{child}#{ordered(place)}")

    def parents(self, run: str) -> dict[str, tuple[Parent, ...]]:
        """Return the parents of each piece or draft of a run, in prompt order."""
        parents: dict[str, list[Parent]] = {}
        for row in self._parents.rows(run=run):
            parents.setdefault(row["key"].rpartition("#")[0], []).append(self._parents.read(row))
        return {child: tuple(of_child) for child, of_child in parents.items()}

    def piece_of(self, run: str, text: str) -> Piece | None:
        """Return the last partial summary with this text id, or None."""
        return self._pieces.first("key DESC", run=run, text=text)


def _key_of(piece: Piece) -> str:
    return "/".join(map(ordered, (piece.level, piece.index, piece.step)))


@contextmanager
def damage_named(key: str) -> Iterator[None]:
    """Raise unreadable values as `DamagedRun`."""
    try:
        yield
    except DAMAGE as error:
        raise DamagedRun(f"run {key} is damaged: {type(error).__name__}: {error}", fix=_DAMAGED) from error


def _run(row: Row) -> Run:
    """Return the run in a row; raises `DamagedRun`, or `RunError` if a later version stored settings that this one does
    not know."""
    with damage_named(str(row["id"])):
        try:
            return record_in(Run, row, *_COLUMNS)
        except ValidationError as error:
            field, problem = first_problem(error)
            if not field.startswith("order."):
                raise
            raise RunError(
                f"run {row['id']} was made by redraft {json.loads(row['body'])['version']}: this version does not know"
                f" its settings ({field.removeprefix('order.')}: {problem})",
                hint="update redraft, or use the version that made it",
            ) from error


T = TypeVar("T")


def _in_order(by_metric: Mapping[str, T]) -> dict[str, T]:
    """Return what there is by metric, in the order in which metrics are listed: they are judged at the same time."""
    listed = (metric for metric in LISTED_METRICS if metric in by_metric)
    return {metric: by_metric[metric] for metric in dict.fromkeys((*listed, *by_metric))}


class Judgments:
    """The evaluations in one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._evaluations = RecordTable(
            connection,
            *("evaluations", Evaluation, ("draft", "metric")),
            row=lambda evaluation: {"metric": evaluation.metric, "score": evaluation.score},
            order="rowid",
        )

    def keep(self, draft: str, evaluation: Evaluation) -> None:
        """Store a metric's evaluation of a draft, replacing an earlier one."""
        # The place of a finding is that of its evidence, which its document tells.
        findings = tuple(replace(finding, place=None) for finding in evaluation.findings)
        self._evaluations.put(replace(evaluation, findings=findings), draft=draft)

    def of(self, draft: str) -> dict[str, Evaluation]:
        """Return the evaluations of a draft by metric."""
        return _in_order(self._evaluations.by("metric", draft=draft))

    def scores(self, drafts: Sequence[str]) -> dict[str, dict[str, float | None]]:
        """The scores of some drafts by metric, read at once and without findings."""
        scores: dict[str, dict[str, float | None]] = {}
        query = f"SELECT draft, metric, score FROM evaluations WHERE draft {IN_LIST} ORDER BY rowid"  # noqa: S608
        for row in self._connection.rows(query, (in_list(drafts),)):
            scores.setdefault(row["draft"], {})[row["metric"]] = row["score"]
        return {draft: _in_order(of_draft) for draft, of_draft in scores.items()}


@dataclass(frozen=True, slots=True)
class HumanOpinion:
    """A person's opinion on a finding of a run."""

    run: str
    finding: str
    draft: str
    """The draft that has the finding."""
    agrees: bool
    """Whether the person agrees that it is an error."""
    note: str = ""
    said: str = ""
    """The time."""
