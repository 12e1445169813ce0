"""The drawings of a dossier: what they show and say, with nothing from outside read as markup."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup

from redraft.report.drawings import (
    Difference,
    PartScore,
    RoundScore,
    TimedCall,
    calls_over_time,
    density,
    differences,
    document_parts,
    parts_of,
    rounds,
)


def alt(figure: Markup) -> str:
    ElementTree.fromstring(figure)
    found = re.search(r'aria-label="([^"]*)"', figure)
    assert found is not None
    return found[1]


def test_rounds_connect_accepted_drafts_and_leave_rejected_ones_hollow() -> None:
    figure = rounds([RoundScore("coverage", [0.4, 0.3, None, 0.6], 0.5)], [True, False, True, True])
    assert "coverage: 0.40, 0.30, –, 0.60." in alt(figure)
    assert figure.count("plot-hollow") == 1
    # The draft and round 2 are neighbours, but round 2 has no score.
    assert figure.count("plot-curve") == 0
    assert "goal 0.50" in figure
    joined = rounds([RoundScore("<b>", [0.4, 0.3, 0.6])], [True, False, True])
    assert joined.count("plot-curve") == 1
    assert "<b>:" not in joined


def test_places_say_where_most_comes_from() -> None:
    assert alt(density({"a": [0.5, 1.5], "b": [1, 1]})).endswith("a: highest at 75%. b: highest at 25%.")
    figure = parts_of({"a": [0.4, 0.2, 0.2], "b": [0, 0, 0]}, ("beginning", "middle", "end"), "third")
    assert "a: beginning 50%, middle 25%, end 25%. b: beginning 0%, middle 0%, end 0%." in figure
    alt(figure)


def test_differences_that_may_be_chance_are_hollow() -> None:
    rows = [Difference("coverage", 0.2, 0.1, 0.3), Difference("consistency", -0.1, -0.3, 0.1)]
    figure = differences("A minus B", ("A", "B"), rows)
    assert "coverage: +0.20 [+0.10, +0.30]. consistency: -0.10 [-0.30, +0.10]." in alt(figure)
    assert figure.count("plot-hollow") == 1


def test_parts_of_the_document_have_their_counts_and_intervals() -> None:
    parts = [PartScore("0 to 20%", 0.5, 4, 1, 0.2, 0.8), PartScore("20 to 40%", None, 0, 1)]
    figure = document_parts("Coverage", "share", parts)
    assert "0 to 20%: 0.50, 4 of 5 items judged; 20 to 40%: –, 0 of 1 item judged" in alt(figure)
    assert figure.count("plot-rule") == 1


def test_calls_at_the_same_time_lie_in_different_lanes() -> None:
    calls = [TimedCall("judge", 0, 2), TimedCall("draft", 1, 3, failed=True), TimedCall("judge", 2, 4)]
    figure = calls_over_time(calls)
    heights = re.findall(r'y="([\d.]+)" width="[\d.]+" height="[\d.]+" class="plot-(?:bar|failed)', figure)
    assert sorted(heights) == ["24.0", "8.0", "8.0", "90.0"], "the last is the legend's"
    assert "3 calls in 4.0 s, at most 2 at the same time; 1 failed." in figure
    assert alt(figure).endswith("judge (2), draft (1)")
    many = [TimedCall("judge", at / 1000, at / 1000) for at in range(30_000)]
    assert len(calls_over_time(many)) < 200_000
