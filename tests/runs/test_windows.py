"""Everybody's window is on record with a run, and what is assumed is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import DraftConfig, ModelSettings
from redraft.runs.model_names import judging_under, least_window
from redraft.runs.prepare import RunSpec
from redraft.runs.roster import known_window, told_window, with_windows
from redraft.settings import Evaluate, JudgeConfig
from tests.chatserver import ChatServer
from tests.cli.inside import Inside

ASSUMED = "8,192 tokens are assumed"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own-01234567")


def windows(settings: DraftConfig, judging: JudgeConfig) -> tuple[int, list[int], list[str]]:
    found, order, notes = with_windows(settings, RunSpec(Evaluate(judging=judging)), known_window)
    return found.context_tokens, [one.context_tokens for one in judging_under(found, order.judging)], notes


def test_each_role_has_its_own() -> None:
    own = ModelSettings(model="openai:q", base_url="http://127.0.0.1:9/v1", context_tokens=4000)
    judging = JudgeConfig(judges=("near", "openai:gpt-4o", "extractive"), models={"near": own})
    assert windows(DraftConfig(model="openai:gpt-5"), judging) == (272_000, [4000, 128_000, 8192], [])
    # What is given is the writer's.
    assert windows(DraftConfig(model="openai:gpt-5", context_tokens=9000), judging)[:2] == (9000, [4000, 128_000, 8192])
    judging = JudgeConfig(judges=("openai:who",), base_url="http://127.0.0.1:9/v1")
    for given in (9000, 128_000):
        of_writer, judges, notes = windows(DraftConfig(model="openai:gpt-5", context_tokens=given), judging)
        assert (of_writer, judges, len(notes)) == (given, [given], 1)
        assert notes[0].startswith(
            f"the window of openai:who is unknown: {given:,} tokens, as many as the writer's, are"
        )
    spare = JudgeConfig(
        judges=("spare",), models={"spare": ModelSettings(model="openai:m", base_url="http://localhost:9")}
    )
    assert windows(DraftConfig(model="openai:gpt-4.1", context_tokens=128_000), spare)[1] == [128_000]
    # One model has one window.
    assert windows(DraftConfig(model="openai:m", context_tokens=9000), JudgeConfig(judges=("openai:m",))) == (
        9000,
        [9000],
        [],
    )


def test_judges_look_things_up_in_the_least_of_their_windows() -> None:
    judges = [
        DraftConfig(model="openai:a", context_tokens=9000),
        DraftConfig(context_tokens=100),
        DraftConfig(model="openai:b"),
    ]
    assert least_window(judges) == 8192
    assert least_window([DraftConfig(context_tokens=100)]) == 100


def test_a_run_asks_the_server_and_a_plan_does_not(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    pages = {"/v1/models": {"data": [{"id": "m", "max_model_len": 12_345}]}}
    with ChatServer(lambda _: "The keeper kept the light.", pages=pages) as server:
        command = Inside(tmp_path, server.base_url)
        run = ("summarize", "book.md", "-m", "openai:m", "-w", "60")
        planned = command.run(*run, "--dry-run")
        assert ASSUMED in planned.err
        assert server.looked == []
        done = command.run(*run)
        assert done.code == 0, done.err
        assert ASSUMED not in done.err
        shown = command.run("runs", "--json").json["runs"][0]["run"]
        assert command.run("show", shown, "--json").json["settings"]["context_tokens"] == 12_345


def test_a_server_that_says_nothing_leaves_the_assumption(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    with ChatServer(lambda _: "The keeper kept the light.") as server:
        done = Inside(tmp_path, server.base_url).run("summarize", "book.md", "-m", "openai:m", "-w", "60")
        assert done.err.count(ASSUMED) == 1
        settled, _, _ = with_windows(
            DraftConfig(model="openai:gpt-4o", base_url=server.base_url), RunSpec(), told_window
        )
        assert settled.context_tokens == 128_000


def test_who_gets_no_key_is_said_unless_they_are_on_this_machine() -> None:
    away, here = "http://judges.example/v1", "http://localhost:8001/v1"
    writer = DraftConfig(model="openai:gpt-5", context_tokens=9000)
    for address, said in ((away, 1), (here, 0)):
        _, _, notes = windows(writer, JudgeConfig(judges=("openai:gpt-4o",), base_url=address))
        assert len(notes) == said
    assert notes == []
    _, _, notes = windows(writer, JudgeConfig(judges=("openai:gpt-4o",), base_url=away))
    assert notes[0].startswith(f"openai:gpt-4o at {away} gets no key")


@pytest.mark.slow
def test_show_names_everybody_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    with ChatServer(lambda _: "The keeper kept the light.") as server:
        (tmp_path / "redraft.toml").write_text(
            f'[models.near]\nmodel = "openai:j"\nbase_url = "{server.base_url}"\ncontext_tokens = 5000\n', "utf-8"
        )
        command = Inside(tmp_path, server.base_url, REDRAFT_CONFIG="redraft.toml", REDRAFT_MODEL="openai:w")
        command.run("summarize", "book.md", "-w", "60", "--refine", "--judge", "near", "--max-calls", "4")
        run = command.run("runs", "--json").json["runs"][0]["run"]
        shown = command.run("show", run).err
    assert f"writer: openai:w at {server.base_url}, window 8,192 tokens" in shown
    assert f"judge: near (openai:j) at {server.base_url}, window 5,000 tokens" in shown
