"""redraft's metrics in ragas."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from redraft.errors import UsageError

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]


def test_a_metric_of_redraft_scores_in_ragas(tmp_path: Path) -> None:
    pytest.importorskip("ragas")
    from redraft.integrations.ragas import RedraftScore
    from tests.judges import PerfectModel, function_model, island, summary_of

    judged = RedraftScore(judges=[function_model(PerfectModel())], store=tmp_path / "redraft.db")
    body = {"reference_contexts": [island().text], "response": summary_of(1, wrong={2: "Bob"})}
    poor, good = judged.batch_score([body, body | {"response": summary_of(1, 2)}])
    assert (poor.value, good.value) == (0.5, 1.0)
    assert "Bob" in poor.reason

    with pytest.raises(UsageError, match="reference_contexts is the text"):
        RedraftScore(store=":memory:").score(**body | {"reference_contexts": island().text})

    other = body | {"response": "The summary says it in quite other words."}
    unheard = RedraftScore("coverage", store=tmp_path / "redraft.db").score(**other)
    assert math.isnan(unheard.value)
    assert unheard.reason.startswith("- coverage has no score: no judge gave a verdict")
