"""A damaged run costs no other one in the browser's list."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.store.store import Store
from redraft.studio.run_views import RunFilter, RunRows
from tests.cli.local_command import LocalCommand
from tests.store.test_damage import DAMAGE, damaged, two_runs

__all__ = ["two_runs"]


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_run_is_named_others_listed(two_runs: tuple[LocalCommand, str, str], what: str, tmp_path: Path) -> None:
    first, bad, good = two_runs
    command = damaged(first, bad, what, tmp_path)
    with Store(command.database, to_read=True) as store:
        rows = RunRows(store).listed(RunFilter())
    assert good in [row.run for row in rows.rows]
    assert (bad in rows.damaged) is (what != "draft")
