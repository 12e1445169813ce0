"""The doctor and a real language model, the weakest that answers: every control has a verdict, and nothing dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from redraft.evaluators.catalog import built_in
from redraft.lab.doctor.checkup import examine
from redraft.lab.doctor.controls import EMPTY, HOLLOW, controls, expectations_of
from redraft.order import Evaluate
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import DraftConfig, JudgeConfig, Limits
from redraft.store.store import Store
from tests.realserver import NAME, missing, real_model


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if lacking := missing():
        if os.environ.get("CI") == "true" and find_spec("xllamacpp") is not None:
            pytest.fail(f"CI has half of it: {lacking}")
        pytest.skip(lacking)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with real_model() as address:
        yield address


@pytest.mark.nightly
async def test_a_real_model_is_examined_by_coverage(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # All controls take it hours where others are at work, too.
    few = {name: controls()[name] for name in (EMPTY, HOLLOW, "the same twice")}
    monkeypatch.setattr("redraft.lab.doctor.controls.controls", lambda: few)
    coverage = built_in("coverage")
    settings = DraftConfig(context_tokens=4096, prompts="simple")
    with Store(tmp_path / "redraft.db") as store:
        judging = JudgeConfig(judges=(NAME,), base_url=url, metrics=("coverage",))
        order = Evaluate(settings=settings, judging=judging)
        runner = ExperimentRunner(store, Limits(concurrency=2, timeout=1800))
        actual = await examine(order, runner)
    verdicts = {control.control: control for control in actual.controls}
    assert verdicts.keys() == expectations_of(coverage).keys()
    assert len(verdicts) == 3
    assert {verdict.verdict for verdict in verdicts.values()} <= {"pass", "fail", "cannot tell"}
    assert verdicts[EMPTY].verdict == "pass"
    assert actual.usage.calls > 0
