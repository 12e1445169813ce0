"""Figures on a summary, by hand: its statistics, where it comes from, and whether that is spread evenly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Document, Evaluation
from redraft.evaluators.statistics import UNTOLD
from redraft.readers.documents import parse
from tests.judges import Harness

NAMES = "Hester Tobias Josiah Philip Duchess Wickmouth Sarnholm Pettifer Lomax Dunne Gannet Harrow"
THINGS = "ledger causeway comptometer umbrella saltpan lantern harbour chapel ferry orchard quarry mill"
DEEDS = "mended painted counted guarded borrowed measured buried auctioned weighed drained burned mapped"
SIGHTS = "moonlight frost thunder snowfall dusk harvest floodwater market eclipse drought carnival autumn"
FACTS = [
    f"{name} {deed} the old {thing} of Sarn in 19{year} after the {sight}."
    for year, (name, deed, thing, sight) in enumerate(
        zip(*map(str.split, (NAMES, DEEDS, THINGS, SIGHTS)), strict=True), 10
    )
]
INVENTED = "A submarine surfaced beside Antarctica carrying forty violinists."


def book() -> Document:
    chapters = [f"## Part {n}\n\n{fact}" for n, fact in enumerate(FACTS, 1)]
    return parse("\n\n".join(["# The Marsh", *chapters]).encode(), name="marsh.md")


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, document=book())


async def judged(harness: Harness, summary: str, metric: str = "position", **options: Any) -> Evaluation:
    result = await harness.evaluate(summary, metrics=(metric,), **options)
    assert result.usage.calls == 0
    assert harness.sheets == []
    return result.evaluations[metric]


async def test_sentences_have_paragraphs_or_count_as_untraced(harness: Harness) -> None:
    evaluation = await judged(harness, " ".join([FACTS[1], INVENTED, FACTS[10]]))
    details: Any = evaluation.details
    assert (evaluation.outcome, evaluation.score, evaluation.judged, evaluation.unjudged, evaluation.findings) == (
        "measured",
        None,
        2,
        1,
        (),
    )
    assert (details["traced"], details["untraced"]) == (2, 1)
    first, invented, last = details["sentences"]
    assert [sentence["id"] for sentence in details["sentences"]] == [1, 2, 3]
    assert invented["places"] == []
    for sentence, fact in ((first, FACTS[1]), (last, FACTS[10])):
        (place,) = sentence["places"]
        paragraphs = harness.document.text.split("\n\n")
        assert fact.startswith(harness.document.text[slice(*place["span"])])
        assert paragraphs[place["paragraph"] - 1] == fact
        assert (place["method"], sentence["margin"]) == ("quotation", 1.0)
    assert details["thirds"] == [0.5, 0.0, 0.5]
    assert [sentence["title"] for sentence in details["sections"]][:2] == ["Part 1", "Part 2"]
    assert [at for at, sentence in enumerate(details["sections"]) if sentence["share"]] == [1, 10]
    assert sum(sentence["expected"] for sentence in details["sections"]) == pytest.approx(1, abs=0.02)
    assert json.loads(json.dumps(details, allow_nan=False)) == details
    details: Any = (await judged(harness, FACTS[0], reference=f"{FACTS[11]} {FACTS[10]} {INVENTED}")).details
    assert details["thirds"] == [1.0, 0.0, 0.0]
    assert details["reference"]["thirds"] == [0.0, 0.0, 1.0]
    assert (details["reference"]["traced"], details["reference"]["untraced"]) == (2, 1)


@pytest.mark.parametrize("metric", ["position", "spread"])
async def test_summary_without_words_has_no_position(harness: Harness, metric: str) -> None:
    assert (await judged(harness, "…", metric)).outcome == "not_applicable"


async def test_spread_tells_even_from_early_summaries(harness: Harness) -> None:
    even = await judged(harness, " ".join(FACTS), "spread")
    early = await judged(harness, " ".join(FACTS[:3]), "spread")

    assert even.score is not None
    assert even.score > 0.95
    assert even.findings == ()
    assert early.score is not None
    assert early.score < 0.5
    assert {(finding.kind, finding.task) for finding in early.findings} == {(UNTOLD, "add")}
    places = [finding.evidence.span.start for finding in early.findings if finding.evidence and finding.evidence.span]
    assert len(places) == len(early.findings) == 2
    assert min(places) >= len(harness.document.text) // 3


SOURCE = "The keeper lit the lamp. The keeper wrote it down.\n\nA gull slept on the rail. Nobody came. Nobody knew."
SUMMARY = "The keeper lit the lamp. The keeper slept on the rail."


def document(text: str = SOURCE) -> Document:
    return parse(text.encode(), name="lamp.txt")


@pytest.fixture
def short_harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, document=document())


async def measured(short_harness: Harness, summary: str, **options: Any) -> Evaluation:
    return (await short_harness.evaluate(summary, metrics=("statistics",), **options)).evaluations["statistics"]


async def test_figures_of_a_summary_by_hand(short_harness: Harness) -> None:
    evaluation = await measured(short_harness, SUMMARY)
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
    details: Any = (await measured(short_harness, "Harbour")).details
    assert details["novel_ngrams"] == {"1": 1.0, "2": None, "3": None, "4": None}
    assert details["repeated_ngrams"] == {"1": 0.0, "2": None, "3": None, "4": None}
    assert details["extractive"] == {"coverage": 0.0, "density": 0.0}
    assert details["redundancy"] is None
    assert details["uniformity"] is None


@pytest.mark.parametrize("summary", ["", "… — !"])
async def test_summary_without_words_is_not_measured(short_harness: Harness, summary: str) -> None:
    result = await short_harness.evaluate(summary, metrics=("statistics",))
    evaluation = result.evaluations["statistics"]

    assert (evaluation.outcome, evaluation.score, evaluation.details) == ("not_applicable", None, {})
    assert evaluation.reason == "the summary has no words"
    assert result.scores == {}
    assert result.record().statistics is None
    assert result.complete
