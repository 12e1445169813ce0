"""Sweeps: what is written, what is asked once for all of it, and the same answers read otherwise."""

from __future__ import annotations

import pytest

from redraft.domain import Evaluation
from redraft.evaluators.similarity import exact, rouge1
from redraft.lab.agreement.trial import read_otherwise, sweep_of
from redraft.settings import JudgeConfig


def test_values_are_listed_and_ranges_have_both_ends() -> None:
    sweep = sweep_of(["threshold=0.2:0.7:0.1", "questions=3-6,6-12,9-15", "similarity=exact,rouge1"])
    assert sweep.values["threshold"] == ("0.2", "0.3", "0.4", "0.5", "0.6", "0.7")
    assert sweep.asked == [(("questions", each),) for each in ("3-6", "6-12", "9-15")]
    assert len(sweep.read) == 12
    assert sweep_of(["top-k=5,5"]).values == {"top_k": ("5",)}
    assert (sweep_of([]).asked, sweep_of([]).read) == ([()], [()])


def test_a_judge_is_asked_in_one_way_for_all_readings() -> None:
    base = JudgeConfig(similarity="rouge1", threshold=0.6)
    sweep = sweep_of(["similarity=exact,rouge1", "threshold=0.2,0.4"])
    how = sweep.judging(base, ())
    assert (how.similarity, how.second_look) == ("rouge1", False)
    assert sweep_of(["similarity=exact,judge"]).judging(base, ()).similarity == "judge"
    asked = sweep_of(["questions=9-15"]).judging(base, (("questions", "9-15"),))
    assert (asked.questions, asked.second_look) == ((9, 15), True)


SAID = ("the keeper of the red lighthouse", "in 1880", "Tom", "by night", "nobody")
ANSWERS = ("the keeper of the lighthouse", "in 1881", "Tom", "", "a boy")


def _claims(unjudged: int = 0) -> Evaluation:
    claims = [
        {"found": found, "expected": expected, "verdict": "consistent", "likeness": float(found == expected)}
        for found, expected in zip(SAID, ANSWERS, strict=True)
    ]
    for claim in claims[:unjudged]:
        claim["verdict"] = "unjudged"
    details = {"claims": claims}
    judged = len(claims) - unjudged
    return Evaluation("consistency", 3, "scored", 0.9, judged, unjudged, details=details)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.6, 0.8])
def test_an_answer_counts_as_far_as_it_is_alike_and_nothing_below_the_threshold(threshold: float) -> None:
    for name, alike in (("exact", exact), ("rouge1", rouge1)):
        likeness = [alike(one, other) if other else 0.0 for one, other in zip(SAID, ANSWERS, strict=True)]
        expected = sum(like for like in likeness if like > threshold) / 5
        reading = (("similarity", name), ("threshold", str(threshold)))
        assert read_otherwise(_claims(), reading, JudgeConfig(), None) == pytest.approx(expected)
    assert len({round(rouge1(one, other), 3) for one, other in zip(SAID, ANSWERS, strict=True) if other}) == 4


def test_the_judges_own_verdict_is_taken_as_it_is_and_too_few_verdicts_are_no_score() -> None:
    reading = (("similarity", "judge"), ("threshold", "0.5"))
    assert read_otherwise(_claims(), reading, JudgeConfig(), None) == pytest.approx(1 / 5)
    assert read_otherwise(_claims(2), reading, JudgeConfig(), None) == pytest.approx(1 / 3)
    assert read_otherwise(_claims(3), reading, JudgeConfig(), None) is None
    assert read_otherwise(_claims(), (), JudgeConfig(), None) == 0.9
