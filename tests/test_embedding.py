"""The guide to embedding: its code runs as it stands, block after block, and uses public names alone."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import SAMPLE
from tests.test_examples import foreign

GUIDE = SAMPLE.parent.parent / "docs" / "embedding.md"
_BLOCK = re.compile(r"^```python( no-run)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[int, bool, str]]:
    """The guide's blocks of Python: on which line each begins, whether it is run, and the code."""
    text = GUIDE.read_text("utf-8")
    return [(text.count("\n", 0, found.start(2)), not found[1], found[2]) for found in _BLOCK.finditer(text)]


@pytest.mark.slow
async def test_the_code_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.md").write_text(SAMPLE.read_text("utf-8").split("## Chapter 3")[0], "utf-8")
    known: dict[str, Any] = {"__name__": "guide"}
    for line, run, code in blocks():
        program = compile("\n" * line + code, str(GUIDE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if run:
            pending = eval(program, known)
            if inspect.isawaitable(pending):
                await pending


def test_the_code_of_the_guide_uses_public_names_alone() -> None:
    assert [name for _, _, code in blocks() for name in foreign(code)] == []
    assert [run for _, run, _ in blocks()].count(False) < 3
