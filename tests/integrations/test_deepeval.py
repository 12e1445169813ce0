"""redraft's metrics in deepeval: in its `assert_test`, and by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("deepeval")

from deepeval import assert_test
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from redraft.errors import JudgingError
from redraft.integrations.deepeval import SummaryMetric
from tests.judges import PerfectModel, function_model, island, summary_of

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """deepeval writes into the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "1")


def case(summary: str) -> LLMTestCase:
    return LLMTestCase(input=island().text, actual_output=summary)


def metric(folder: Path, name: str = "consistency") -> BaseMetric:
    return SummaryMetric(name, 0.9, judges=[function_model(PerfectModel())], store=folder / "redraft.db")


# It comes first: deepeval leaves a loop open, which a later one would take the place of.
async def test_measures_within_a_running_loop(tmp_path: Path) -> None:
    assert metric(tmp_path).measure(case(summary_of(1, 2))) == 1.0


def test_deepeval_asserts_a_metric_of_redraft(tmp_path: Path) -> None:
    poor, judged = case(summary_of(1, wrong={2: "Bob"})), metric(tmp_path)
    assert_test(case(summary_of(1, 2)), [metric(tmp_path)], run_async=False)
    with pytest.raises(AssertionError, match="Bob"):
        assert_test(poor, [metric(tmp_path)])
    assert judged.measure(poor) == 0.5
    assert not judged.is_successful()
    assert str(judged.reason).startswith("1 sentence wrong\n\n- consistency 0.50: ")
    assert "Bob" in str(judged.reason)


def test_missing_score_is_an_error(tmp_path: Path) -> None:
    unheard = SummaryMetric("coverage", store=tmp_path / "redraft.db")
    with pytest.raises(JudgingError, match="coverage has no score: no judge gave a verdict"):
        unheard.measure(case("The summary says it in quite other words."))
    assert unheard.score is None
    assert not unheard.is_successful()
