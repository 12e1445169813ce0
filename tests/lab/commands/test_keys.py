"""Keys and texts go to no stranger from an experiment."""

from __future__ import annotations

import pytest

from tests.leaks import test_role_keys
from tests.leaks.test_role_keys import Scene, Two, keys_at, scene, two

__all__ = ["scene", "two"]


def test_writers_keys_never_reach_judges_servers(two: Two) -> None:
    places = ("--base-url", two.writer.base_url, "--set", f"judge_base_url={two.judge.base_url}")
    run = ("experiment", "hamlet", "book.md", "-m", "openai:w", "--judge", "openai:j", "--max-calls", "3", "-o", "out")
    two.command.run(*run, *places)
    assert two.judge.seen
    assert keys_at(two.judge) == {"none"}


@pytest.mark.slow
def test_an_experiment_sends_nothing_to_a_tracer(scene: Scene) -> None:
    test_role_keys.test_commands_send_nothing_to_a_tracer(scene, ("experiment", "grid", "book.md", "-w", "60"))
