"""The figures on a summary: worked out by hand, there beside every metric, and never a score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Document, Evaluation
from redraft.readers.documents import parse
from tests.judges import Harness

SOURCE = "The keeper lit the lamp. The keeper wrote it down.\n\nA gull slept on the rail. Nobody came. Nobody knew."
SUMMARY = "The keeper lit the lamp. The keeper slept on the rail."


def document(text: str = SOURCE) -> Document:
    return parse(text.encode(), name="lamp.txt")


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, document=document())


async def measured(harness: Harness, summary: str, **options: Any) -> Evaluation:
    return (await harness.evaluate(summary, metrics=("statistics",), **options)).evaluations["statistics"]


async def test_figures_of_a_summary_by_hand(harness: Harness) -> None:
    evaluation = await measured(harness, SUMMARY)
    details: Any = evaluation.details
    assert (evaluation.outcome, evaluation.score, evaluation.judged, evaluation.unjudged, evaluation.findings) == (
        "measured",
        None,
        0,
        0,
        (),
    )
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
    details: Any = (await measured(harness, "Harbour")).details
    assert details["novel_ngrams"] == {"1": 1.0, "2": None, "3": None, "4": None}
    assert details["repeated_ngrams"] == {"1": 0.0, "2": None, "3": None, "4": None}
    assert details["extractive"] == {"coverage": 0.0, "density": 0.0}
    assert details["redundancy"] is None
    assert details["uniformity"] is None


@pytest.mark.parametrize("summary", ["", "… — !"])
async def test_summary_without_words_is_not_measured(harness: Harness, summary: str) -> None:
    result = await harness.evaluate(summary, metrics=("statistics",))
    evaluation = result.evaluations["statistics"]

    assert (evaluation.outcome, evaluation.score, evaluation.details) == ("not_applicable", None, {})
    assert evaluation.reason == "the summary has no words"
    assert result.scores == {}
    assert result.record().statistics is None
    assert result.complete
