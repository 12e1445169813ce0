"""How far the built-in checks agree with people, and the file that says so."""

from __future__ import annotations

import tomllib

import pytest

from benchmarks.agreement import HALVES, QAGS, SUMMEVAL, Set, half, judged, per_summary, rows_by_judge, written
from redraft.builtin.facade import IDENTITY
from redraft.store.judgments import Agreement, JudgeSetup


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


def test_what_is_written_is_what_the_package_reads() -> None:
    setup = JudgeSetup(IDENTITY, "consistency", 3, "", "")
    figure = Agreement(setup, "QAGS", "consistency", "summaries", "tau-b", 108, 0.4671, None, 0.5, "2026-11-22")
    content = tomllib.loads(written([figure, figure]))
    assert content["words"]["consistency"]["sees"]
    [first_figure, second_figure] = content["figures"]
    identity = {"judge": IDENTITY, "metric": "consistency", "version": 3, "dataset": "QAGS", "human": "consistency"}
    what = {"level": "summaries", "measure": "tau-b", "n": 108, "value": 0.4671, "high": 0.5, "measured": "2026-11-22"}
    assert first_figure == second_figure == identity | what
