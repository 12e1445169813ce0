"""That the judge goes on agreeing with people, on the half of the data that it was developed on."""

from __future__ import annotations

import pytest

from benchmarks.agreement import QAGS, consistency, per_summary, qags


@pytest.mark.slow
@pytest.mark.skipif(not QAGS.is_file(), reason="needs $REDRAFT_DATA")
def test_consistency_agrees_with_people_about_summaries() -> None:
    items = [item for item in qags() if not item.held_out]
    assert per_summary(items, consistency(items)) > 0.48
