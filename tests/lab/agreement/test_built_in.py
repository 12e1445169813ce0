"""How far the built-in checks agree with people."""

from __future__ import annotations

import pytest

from benchmarks.agreement import HALVES, QAGS, SUMMEVAL, Set, half, judged, per_summary, rows_by_judge


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "documents", "minimum"), [(QAGS, None, 0.5), (SUMMEVAL, 12, 0.3)], ids=("QAGS", "SummEval")
)
def test_consistency_agrees_with_people_about_summaries(dataset: Set, documents: int | None, minimum: float) -> None:
    if not dataset.is_there:
        pytest.skip("needs $REDRAFT_DATA")
    with judged(half(dataset.read(), HALVES[0], documents), dataset.metric, dataset.human) as (outcome, _):
        tau = per_summary(rows_by_judge(outcome)[0])
    assert tau is not None
    assert tau > minimum
