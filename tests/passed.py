"""Tests that have passed in one run are left out of the next one, where both are given the same file to note them in.

CI runs the tests twice, at first with nothing but the `dev` extra: then only what was skipped or left out is open.
"""

from __future__ import annotations

from pathlib import Path

import pytest


class Passed:
    """Reads what has passed before the tests are collected, and adds what has passed since when they are done."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self._path = path
        self._is_worker = hasattr(config, "workerinput")
        self._before = frozenset(path.read_text("utf-8").splitlines()) if path.is_file() else frozenset[str]()
        self._passed: set[str] = set()

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what has passed."""
        if passed := [item for item in items if item.nodeid in self._before]:
            config.hook.pytest_deselected(items=passed)
            items[:] = [item for item in items if item.nodeid not in self._before]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test has passed when it has been called and torn down without an error."""
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)
        elif report.failed:
            self._passed.discard(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """The workers tell theirs to the process that started them, which writes the file."""
        if not self._is_worker:
            self._path.write_text("\n".join(sorted(self._before | self._passed)) + "\n", "utf-8")
