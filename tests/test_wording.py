"""The next step of an error is worded by the door, words of users by nobody; and all errors can be imported."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import redraft
import redraft.evaluators
import redraft.graphs
import redraft.prompts
import redraft.records
from redraft import Limits, Session
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig
from tests.support import public_names

PACKAGE = Path(redraft.__file__).parent
WITH_OWN_WORDS = ("cli", "studio", "lab", "batches")


def library() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in WITH_OWN_WORDS:
            yield place.as_posix(), ast.parse(path.read_text("utf-8"))


def test_a_percentage_is_written_without_a_space() -> None:
    spaced = re.compile(r"[0-9}][ \xa0\u202f]%(?=[\s.,;:)\"'`”<]|$)(?! \d)", re.MULTILINE)
    paths = [path for end in ("py", "html", "js") for path in PACKAGE.rglob(f"*.{end}")]
    paths += (PACKAGE.parent / "docs").glob("*.md")
    places = {path.name: match[0] for path in paths if (match := spaced.search(path.read_text("utf-8")))}
    assert {path.suffix for path in paths} >= {".py", ".html", ".js"}
    assert len(paths) > 200
    assert places == {}


@pytest.mark.slow
def test_messages_and_fixes_use_known_words() -> None:
    settings = {*Limits.model_fields, *inspect.signature(Session).parameters, "db", "max_source", "prices", "chapters"}
    settings |= {name for kind in (DraftConfig, JudgeConfig, RefineConfig) for name in kind.model_fields}
    settings |= {"partial", "engine", "address", "allow_paths", "name", "host", "port"}
    names = [
        (place, node.args[0].value)
        for place, tree in library()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Set", "Raise")
        if isinstance(node.args[0], ast.Constant)
    ]
    assert len(names) > 40
    assert {(place, name) for place, name in names if name not in settings} == set()
    option = re.compile(r"(?<![\w-])--(?!redraft-|upgrade)[a-z]")
    texts = [
        (place, node.value)
        for place, tree in library()
        for raised in ast.walk(tree)
        if isinstance(raised, ast.Raise)
        for node in ast.walk(raised)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and option.search(node.value)
    ]
    assert [text for text in texts if text[1] not in ("--document", "--json", "--kind", "--round")] == []
    classes = [node for _, tree in library() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    errors = {"RedraftError"}
    while more := {node.name for node in classes if bases_of(node) & errors} - errors:
        errors |= more
    assert {"TimedOut", "DamagedRun"} < errors
    assert errors <= set().union(*public_names().values())


def bases_of(node: ast.ClassDef) -> set[str]:
    return {base.id for base in node.bases if isinstance(base, ast.Name)}


def test_every_public_name_loads_and_is_completed() -> None:
    for package in (redraft, redraft.evaluators, redraft.graphs, redraft.prompts, redraft.records):
        assert {*package.__all__} <= {*dir(package)}
        assert all(getattr(package, name) is not None for name in dir(package))
    assert {"Session", "summarizer", "__version__"} <= {*dir(redraft), *dir(redraft.graphs)}
    assert redraft.__version__ == version("redraft")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'redraft' has no attribute 'Sesion'"):
        _ = redraft.Sesion  # type: ignore[attr-defined]
