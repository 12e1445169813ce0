"""The figures on a summary: worked out by hand, there beside every metric, and never a score."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Document, Evaluation, record_json
from redraft.errors import UsageError
from redraft.readers.documents import parse
from redraft.report.history.results import Result
from redraft.report.history.trace import read_trace, scores_of
from tests.judges import Court, island, told

SOURCE = "The keeper lit the lamp. The keeper wrote it down.\n\nA gull slept on the rail. Nobody came. Nobody knew."
SUMMARY = "The keeper lit the lamp. The keeper slept on the rail."


def document(text: str = SOURCE) -> Document:
    return parse(text.encode(), name="lamp.txt")


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path, document=document())
    yield made
    made.store.close()


async def measured(court: Court, summary: str, **given: Any) -> Evaluation:
    return (await court.evaluate(summary, metrics=("statistics",), **given)).evaluations["statistics"]


async def test_the_figures_of_a_summary(court: Court) -> None:
    found = await measured(court, SUMMARY)
    details: Any = found.details

    assert (found.outcome, found.score, found.judged, found.unjudged, found.findings) == ("measured", None, 0, 0, ())
    assert {**details["summary"], "tokens": 0} == {"tokens": 0, "words": 11, "sentences": 2}
    assert {**details["source"], "tokens": 0} == {"tokens": 0, "words": 20, "sentences": 5}
    tokens = details["source"]["tokens"] / details["summary"]["tokens"]
    assert details["compression"] == {"tokens": pytest.approx(tokens), "sentences": 2.5}
    # The first seven units and the next are one fragment, "slept on the rail." another.
    assert details["extractive"] == {"coverage": 1.0, "density": (8 * 8 + 5 * 5) / 13}
    assert details["novel_ngrams"] == {"1": 0.0, "2": 1 / 11, "3": 2 / 11, "4": 3 / 10}
    assert details["repeated_ngrams"] == {"1": 3 / 8, "2": 1 / 11, "3": 0.0, "4": 0.0}
    # "the keeper ... the" of five words and of six.
    assert details["redundancy"] == pytest.approx(2 * 3 / (5 + 6))
    assert 0 < details["uniformity"] < 1
    assert json.loads(json.dumps(details, allow_nan=False)) == details


async def test_undefined_ratios_have_no_figure(court: Court) -> None:
    details: Any = (await measured(court, "Harbour")).details

    assert details["novel_ngrams"] == {"1": 1.0, "2": None, "3": None, "4": None}
    assert details["repeated_ngrams"] == {"1": 0.0, "2": None, "3": None, "4": None}
    assert details["extractive"] == {"coverage": 0.0, "density": 0.0}
    assert details["redundancy"] is None
    assert details["uniformity"] is None


@pytest.mark.parametrize("summary", ["", "… — !"])
async def test_summary_without_words_is_not_measured(court: Court, summary: str) -> None:
    result = await court.evaluate(summary, metrics=("statistics",))
    found = result.evaluations["statistics"]

    assert (found.outcome, found.score, found.details) == ("not_applicable", None, {})
    assert found.reason == "the summary has no words"
    assert result.scores == {}
    assert result.statistics is None
    assert result.complete


@pytest.mark.parametrize("metrics", [("consistency",), ("statistics", "consistency")])
async def test_statistics_stand_beside_metrics_without_score(court: Court, metrics: tuple[str, ...]) -> None:
    result = await court.evaluate(told(1, 2), document=island(), metrics=metrics)

    assert list(result.evaluations) == ["consistency", "statistics"]
    assert result.scores == {"consistency": 1.0}
    assert result.record().scores == {"consistency": 1.0}
    assert scores_of(court.store, court.store.runs.get(result.run.id)) == {"consistency": 1.0}
    assessed: Any = result.model_dump()
    assert assessed["metrics"]["statistics"]["details"] == result.statistics
    assert result.complete


@pytest.mark.slow
async def test_every_draft_of_a_refinement_is_measured(tmp_path: Path) -> None:
    court = Court(tmp_path)
    result: Result = await court.refine(told(1, wrong={2: "Bob"}))
    trace = read_trace(court.store, result.run.id)
    shown: Any = record_json(trace)

    assert len(trace.rounds) > 1
    assert set(result.initial_scores) == set(result.scores) == {"coverage", "consistency"}
    assert result.initial["statistics"].outcome == "measured"
    assert [made["metrics"]["statistics"]["details"]["summary"]["words"] for made in shown["rounds"]] == [
        turn.draft.words for turn in trace.rounds
    ]
    assert all(set(made["scores"]) == set(result.scores) for made in shown["rounds"])
    assert all(set(made["metrics"]) == {*result.scores, "newcomer", "statistics"} for made in shown["rounds"])
    assert shown["rounds"][-1]["metrics"]["statistics"]["details"] == result.record().statistics
    court.store.close()


async def test_they_cannot_be_a_goal(court: Court) -> None:
    with pytest.raises(UsageError, match="statistics give no score, so they cannot be a goal"):
        await court.refine(SUMMARY, goals={"coverage": 0.8, "statistics": 0.5})
    assert court.sheets == []


@pytest.mark.slow
async def test_a_document_of_one_endless_line(court: Court) -> None:
    line = document("lamp-" * 100_000)
    details: Any = (await measured(court, "The lamp. A lamp, a lamp.", document=line)).details

    assert details["source"]["sentences"] == 1
    assert details["extractive"]["coverage"] == pytest.approx(3 / 9)
    assert details["uniformity"] == pytest.approx(1)
