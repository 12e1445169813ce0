"""That the judge goes on agreeing with people, on the half of the data that it was developed on."""

from __future__ import annotations

import pytest

from benchmarks.agreement import (
    QAGS,
    SUMMEVAL,
    bigram_precision,
    consistency,
    per_summary,
    per_system,
    qags,
    some,
    summeval,
)


@pytest.mark.slow
@pytest.mark.skipif(not QAGS.is_file(), reason="needs $REDRAFT_DATA")
def test_consistency_agrees_with_people_about_summaries() -> None:
    items = [item for item in qags() if not item.held_out]
    assert per_summary(items, consistency(items)) > 0.48


@pytest.mark.slow
@pytest.mark.skipif(not SUMMEVAL.is_dir(), reason="needs $REDRAFT_DATA")
def test_consistency_ranks_systems_better_than_bigrams_do() -> None:
    items = some([item for item in summeval() if not item.held_out], 12)
    assert per_system(items, consistency(items)) > per_system(items, bigram_precision(items))
