"""Rubrics in the commands of research."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import LocalCommand
from tests.cli.test_rubrics import STATED, VERDICT, folder


@pytest.mark.slow
def test_a_rubric_is_compared_with_people(tmp_path: Path) -> None:
    texts = [f"The board met at {hour}. It was {'very ' * hour}cold." for hour in range(1, 7)]
    lines = [
        {"document_id": "d", "text": "The board met. It was cold. " * 9, "summary": text, "human": {"plain": at}}
        for at, text in enumerate(texts)
    ]

    def serve(request: ChatRequest) -> str:
        hour = int(next(letter for letter in request.messages[0]["content"] if letter.isdigit()))
        return json.dumps({"faults": [], "reason": "So it reads.", "level": hour})

    stated = "plain_tone=Plain words"
    (tmp_path / "levels.toml").write_text('[rubrics.plain_tone]\nrequirement = "Plain words"\nlevels = 6', "utf-8")
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with ChatServer(serve) as server:
        command = LocalCommand(folder(tmp_path), server.base_url, REDRAFT_MODEL="openai:m", COLUMNS="200")
        compared = command.run("agree", "labels.jsonl", "--rubric", "levels.toml", "--json", "-q")
        idle = command.run("agree", "labels.jsonl", "--rubric", stated, "--metric", "coverage")

    assert compared.code == 0, compared.err
    (row, *_) = next(table["rows"] for table in compared.json["tables"] if table["name"] == "agreement")
    assert row["tau-b"] == pytest.approx(1)
    assert "--rubric is not used by --metric coverage" in idle.err


@pytest.mark.slow
def test_systems_are_compared_by_a_rubric(tmp_path: Path) -> None:
    def serve(request: ChatRequest) -> str:
        content = request.messages[0]["content"]
        if "Judge how far" not in content:
            return "The board agreed. It was cold."
        return json.dumps(VERDICT | {"level": 5, "faults": []})

    with ChatServer(serve) as server:
        command = LocalCommand(folder(tmp_path, ""), server.base_url, REDRAFT_MODEL="openai:m")
        compared = command.run("experiment", "grid", "book.md", "-m", "openai:m", "--rubric", STATED, "--json", "-q")

    (scores,) = (table["rows"] for table in compared.json["tables"] if table["name"] == "scores")
    assert [(row["metric"], row["score"]) for row in scores] == [("plain_tone", 1)], compared.err
