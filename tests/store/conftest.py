"""What holds for every test of the store: how a database comes into being is its own doing."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _copied_databases() -> None:
    """Nothing is copied here."""
