"""Each door words the next step of an error in its own way, and nobody rewords what users wrote."""

from __future__ import annotations

import json

import pytest

from redraft.cli.hints import SHELL
from redraft.errors import (
    PYTHON,
    Advice,
    Door,
    Raise,
    RedraftError,
    RunCommand,
    Set,
    UsageError,
    choose,
    error_for,
    stored_advice,
)
from redraft.runs.tools import TOOL
from redraft.studio.doors import PAGE, ApiDoor, PageDoor

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
            "only the user can raise `max_cost`: finish with what there is, and say so",
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
            "`await session.runs()` lists them",
            "`redraft runs` lists them",
            "/runs lists them",
            "GET /api/runs lists them",
            "",
        ),
    ],
)
def test_each_door_words_a_next_step(fix: Advice, python: str, shell: str, page: str, api: str, tool: str) -> None:
    error = RedraftError("it stopped", fix=fix)
    doors = {PYTHON: python, SHELL: shell, PAGE: page, ApiDoor("/api/runs/3fa2c1d0"): api, TOOL: tool}
    assert {door: door.render(error.fix) for door in doors} == doors
    assert (error.hint, error.__notes__) == (python, [python])
    assert stored_advice(json.loads(json.dumps(error.stored))) == error.fix


def test_the_next_step_of_an_older_version_is_its_hint() -> None:
    error = {
        "code": "usage",
        "message": "no",
        "hint": "choose from: a",
        "fix": ["x", {"kind": "choose", "options": []}],
    }
    assert stored_advice(error) == ("choose from: a",)


@pytest.mark.parametrize(
    ("wrong", "step"), [("covrage", "did you mean coverage?"), ("x", "choose from: coverage, spread")]
)
def test_the_nearest_option_is_named_or_all(wrong: str, step: str) -> None:
    assert choose(("coverage", "spread"), wrong) == step


USERS_WORDS = (
    "resume the run with a higher --max-cost, `redraft runs` or judges=['openai:pool'] when will the pool reopen?"
    " limits=Limits(max_calls=3) goals.coverage: words: 3 (--set timeout=9)"
)


@pytest.mark.parametrize("door", [PYTHON, SHELL, PAGE, ApiDoor("/api/runs/3fa2c1d0"), TOOL])
def test_words_of_users_stay_as_they_are(door: Door) -> None:
    error = UsageError(f"there is no metric {USERS_WORDS!r}", hint=USERS_WORDS)
    assert str(error) == f"there is no metric {USERS_WORDS!r}"
    assert error_for(door, error.stored) == {"code": "usage", "message": str(error), "hint": USERS_WORDS}
    assert not isinstance(door, PageDoor) or door.message(error) == str(error)
