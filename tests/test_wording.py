"""The next step of an error is worded by the door, words of users by nobody; and all errors can be imported."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import redraft
from redraft import BudgetError, Limits, RedraftError, Session, UsageError
from redraft.cli.hints import SHELL
from redraft.errors import (
    PYTHON,
    Advice,
    Choose,
    Door,
    Install,
    Raise,
    RunCommand,
    Set,
    error_for,
    stored_advice,
)
from redraft.runs.tools import TOOL
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig
from redraft.studio.doors import PAGE, ApiDoor, PageDoor
from tests.cli.inside import Inside
from tests.support import story

PACKAGE = Path(redraft.__file__).parent
WITH_OWN_WORDS = ("cli", "studio", "lab", "batches")


RESUME = ("then ", RunCommand("resume", "3fa2c1d0"))


@pytest.mark.parametrize(
    ("fix", "python", "shell", "page", "api", "tool"),
    [
        (
            ("resume with ", Raise("max_cost", 2.0)),
            "resume with limits=Limits(max_cost=2)",
            "resume with a higher --max-cost",
            "resume with a higher limit",
            "resume with `max_cost` 2",
            "resume with `max_cost`=2",
        ),
        (
            ("use ", Set("chunk_tokens", 1024), " or more"),
            "use chunk_tokens=1024 or more",
            "use --chunk-tokens 1024 or more",
            "use “Chunk tokens” 1024 or more",
            "use `chunk_tokens` 1024 or more",
            "use `chunk_tokens`=1024 or more",
        ),
        (
            ("such as ", Set("judges", "openai:m")),
            "such as judges=['openai:m']",
            "such as --judge openai:m",
            "such as “Judge” openai:m",
            "such as `judges` openai:m",
            "such as `judges`=openai:m",
        ),
        (
            ("leave out ", Set("until")),
            "leave out `until`",
            "leave out --set until",
            "leave out “Read until token”",
            "leave out `until`",
            "leave out `until`",
        ),
        (
            RESUME,
            "then `await session.resume('3fa2c1d0')`",
            "then redraft resume 3fa2c1d0",
            "then resume the run",
            "then POST /api/runs/3fa2c1d0/resume",
            "then call resume with run 3fa2c1d0",
        ),
        (
            (RunCommand("runs"), " lists them"),
            "`session.store.runs.latest(20)` lists them",
            "`redraft runs` lists them",
            "/runs lists them",
            "GET /api/runs lists them",
            "",
        ),
        (Install("redraft[pdf]"), *['pip install "redraft[pdf]"'] * 5),
        (Choose(("coverage", "spread"), "covrage"), *["did you mean coverage?"] * 5),
        (Choose(("coverage", "spread"), "x"), *["choose from: coverage, spread"] * 5),
    ],
)
def test_each_door_words_a_next_step(fix: Advice, python: str, shell: str, page: str, api: str, tool: str) -> None:
    error = RedraftError("it stopped", fix=fix)
    doors = {PYTHON: python, SHELL: shell, PAGE: page, ApiDoor("/api/runs/3fa2c1d0"): api, TOOL: tool}
    assert {door: door.render(error.fix) for door in doors} == doors
    assert (error.hint, error.__notes__) == (python, [python])
    assert stored_advice(json.loads(json.dumps(error.stored))) == error.fix


USERS_WORDS = (
    "resume the run with a higher --max-cost, `redraft runs` or judges=['openai:pool'] when will the pool reopen?"
    " limits=Limits(max_calls=3) goals.coverage: words: 3 (--set timeout=9)"
)


@pytest.mark.parametrize("door", [PYTHON, SHELL, PAGE, ApiDoor("/api/runs/3fa2c1d0"), TOOL])
def test_words_of_users_stay_as_they_are(door: Door) -> None:
    error = UsageError(f"there is no metric {USERS_WORDS!r}", hint=USERS_WORDS)
    assert str(error) == f"there is no metric {USERS_WORDS!r}"
    assert error_for(door, error.stored) == {"code": "usage", "message": str(error), "hint": USERS_WORDS}
    assert isinstance(door, PageDoor | ApiDoor) is False or door.message(error) == str(error)


def library() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in WITH_OWN_WORDS:
            yield place.as_posix(), ast.parse(path.read_text("utf-8"))


def test_a_percentage_is_written_without_a_space() -> None:
    spaced = re.compile(r"[0-9}][ \xa0\u202f]%(?=[\s.,;:)\"'`”<]|$)(?! \d)", re.MULTILINE)
    paths = [path for end in ("py", "html", "js") for path in PACKAGE.rglob(f"*.{end}")]
    paths += (PACKAGE.parent / "docs").glob("*.md")
    found = {path.name: said[0] for path in paths if (said := spaced.search(path.read_text("utf-8")))}
    assert len(paths) > 400
    assert found == {}


@pytest.mark.slow
def test_every_setting_in_a_fix_exists() -> None:
    known = {*Limits.model_fields, *inspect.signature(Session).parameters, "db", "max_source", "prices", "chapters"}
    known |= {name for kind in (DraftConfig, JudgeConfig, RefineConfig) for name in kind.model_fields}
    known |= {"partial", "engine", "address", "allow_paths", "name", "host", "port"}
    named = [
        (place, node.args[0].value)
        for place, tree in library()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Set", "Raise")
        if isinstance(node.args[0], ast.Constant)
    ]
    assert len(named) > 40
    assert {(place, name) for place, name in named if name not in known} == set()


@pytest.mark.slow
def test_no_message_names_an_option_of_the_shell() -> None:
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


def bases_of(node: ast.ClassDef) -> set[str]:
    return {base.id for base in node.bases if isinstance(base, ast.Name)}


@pytest.mark.slow
def test_every_error_that_is_raised_can_be_imported() -> None:
    classes = [node for _, tree in library() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    errors = {"RedraftError"}
    while more := {node.name for node in classes if bases_of(node) & errors} - errors:
        errors |= more
    assert {"TimedOut", "DamagedRun"} < errors
    assert errors <= {*redraft.__all__}


async def test_a_used_up_budget_names_the_limit_in_python(tmp_path: Path) -> None:
    async with Session(tmp_path / "x.db", limits=Limits(max_calls=1)) as session:
        with pytest.raises(BudgetError) as caught:
            await session.evaluate(story(30), "The keeper tells of the lamp.", metrics=["consistency", "coverage"])
    assert str(caught.value) == "the limit of 1 call is used up"
    assert caught.value.hint == "resume the run with limits=Limits(max_calls=2)"


@pytest.mark.slow
def test_a_used_up_budget_names_the_option_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(story(30).text, "utf-8")
    command = ("evaluate", "book.md", "book.md", "--metric", "coverage", "--max-calls", "1", "--json")
    error = Inside(tmp_path).run(*command).json["error"]
    assert error["message"] == "the limit of 1 call is used up"
    assert error["hint"].startswith("resume the run with a higher --max-calls\n  Resume: redraft resume ")
    assert "--max-calls 5" in error["hint"]
