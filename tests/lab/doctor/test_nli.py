"""The doctor examines a model of entailment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.local_command import LocalCommand
from tests.nli.conftest import tiny

__all__ = ["tiny"]


@pytest.mark.nightly
def test_entailment_models_are_examined_by_their_metrics(tiny: Path, tmp_path: Path) -> None:
    done = LocalCommand(tmp_path).run("doctor", "--judge", f"nli:{tiny}", "--json", "-q")
    assert done.code == 3, "it knows nothing of the bridge"
    (judge,) = done.json["judges"]
    assert {control["metric"] for control in judge["controls"]} == {"consistency", "faithfulness"}
