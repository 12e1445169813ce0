"""The tables on a batch: means with how much they would differ, in memory that does not grow with the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from redraft.batches.sources import BatchItem
from redraft.batches.tables import BatchStanding, BatchTotals, report_of
from redraft.report.dossier.comparison.sides import interval_of_mean
from redraft.store.batches import Batch, ItemStates

ITEM = BatchItem(
    source="a", state="done", run="r", title="A", document="d", summary="Words.", words=1, complete=True,
    stop_reason="complete", scores={}, self_check=False, goals={}, gaps=0, calls=2, prompt_tokens=10,
    completion_tokens=5, cost_usd=0.1, seconds=1.0, file="a.md", dossier=None, priority=0, attempts=1, error=None,
)  # fmt: skip


def figures(scores: Sequence[float | None]) -> dict[str, Any]:
    standing = BatchStanding(Batch("b", {}, {}), ItemStates(done=len(scores)), 1, 0.0)
    report = report_of([replace(ITEM, scores={"coverage": one}) for one in scores], standing)
    table = next(one for one in report.tables if one.name == "figures")
    return next(dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == "coverage")


def test_a_mean_has_the_interval_that_experiments_give_it() -> None:
    draw = Random(7)
    scores = [draw.random() for _ in range(40)]
    shown, known = figures([*scores, None]), interval_of_mean(scores)
    assert known is not None
    assert (shown["documents"], shown["without"], shown["low"], shown["high"]) == (40, 1, known.low, known.high)
    assert shown["mean"] == pytest.approx(sum(scores) / 40)
    few = figures(scores[:4])
    assert (few["low"], few["high"]) == (None, None)
    assert few["mean"] is not None


@pytest.mark.slow
def test_of_many_documents_the_interval_is_reckoned_and_hardly_differs() -> None:
    draw = Random(8)
    scores = [draw.random() ** 2 for _ in range(3000)]
    shown, known = figures(scores), interval_of_mean(scores)
    assert known is not None
    assert shown["low"] == pytest.approx(known.low, abs=0.002)
    assert shown["high"] == pytest.approx(known.high, abs=0.002)
    assert known.high - known.low > 0.015, "so that such a difference says something"


def test_no_more_is_kept_of_many_than_of_few() -> None:
    tally = BatchTotals()
    for number in range(3000):
        tally.add(replace(ITEM, source=str(number), scores={"coverage": 0.5}))
    assert {len(one.first) for one in tally.figures.values()} == {500}


def test_failures_are_named_by_message_and_messages_are_bounded() -> None:
    tally = BatchTotals()
    for number in range(900):
        error = {
            "code": "document",
            "message": f"fault {number}" if number % 2 else "it is empty",
            "hint": "get it again",
        }
        tally.add(replace(ITEM, source=f"{number}.txt", state="failed", error=error))
    assert len(tally.troubles) == 201
    standing = BatchStanding(Batch("b", {}, {}), ItemStates(failed=900), 1, 0.0)
    first, second = tally.report(standing).tables[1].rows[:2]
    assert first == ("failed", "document", 450, "0.txt, 2.txt, 4.txt", "it is empty; get it again")
    assert second[-1] == "various messages"
