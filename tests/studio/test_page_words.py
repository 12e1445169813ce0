"""Pages, the API and all other doors use their own words for models and next steps, and nobody rewords users."""

from __future__ import annotations

import json
import re

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
    error_for,
    stored_advice,
)
from redraft.runs.tools import TOOL
from redraft.studio.endpoints import PAGE, ApiDoor, PageDoor, error_on_page, template


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("goals.coverage", "Goals (coverage): must be at most 1"),
        ("judges.0", "Judge (number 1): must be at most 1"),
        ("words", "Word limit: must be at most 1"),
        ("word_limit", "word_limit: must be at most 1"),
    ],
)
def test_a_wrong_field_has_its_label(field: str, shown: str) -> None:
    assert PAGE.message(UsageError("must be at most 1", field=field)) == shown


@pytest.mark.parametrize(
    ("cost", "most", "shown"),
    [
        (None, None, "unknown"),
        (0, 0, "free"),
        (0.61, 0.61, "about $0.61"),
        (0.61, 4.71, "about $0.61; at most $4.71, which a limit has to allow"),
        (0.002, 0.02, "under $0.01; at most $0.02, which a limit has to allow"),
    ],
)
def test_plan_shows_cost_and_maximum(cost: float | None, most: float | None, shown: str) -> None:
    said = template("studio/kit.html").module.cost({"cost_usd": cost, "max_cost_usd": most})  # type: ignore[attr-defined]
    assert re.sub("<.*?>", "", said) == shown


@pytest.mark.parametrize("address", ["", "/api/runs/3fa2c1d0"])
def test_what_a_bug_raised_is_not_shown(address: str) -> None:
    raised = {"code": "bug", "message": "AttributeError: 'str' object has no attribute 'usage'", "hint": ""}
    shown = error_on_page(raised, address)
    assert shown is not None
    assert (shown["code"], shown["message"]) == ("bug", "something unexpected happened")


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
