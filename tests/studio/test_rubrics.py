"""A rubric is a goal also of a run that is forked in the browser."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import redraft
from redraft.llm.base import FunctionModel
from redraft.runs.session import runner_of
from redraft.studio.start import ForkBody, plan_fork
from tests.evaluators.test_rubric import MINUTES, PLAIN, TEXT, writer


@pytest.mark.slow
def test_fork_keeps_the_rubric(tmp_path: Path) -> None:
    goal = {"goals": {"plain_tone": 1.0}, "policy": "paper"}
    with redraft.Session(tmp_path / "redraft.db", model=FunctionModel(writer), metrics=[PLAIN]) as session:
        result = session.refine(MINUTES, TEXT, **goal)  # type: ignore[arg-type]
        work: Any = SimpleNamespace(runner=runner_of(session.session))
        planned = plan_fork(session.store, result.run, ForkBody(goals={"plain_tone": 0.5}), work, {})

    assert planned.order.judging is not None
    assert planned.order.judging.rubrics["plain_tone"] == PLAIN.settings
