"""Rubrics of the settings file and of `--rubric`: metrics like any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import LocalCommand

TABLE = '[rubrics.plain_tone]\nrequirement = "Written for a reader without legal training"\nlevels = 3\n'
VERDICT = {"faults": [{"quote": "parties concurred", "problem": "legal wording"}], "reason": "Half is.", "level": 2}


def folder(at: Path, table: str = TABLE) -> Path:
    (at / "book.md").write_text("The board met at seven. It was cold. " * 4, "utf-8")
    (at / "summary.md").write_text("The parties concurred. It was cold.", "utf-8")
    (at / "redraft.toml").write_text(table, "utf-8")
    return at


@pytest.mark.slow
def test_command_judges_by_a_rubric_file(tmp_path: Path) -> None:
    replies = [json.dumps(VERDICT)]

    def serve(request: ChatRequest) -> str:
        return replies[-1]

    with ChatServer(serve) as server:
        command = LocalCommand(
            folder(tmp_path), server.base_url, REDRAFT_CONFIG="redraft.toml", REDRAFT_MODEL="openai:m"
        )
        run = ("evaluate", "book.md", "summary.md", "--metric", "plain_tone", "--json")
        planned = command.run(*run, "--dry-run").json
        done = command.run(*run, code=0)
        shown = command.run("evaluate", "book.md", "summary.md", "--metric", "plain_tone", "--all")
        replies.append("no verdict")
        failed = command.run(*run, "--repeat", "2")
        replies.append(json.dumps(VERDICT | {"level": 3}))
        (tmp_path / "redraft.toml").unlink()
        without = LocalCommand(tmp_path, server.base_url, REDRAFT_MODEL="openai:m")
        without.run("resume", failed.json["run"], "--json", code=0)
        listed = without.run("show", done.json["run"], "--json")
    assert planned["calls"] == done.json["usage"]["calls"] == 1
    plain_tone = done.json["metrics"]["plain_tone"]
    assert (plain_tone["score"], plain_tone["findings"][0]["sentence"]) == (0.5, "The parties concurred.")
    assert "plain tone 0.50: 1 item judged, 1 finding" in shown.out
    assert "- level 2 of 3: Half is.\n" in shown.out
    assert "legal wording" in shown.out
    assert listed.json["scores"]["plain_tone"] == 0.5


STATED = "plain_tone=Written for a reader without legal training"


@pytest.mark.slow
def test_stated_rubric_is_kept_with_the_run(tmp_path: Path) -> None:
    def serve(request: ChatRequest) -> str:
        content = request.messages[0]["content"]
        if "Judge how far" not in content:
            return "The board agreed. It was cold."
        assert "reader without legal training" in content
        return json.dumps(VERDICT | ({"level": 3} if "concurred" in content else {"level": 5, "faults": []}))

    (tmp_path / "tone.toml").write_text(TABLE, "utf-8")
    with ChatServer(serve) as server:
        command = LocalCommand(
            folder(tmp_path, ""), server.base_url, REDRAFT_CONFIG="redraft.toml", REDRAFT_MODEL="openai:m"
        )
        done = command.run("evaluate", "book.md", "summary.md", "--rubric", STATED, "--json")
        by_file = command.run("evaluate", "book.md", "summary.md", "--rubric", "tone.toml", "--json")
        refined = command.run(
            "refine", "book.md", "summary.md", "--rubric", STATED, "-g", "plain_tone=1", "--policy", "paper", "--json"
        )

    assert done.json["metrics"]["plain_tone"]["score"] == 0.5, done.err
    assert by_file.json["metrics"]["plain_tone"]["score"] == 1, by_file.err
    assert refined.json["goals"]["plain_tone"]["met"], refined.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evaluate", "--rubric", "Plain words"), "has no name, and there is no such file"),
        (("evaluate", "--rubric", "plain="), "requirement: must not be empty"),
        (("evaluate", "--rubric", "coverage=x"), "there are two metrics named coverage"),
        (("evaluate", "--rubric", "redraft.toml"), "redraft.toml: has no rubrics"),
        (("refine", "--rubric", STATED), "add --goal plain_tone=0.75"),
    ],
)
def test_impossible_rubric_is_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    verb, *options = words
    done = LocalCommand(folder(tmp_path, "")).run(verb, "book.md", "summary.md", *options, code=2)
    assert said in " ".join(done.err.split())
