"""What the line of a run at work says."""

from __future__ import annotations

from redraft.cli.views.progress import ProgressTotals
from redraft.domain import Usage
from redraft.events import CallAnswered, CallFailed, CallStarted, StageStarted


def test_calls_under_way_are_no_work_undone() -> None:
    tally = ProgressTotals()
    tally.take(StageStarted("judging", 0))
    for n in range(4):
        tally.take(CallStarted(f"questions {n}"))
    assert tally.line() == "0 calls · 4 under way · 0 tokens"
    assert ProgressTotals(done=1).line() == "1 call · 0 tokens"

    tally.take(CallFailed("questions 1", "busy", 1.0))
    tally.take(CallAnswered("questions 2", Usage(10, 5), 0.0, cached=False))
    tally.take(CallAnswered("questions 4", Usage(10, 5), 0.0, cached=True))
    assert tally.line().startswith("2 calls · 2 under way · 1 from the cache · 15 tokens")


def test_of_calls_that_are_planned_it_says_how_many() -> None:
    tally = ProgressTotals()
    tally.take(StageStarted("hierarchical", 3))
    tally.take(CallStarted("chunk 1"))
    assert tally.line() == "0/3 calls · 0 tokens"
