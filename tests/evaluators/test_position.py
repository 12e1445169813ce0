"""Where a summary comes from, and whether that is spread evenly: figures, and a goal for who wants one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Document, Evaluation
from redraft.evaluators.position import UNTOLD
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
