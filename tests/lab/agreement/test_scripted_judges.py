"""The benchmark of scripted judges on an invented set: what is known of them is found; a cascade saves questions."""

from __future__ import annotations

import random

import pytest

from benchmarks import scripted_judges
from benchmarks.scripted_judges import SEPARATION, Scripted, cascades, coverage, recovery
from redraft.lab.agreement.people import Dataset, HumanField, HumanItem
from redraft.lab.agreement.report import LabelledProbability


def invented(share: float) -> Dataset:
    """Four summaries of a document each, a hundred sentences long."""
    draw, items = random.Random(3), []
    for n in range(4):
        labels = tuple(draw.random() < share for _ in range(100))
        said = tuple(
            f"The ferry of Town {100 * n + at} sank in {('May', 'March')[its]}." for at, its in enumerate(labels)
        )
        source = " ".join(f"The ferry of Town {100 * n + at} sank in March." for at in range(100))
        people = {"consistency": sum(labels) / 100}
        items.append(HumanItem(str(n), f"d{n}", "", people, source, sentences=said, labels=labels))
    return Dataset("towns", {"consistency": HumanField(1.0, ("faithfulness",))}, tuple(items))


@pytest.mark.slow
def test_the_fit_finds_the_cuts_of_a_scripted_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_judges, "DRAWS", 100)
    found = recovery("towns", "faithfulness", "consistency", invented(0.5))
    assert found.fitted_on == found.held_out == 200
    assert found.cuts == pytest.approx(found.known_cuts, abs=0.2)
    assert found.decided == pytest.approx(found.known_decided, abs=0.06)
    assert found.wrong <= 0.06
    assert found.covered >= 0.93


@pytest.mark.nightly
def test_a_cascade_has_fewer_errors_than_the_dear_judge_at_a_third_of_its_questions() -> None:
    (one,) = cascades("towns", "faithfulness", "consistency", invented(0.8), [SEPARATION])
    assert one.sentences == one.dear_asked == 400
    assert one.both_wrong < one.dear_wrong
    assert 3 * one.both_asked <= one.dear_asked


@pytest.mark.slow
def test_an_interval_without_the_calibration_does_not_cover_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted_judges, "DRAWS", 100)
    draw = random.Random(1)
    pairs = [LabelledProbability(0.5, draw.random() < 0.8, f"d{n % 4}") for n in range(400)]
    judge = Scripted(0.8)
    assert coverage(pairs, judge, fit=False) >= 0.93
    assert coverage(pairs, judge, fit=True) >= 0.85
    monkeypatch.setattr(scripted_judges, "calibrated", lambda probability, _: probability)
    assert coverage(pairs, judge, fit=False) < 0.8
