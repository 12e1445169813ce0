"""The tables of a batch, stored texts, and names of engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from redraft.batches.engine import engine_named
from redraft.batches.queue import Batches
from redraft.batches.sources import BatchItem, add_items
from redraft.batches.tables import BatchResult, BatchSnapshot, report_of
from redraft.batches.worker import keep_texts, text_of
from redraft.domain import widened
from redraft.errors import UsageError
from redraft.evaluators.statistics import interval_of_mean
from redraft.events import ItemCounts
from redraft.readers.documents import load
from redraft.readers.parts import Selection
from redraft.store.store import Store
from tests.batches.test_work import folder as folder
from tests.batches.test_work import opened
from tests.batches.test_work import store as store

ITEM = BatchItem(
    source="a", state="done", run="r", title="A", document="d", summary="Words.", words=1, complete=True,
    stop_reason="complete", scores={}, offline_check=False, goals={}, gaps=0, calls=2, prompt_tokens=10,
    completion_tokens=5, cost_usd=0.1, seconds=1.0, file="a.md", priority=0, attempts=1, error=None,
)  # fmt: skip


def figures(scores: Sequence[float | None]) -> dict[str, Any]:
    snapshot = BatchSnapshot("b", counts=ItemCounts(done=len(scores)), calls=1, cost_usd=0.0)
    report = report_of([replace(ITEM, scores={"coverage": score}) for score in scores], snapshot)
    table = next(table for table in report.tables if table.name == "figures")
    return next(dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == "coverage")


def test_means_have_the_experiments_interval() -> None:
    draw = Random(7)
    scores = [draw.random() for _ in range(40)]
    row, interval = figures([*scores, None]), interval_of_mean(scores)
    assert interval is not None
    assert (row["documents"], row["no score"]) == (40, 1)
    assert (row["95% low"], row["95% high"]) == pytest.approx((interval.low, interval.high), abs=0.01)
    assert row["mean"] == pytest.approx(sum(scores) / 40)
    few = figures(scores[:4])
    assert (few["95% low"], few["95% high"]) == (None, None)
    assert few["mean"] is not None


def test_frame_names_failed_documents() -> None:
    pytest.importorskip("pandas", reason="redraft itself does not bring it")
    error = {"code": "document", "message": "it has no words", "hint": ""}
    failed = replace(ITEM, source="b", state="failed", title=None, error=error)
    snapshot = BatchSnapshot("b", counts=ItemCounts(done=1, failed=1), calls=1, cost_usd=0.0)
    items = (replace(ITEM, scores={"coverage": 0.5}), failed)
    result = widened(BatchResult, snapshot, items=items, report=report_of(items, snapshot))
    rows = result.to_frame().to_dict("records")
    assert [(row["source"], row["state"]) for row in rows] == [("a", "done"), ("b", "failed")]
    assert rows[1]["error"] == "it has no words"
    assert rows[0]["coverage"] == 0.5
    assert rows[0]["summary"] == "Words."


def test_failures_are_counted_by_message() -> None:
    items = []
    for number in range(900):
        message = f"fault {number}" if number % 2 else "it is empty"
        error = {"code": "document", "message": message, "hint": "get it again"}
        items.append(replace(ITEM, source=f"{number}.txt", state="failed", error=error))
    snapshot = BatchSnapshot("b", counts=ItemCounts(failed=900), calls=1, cost_usd=0.0)
    first, second, *more = report_of(items, snapshot).tables[1].rows
    assert first == ("failed", "document", 450, "0.txt, 2.txt, 4.txt", "it is empty; get it again")
    assert second == ("failed", "document", 1, "1.txt", "fault 1; get it again")
    assert len(more) == 10


def test_texts_are_stored_as_workers_read(store: Store, folder: Path) -> None:
    (folder / "in" / "book.md").write_text("# Chapter 1\n\nThe first.\n\n# Chapter 2\n\nThe second.\n", "utf-8")
    reading = Selection(chapters="2", language="de")
    opened(store, folder)
    (item,) = Batches(store).items("b")
    keep_texts(store, "b", reading)
    (stored,) = Batches(store).items("b")
    expected = load(item.source, selection=reading)
    text = text_of(store, stored, reading)
    assert (text.text, text.title, text.sections) == (expected.text, expected.title, expected.sections)
    assert "first" not in text.text
    assert keep_texts(store, "b", reading) == 0
    assert add_items(store, "b", [item.source]) == 0
    assert (stored.idx, stored.file, stored.state) == (item.idx, item.file, "waiting")


def test_unknown_engines_are_refused() -> None:
    with pytest.raises(UsageError, match="there is no engine 'moon'; choose from local and ray"):
        engine_named("moon", None, "")
    with pytest.raises(UsageError, match="local workers have no address"):
        engine_named("local", "auto", "")


def test_missing_ray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.plugins.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="the engine ray needs ray, which is not installed") as caught:
        engine_named("ray", None, "")
    assert caught.value.hint == 'pip install "redraft[ray]"'
