"""What `import redraft` offers: every public name, listed once."""

from __future__ import annotations

from importlib.metadata import version

import pytest

import redraft
import redraft.graphs


def test_every_public_name_loads_and_is_completed() -> None:
    for package in (redraft, redraft.graphs):
        assert {*package.__all__} <= {*dir(package)}
        assert all(getattr(package, name) is not None for name in package.__all__)
    assert {"Session", "summarizer", "__version__"} <= {*dir(redraft), *dir(redraft.graphs)}
    assert redraft.__version__ == version("redraft")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'redraft' has no attribute 'Sesion'"):
        _ = redraft.Sesion  # type: ignore[attr-defined]
