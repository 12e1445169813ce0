"""What `import redraft` offers, listed once; and its regular expressions are made when they are used."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

import redraft
import redraft.evaluators
import redraft.graphs
import redraft.prompts
import redraft.records
from redraft.lazy import pattern


def test_every_public_name_loads_and_is_completed() -> None:
    for package in (redraft, redraft.evaluators, redraft.graphs, redraft.prompts, redraft.records):
        assert {*package.__all__} <= {*dir(package)}
        assert all(getattr(package, name) is not None for name in dir(package))
    assert {"Session", "summarizer", "__version__"} <= {*dir(redraft), *dir(redraft.graphs)}
    assert redraft.__version__ == version("redraft")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'redraft' has no attribute 'Sesion'"):
        _ = redraft.Sesion  # type: ignore[attr-defined]


def test_a_pattern_is_compiled_once_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    eager, compiling, compiled = re.compile("(?P<word>[a-z]+)", re.IGNORECASE), re.compile, list[str]()
    monkeypatch.setattr(re, "compile", lambda written, flags: compiled.append(written) or compiling(written, flags))
    lazy, text = pattern(eager.pattern, re.IGNORECASE), "One two, THREE"
    assert (compiled, lazy.pattern) == ([], eager.pattern)
    for _ in range(2):
        assert [match["word"] for match in lazy.finditer(text)] == ["One", "two", "THREE"]
    assert compiled == [eager.pattern]
    assert lazy.sub("-", text) == eager.sub("-", text)
    with pytest.raises(re.error):
        pattern("(").search("a")
