"""Slow tests are left out unless they are asked for; a test that is slow and not marked so is named in CI."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

# Several times what a test may take that is not marked: where others work too, tests take longer.
NAMED_FROM_SECONDS = 5.0
_LEFT_OUT = "slow tests left out"


class Slowness:
    """Counts what is left out, and what each of the others takes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._left_out = 0
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Told where the tests are collected, which with several workers is in each of them."""
        self._left_out += sum(_is_marked(item) for item in items)

    def pytest_sessionfinish(self) -> None:
        """A worker tells what it knows."""
        if (output := getattr(self._config, "workeroutput", None)) is not None:
            output[_LEFT_OUT] = self._left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """All workers have collected the same; one that has died tells nothing."""
        self._left_out = max(self._left_out, getattr(node, "workeroutput", {}).get(_LEFT_OUT, 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What is made ready for a test counts as the test's."""
        if not {"slow", "nightly"} & set(report.keywords):
            self._seconds[report.nodeid] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What was left out, and how to have it; in CI also what should be, which is no failure: it may be the load."""
        if self._left_out and self._config.option.markexpr:
            terminalreporter.line(f'left out as slow: {self._left_out} tests (`pytest -m ""` runs all)')
        if os.environ.get("CI"):
            for test, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
                if seconds < NAMED_FROM_SECONDS:
                    break
                terminalreporter.line(f"slow, but not marked so: {test} took {seconds:.0f} s", yellow=True)


def _is_marked(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "nightly"))
