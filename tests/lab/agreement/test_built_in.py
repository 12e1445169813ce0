"""How far the built-in checks agree with people, and the file that says so."""

from __future__ import annotations

import tomllib

import pytest

from benchmarks.agreement import HALVES, QAGS, SUMMEVAL, half, judged, per_summary, per_system, rows_by_judge, written
from redraft.builtin.facade import IDENTITY
from redraft.store.judgments import Agreement, JudgeSetup


@pytest.mark.slow
@pytest.mark.skipif(not QAGS.is_there, reason="needs $REDRAFT_DATA")
def test_consistency_agrees_with_people_about_summaries() -> None:
    with judged(half(QAGS.read(), HALVES[0]), QAGS.metric, QAGS.human) as (outcome, _):
        agreed = per_summary(rows_by_judge(outcome)[0])
    assert agreed is not None
    assert agreed > 0.5


@pytest.mark.slow
@pytest.mark.skipif(not SUMMEVAL.is_there, reason="needs $REDRAFT_DATA")
def test_consistency_ranks_systems_better_than_bigrams_do() -> None:
    with judged(half(SUMMEVAL.read(), HALVES[0], 12), SUMMEVAL.metric, SUMMEVAL.human) as (outcome, _):
        agreed, plain = map(per_system, rows_by_judge(outcome))
    assert agreed is not None
    assert plain is not None
    assert agreed > plain


def test_what_is_written_is_what_the_package_reads() -> None:
    standing = JudgeSetup(IDENTITY, "consistency", 3, "", "")
    figure = Agreement(standing, "QAGS", "consistency", "summaries", "tau-b", 108, 0.4671, None, 0.5, "2026-11-22")
    content = tomllib.loads(written([figure, figure]))
    assert content["words"]["consistency"]["sees"]
    [one, other] = content["figures"]
    whose = {"judge": IDENTITY, "metric": "consistency", "version": 3, "dataset": "QAGS", "human": "consistency"}
    what = {"level": "summaries", "measure": "tau-b", "n": 108, "value": 0.4671, "high": 0.5, "measured": "2026-11-22"}
    assert one == other == whose | what
