"""Judges that are right and err in form, in a small form: the whole of it is `python -m tests.torture.forms 200`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.torture import forms
from tests.torture.forms import METRICS, Outcome, World, held, scored_wrongly

pytestmark = pytest.mark.slow


def test_no_score_is_another_than_the_right_one() -> None:
    assert list(scored_wrongly(4, 1)) == []


@pytest.mark.parametrize("metric", METRICS)
def test_another_score_or_verdict_is_noticed(metric: str) -> None:
    world, clean = forms._world(0)
    right = clean[metric]
    assert held(world, right, right) == Outcome("right")
    assert right.score is not None
    other = replace(right, score=right.score / 2)
    assert "nothing is said" in held(world, other, right).wrong
    assert held(world, replace(other, unjudged=1), right) == Outcome("partly unjudged")
    another = World(forms.random.Random(1))
    assert another.summary != world.summary
    assert held(another, right, right).ending == "wrong"
