"""A panel: every figure of an evaluation is a mean over its items, whoever has judged which of them."""

from __future__ import annotations

from math import isclose
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.evaluators.base import JudgeVerdicts, PanelVerdicts, mean_evaluation
from redraft.evaluators.coverage import shares
from redraft.evaluators.faithfulness import by_level
from redraft.evaluators.keyfact_recall import recalls
from redraft.evaluators.reference.keyfacts import LEVELS, items_of
from redraft.evaluators.statistics import Statistics
from tests.evaluators.test_keyfacts import GROWN, tree

ITEMS = items_of([tree(GROWN), tree(GROWN, position=0.7)])
GOOD, BAD, WORSE = "good", "bad", "worse"


@st.composite
def panels(draw: st.DrawFn) -> list[JudgeVerdicts]:
    """Up to five judges, each with verdicts on some of the items; what is good may count less than all of it."""
    sittings = []
    for number in range(draw(st.integers(1, 5))):
        by_item = draw(st.dictionaries(st.sampled_from(range(len(ITEMS))), st.sampled_from([GOOD, BAD, WORSE])))
        points = {n: draw(st.floats(0.5, 1)) if verdict == GOOD else 0.0 for n, verdict in by_item.items()}
        sittings.append(JudgeVerdicts(f"judge {number}", by_item, points))
    return sittings


def weighted(parts: Any, name: str) -> float:
    """What the parts of a breakdown come to together."""
    total = sum(part["judged"] for part in parts)
    return sum(part[name] * part["judged"] for part in parts if part["judged"]) / total


@settings(max_examples=40)
@given(panels())
def test_score_is_the_mean_of_its_breakdowns(sittings: list[JudgeVerdicts]) -> None:
    panel = PanelVerdicts.of(sittings, len(ITEMS))
    items, evaluation = panel.items, mean_evaluation(Statistics(), panel)

    assert items.keys() == {n for sitting in sittings for n in sitting.by_item}
    if not items:
        assert (evaluation.outcome, evaluation.score) == ("failed", None)
        return
    score = evaluation.score
    assert score is not None
    values = {n: item.value for n, item in items.items()}
    levels = {n: {item.fact.level} for n, item in enumerate(ITEMS)}
    of_recall, of_faithfulness = recalls(ITEMS, values, range(len(ITEMS))), by_level(values, levels)
    breakdowns = [
        weighted(shares(items, [item.fact.level for item in ITEMS]).values(), "score"),
        weighted(shares(items, [item.bin for item in ITEMS]).values(), "score"),
        weighted([of_recall[level] for level in LEVELS], "recall"),
        weighted([of_faithfulness[level] for level in LEVELS], "faithfulness"),
        of_recall["all"]["recall"],
        of_faithfulness["all"]["faithfulness"],
        (of_recall["all"]["stated"] or 0) / len(items),
    ]
    assert all(share is not None and isclose(share, score, abs_tol=1e-12) for share in breakdowns)
