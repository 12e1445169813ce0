"""What rulings make of an evaluation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redraft.domain import Evaluation, Finding, Ruling
from redraft.evaluators.metric_info import withdrawn
from redraft.evaluators.panel import without_overruled

ONE = Finding("consistency", "unsupported", "remove", "The document does not say this.", sentence="Ann came.")
OTHER = replace(ONE, sentence="Bob left.", value=0.25)
SAID = Evaluation("consistency", 1, "scored", 0.5, judged=4, findings=(ONE, OTHER), details={"claims": 4})


def ruling(finding: Finding, **changes: object) -> dict[str, Ruling]:
    made = Ruling("document", finding.id, "supported", "Ann came in.", 3, 15, "It says so.", "judge")
    return {finding.id: replace(made, **changes)}


def test_the_score_rises_by_what_the_item_was_short_of() -> None:
    assert without_overruled(SAID, ruling(ONE)).score == pytest.approx(0.75)
    assert without_overruled(SAID, ruling(OTHER)).score == pytest.approx(0.6875)
    both = without_overruled(SAID, ruling(ONE) | ruling(OTHER))
    assert both.score == pytest.approx(0.9375)
    assert both.findings == ()
    assert [one["sentence"] for one in withdrawn(both)] == ["Ann came.", "Bob left."]
    assert both.details["claims"] == 4


def test_in_two_steps_it_comes_to_the_same() -> None:
    steps = without_overruled(without_overruled(SAID, ruling(ONE)), ruling(ONE) | ruling(OTHER))
    assert steps == without_overruled(SAID, ruling(ONE) | ruling(OTHER))


@pytest.mark.parametrize(
    "changes", [{"verdict": "contradicted"}, {"verdict": "absent"}, {"verdict": "unclear"}, {"start": None}]
)
def test_any_other_ruling_leaves_it_as_it_is(changes: dict[str, object]) -> None:
    assert without_overruled(SAID, ruling(ONE, **changes)) is SAID


def test_no_score_is_made_of_none_and_none_is_more_than_one() -> None:
    failed = replace(SAID, outcome="failed", score=None)
    assert without_overruled(failed, ruling(ONE)).score is None
    assert without_overruled(failed, ruling(ONE)).findings == (OTHER,)
    assert without_overruled(replace(SAID, score=0.9), ruling(ONE)).score == 1.0
