"""Replies in any form: what can be read is stored, and no score is another than the right one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.torture import forms
from tests.torture.envelopes import many
from tests.torture.forms import METRICS, Outcome, World, held, scored_wrongly

pytestmark = pytest.mark.slow


def test_answer_in_any_form_is_stored() -> None:
    tally = many(60)
    assert tally["ok"] > 30
    assert not tally["bug"]


def test_scores_are_always_the_right_ones() -> None:
    assert list(scored_wrongly(4, 1)) == []


@pytest.mark.parametrize("metric", METRICS)
def test_another_score_or_verdict_is_noticed(metric: str) -> None:
    world, clean = forms._world(0)
    right = clean[metric]
    assert held(world, right, right) == Outcome("right")
    assert right.score is not None
    changed = replace(right, score=right.score / 2)
    assert "nothing is said" in held(world, changed, right).wrong
    assert held(world, replace(changed, unjudged=1), right) == Outcome("partly unjudged")
    another = World(random.Random(1))
    assert another.summary != world.summary
    assert held(another, right, right).ending == "wrong"
