"""The tiny model, trained once for all tests that want it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.nli.tiny import make


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a cross-encoder that has learned its world."""
    missing = [name for name in ("torch", "sentence_transformers") if find_spec(name) is None]
    if missing and "torch" not in missing and os.environ.get("CI") == "true":
        pytest.fail(f"CI has torch, but not {', '.join(missing)}")
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    folder = tmp_path_factory.mktemp("tiny")
    right = make(folder)
    assert right > 0.95, f"it has learned too little of its world: {right:.2f}"
    return folder
