"""The same order by every door is the same run and the same mistake the same error, each in the words of the door."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from redraft import Session, graphs
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
    stored_advice,
)
from redraft.runs.tools import TOOL
from redraft.studio.doors import PAGE, ApiDoor, PageDoor, error_for, worded_error
from redraft.studio.endpoints import template
from redraft.text.words import score
from tests.cli.local_command import LocalCommand
from tests.leaks.test_own_places import Scene, scene
from tests.studio.served import Served, at_rest, begin, events_of, served

BOOK = "The keeper lit the lamp at dusk. Storms came in March. A ship was saved by the light of the lamp. " * 40
ORDER: Mapping[str, Any] = {"words": 40, "goals": {"coverage": 0.5}, "rounds": 1, "language": "English"}
WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"words": 3}, "words: must be at least 10"),
    ({"rounds": -1}, "rounds: must be at least 0"),
    ({"goals": {"coverage": 2}}, "goals.coverage: must be at most 1"),
    ({"goals": {"covrage": 0.5}}, "there is no metric 'covrage'"),
    ({"goals": {"statistics": 0.5}}, "statistics give no score, so they cannot be a goal"),
    ({"language": "x" * 60}, "language: has characters that are not allowed here, or too many of them"),
)


USUAL_GOALS = {"coverage": 0.8, "consistency": 0.85}


class Failed(Exception):
    """The message of an error, and its next step as the door words it."""


def of_stored(folder: Path) -> str:
    """The document and the order of the only run in a folder, as they are stored."""
    with closing(sqlite3.connect(folder / "redraft.db")) as database:
        [(document, order)] = database.execute("SELECT document, body -> '$.order' FROM runs")
    return f"{document}\n{order}"


def by_shell(folder: Path, values: Mapping[str, Any]) -> None:
    words = [f"--goal={metric}={least}" for metric, least in values.get("goals", {}).items()]
    words += [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if name != "goals"]
    refuse_error(LocalCommand(folder).run("summarize", "book.md", "--refine", "--json", *words).json)


def by_file(folder: Path, values: Mapping[str, Any]) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items() if name != "goals"]
    lines += [f"goal = {json.dumps([f'{metric}={least}' for metric, least in values.get('goals', {}).items()])}"]
    (folder / "order.toml").write_text("\n".join(["refine = true", *lines]), "utf-8")
    done = LocalCommand(folder).run("--config", "order.toml", "summarize", "book.md", "--json")
    refuse_error(done.json)


def refuse_error(printed: Mapping[str, Any]) -> None:
    if error := printed.get("error") if "run" not in printed else None:
        raise Failed(error["message"], error["hint"])


def by_python(folder: Path, values: Mapping[str, Any]) -> None:
    try:
        with Session(folder / "redraft.db") as session:
            session.summarize(folder / "book.md", **{"goals": USUAL_GOALS, **values})
    except RedraftError as error:
        raise Failed(str(error), error.hint) from error


def by_graph(folder: Path, values: Mapping[str, Any]) -> None:
    async def invoke() -> None:
        async with Session(folder / "redraft.db") as session:
            graph = graphs.summarizer("auto", refine=True).compile(checkpointer=await session.checkpointer())
            task = {"source": str(folder / "book.md"), **values}
            await graph.ainvoke({"order": task}, {"configurable": {"thread_id": "one"}}, context=session)

    try:
        asyncio.run(invoke())
    except RedraftError as error:
        raise Failed(str(error), error.hint) from error


def by_api(folder: Path, values: Mapping[str, Any]) -> None:
    with served(folder) as at, at.client() as client:
        body = {"kind": "refine", "text": BOOK, "title": "book", **values}
        reply = client.post("/api/runs", json=body).json()
        if error := reply.get("error"):
            raise Failed(error["message"], error["hint"])
        at_rest(client, reply["run"])


def by_tool(folder: Path, values: Mapping[str, Any]) -> None:
    from redraft.studio.mcp import McpTools, answer

    async def call() -> None:
        async with Session(folder / "redraft.db") as session:
            tools = McpTools(session, folder)
            started = await answer(tools, "start_summary", {"source": "book.md", "goals": USUAL_GOALS, **values})
            while (await answer(tools, "status", {"run": started["run"], "wait": 5}))["next"].startswith("call status"):
                pass
            await tools.feeds.aclose()

    try:
        asyncio.run(call())
    except RedraftError as error:
        raise Failed(str(error), TOOL.render(error.fix)) from error


DOORS = {"shell": by_shell, "file": by_file, "python": by_python, "graph": by_graph, "api": by_api}
if find_spec("mcp") is not None:
    DOORS["tool"] = by_tool


@pytest.mark.slow
def test_every_door_stores_the_same_order(tmp_path: Path) -> None:
    stored: dict[str, str] = {}
    for name, door in DOORS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "book.md").write_text(BOOK, "utf-8")
        door(folder, ORDER)
        stored[name] = of_stored(folder)
    assert {name: order for name, order in stored.items() if order != stored["python"]} == {}


@pytest.mark.slow
@pytest.mark.parametrize(("values", "message"), WRONG)
def test_every_door_refuses_in_the_same_words(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    (tmp_path / "book.md").write_text(BOOK, "utf-8")
    messages = {}
    for name, door in DOORS.items():
        with pytest.raises(Failed) as failed:
            door(tmp_path, values)
        messages[name] = failed.value.args[0]
    assert {*messages.values()} == {messages["python"]}
    assert messages["python"].startswith(message)


NUMBERS = ("calls", "prompt_tokens", "completion_tokens", "cost_usd")


@pytest.mark.slow
def test_every_door_gives_the_same_figures(client: httpx.Client, at: Served, tmp_path: Path) -> None:
    run = begin(client, kind="refine", words=60, goals={"coverage": 0.9, "consistency": 0.9}, rounds=1)
    status = at_rest(client, run)
    command = LocalCommand(tmp_path, REDRAFT_DB=str(at.told.database), COLUMNS="200")
    report = command.run("show", run, "--json").json
    traced = command.run("trace", run, "--json").json
    exported = command.run("export", run, "--format", "json").json
    (listed,) = [row for row in command.run("runs", "--json").json["runs"] if row["run"] == run]
    events = events_of(client, run)

    # One record: what `show` prints is what the API, the trace and the dossier hold.
    assert client.get(f"/api/runs/{run}/result").json() == report == traced["result"]
    dossier = client.get(f"/api/runs/{run}/dossier").json()
    assert dossier == exported
    shared = {**report, "settings": {name: value for name, value in report["settings"].items() if name != "key_env"}}
    assert dossier["result"] == shared
    assert dossier["rounds"] == traced["rounds"]
    for row in (status, listed):
        same = ("run", "kind", "status", "strategy", "model", "judges", "words", "stop_reason", "scores")
        assert {name: row[name] for name in same} == {
            name: "" if (name, report[name]) == ("strategy", "given") else report[name] for name in same
        }

    # Events tell the same scores, findings and decisions, round by round.
    assert [turn["round"]["number"] for turn in traced["rounds"]] == [0, 1]
    for turn in traced["rounds"]:
        number = turn["round"]["number"]
        scores = [event for event in events if event["kind"] == "score" and event["round"] == number]
        assert {event["metric"]: event["score"] for event in scores if event["outcome"] == "scored"} == turn["scores"]
        found = [event["finding"] for event in events if event["kind"] == "finding" and event["round"] == number]
        findings = [finding for metric in turn["metrics"].values() for finding in metric["findings"]]
        without_places = [{name: part for name, part in finding.items() if name != "place"} for finding in findings]
        in_order = partial(json.dumps, sort_keys=True)
        assert sorted(map(in_order, found)) == sorted(map(in_order, without_places))
    settled = {event["number"]: event for event in events if event["kind"] == "round"}
    for turn in traced["rounds"][1:]:
        decision = settled[turn["round"]["number"]]
        assert {name: decision[name] for name in ("accepted", "reason")} == {
            name: turn["round"][name] for name in ("accepted", "reason")
        }
    progress = [event for event in events if event["kind"] == "progress"][-1]
    assert (progress["calls"], progress["cost_usd"]) == (report["usage"]["calls"], report["usage"]["cost_usd"])
    assert {name: sum(call[name] for call in dossier["calls"]) for name in NUMBERS[1:]} == {
        name: report["usage"][name] for name in NUMBERS[1:]
    }

    # For people the figures have the same two digits.
    text, page = command.run("show", run).err, client.get(f"/runs/{run}").text
    for metric, value in report["scores"].items():
        assert f"-> {score(value)} (goal 0.9 " in text
        assert f"{metric} {score(value)} (goal 0.9 " in page.lower()
    assert f"run {run} · revised by the built-in model · judged by the same model" in text


__all__ = ["scene"]


@pytest.mark.nightly
def test_studio_follows_the_same_rule(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "NO_PROXY"):
        monkeypatch.setenv(name, scene.command.environment[name])
    scene.resumed()
    scene.edit("settings", {"base_url": "STRANGER"})
    scene.change("UPDATE runs SET status = ?", "interrupted")
    with served(scene.command.folder) as studio, studio.client() as client:
        for path, body in (
            (f"/api/runs/{scene.run}/resume", {}),
            (f"/api/runs/{scene.run}/fork", {"round": 0, "rounds": 1}),
            (f"/api/runs/{scene.run}/ask", {"question": "Who kept the light?"}),
        ):
            reply = client.post(path, json=body)
            assert reply.status_code in (409, 422), (path, reply.text)
            assert "only its database names" in reply.text, (path, reply.text)
    assert (scene.stranger.seen, scene.stranger.looked) == ([], [])


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


def test_what_a_bug_raised_is_not_shown() -> None:
    raised = {"code": "bug", "message": "AttributeError: 'str' object has no attribute 'usage'", "hint": ""}
    shown = worded_error(raised, "/api/runs/3fa2c1d0")
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
