"""The commands of research beside the core: their extra, data sets, rubrics, keys, and their runs in the list."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from redraft.cli.main import main
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import LocalCommand
from tests.cli.test_judging import STATED, VERDICT, folder
from tests.cli.test_listing import kinds
from tests.leaks import test_role_keys
from tests.leaks.test_role_keys import Scene, Two, keys_at, scene, two

STORY = (
    "The keeper lit the lamp. The storm came from the west. Nobody saw the ship before it was on the rocks at night."
)


def test_sets_are_described_and_converted(tmp_path: Path) -> None:
    inside = LocalCommand(tmp_path)
    entries = [{"id": str(n), "document": f"{STORY} {n}", "summary": "A lamp."} for n in range(3)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, entries)), "utf-8")
    described = inside.run("data", "describe", "x.jsonl", "-q", "-o", "described")
    assert described.code == 0
    page = inside.run("experiment", "report", "described", "-o", "report.html")
    assert (page.code, "1 set of results" in page.err) == (0, True)
    joined = inside.run("data", "convert", "x.jsonl", "--join-tokens", "40", "-o", "long.jsonl")
    assert joined.code == 0
    assert len((tmp_path / "long.jsonl").read_text("utf-8").splitlines()) == 1
    assert inside.run("data", "convert", "x.jsonl", "--join-tokens", "9000", "-o", "long.jsonl").code == 2
    with (tmp_path / "x.jsonl").open("a") as more:
        more.write("\nno JSON")
    assert inside.run("data", "describe", "x.jsonl", "-q").code == 3


def test_plain_text_is_refused_in_one_sentence(tmp_path: Path) -> None:
    inside = LocalCommand(tmp_path)
    (tmp_path / "story.txt").write_text("The lamp.\n\n1904\n\nThe storm.\n", "utf-8")

    checked = inside.run("data", "describe", "story.txt", "-q")

    assert checked.code == 3
    assert checked.out.count("| story.txt") == 2, "once among the files, once among what cannot be read"
    assert "plain text is a SOURCE without conversion" in checked.out


@pytest.mark.slow
def test_runs_of_experiments_are_listed_on_request(command: LocalCommand) -> None:
    assert command.run("evaluate", "book.md", "poor.md", "-q").code == 0
    experiment = ("experiment", "chunk-size", "book.md", "--judge", "extractive", "--sizes", "64", "--sample", "1")
    assert command.run(*experiment, "-q").code in {0, 3}
    usual = kinds(command)
    assert "chunk-size" not in usual
    assert kinds(command, "--all") == sorted([*usual, "chunk-size"])
    assert kinds(command, "--kind", "chunk-size") == ["chunk-size"]


__all__ = ["scene", "two"]


def test_writers_keys_never_reach_judges_servers(two: Two) -> None:
    places = ("--base-url", two.writer.base_url, "--set", f"judge_base_url={two.judge.base_url}")
    run = ("experiment", "hamlet", "book.md", "-m", "openai:w", "--judge", "openai:j", "--max-calls", "3", "-o", "out")
    two.command.run(*run, *places)
    assert two.judge.seen
    assert keys_at(two.judge) == {"none"}


@pytest.mark.slow
def test_an_experiment_sends_nothing_to_a_tracer(scene: Scene) -> None:
    test_role_keys.test_commands_send_nothing_to_a_tracer(scene, ("experiment", "grid", "book.md", "-w", "60"))


@pytest.mark.parametrize(
    "words",
    [
        ("agree", "labels.jsonl"),
        ("agree", "read", "sheet.csv"),
        ("experiment", "booookscore", "--summaries", "summaries.json"),
        ("experiment", "grid", "book.md", "-m", "extractive"),
    ],
)
def test_commands_say_which_extra_they_need(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("redraft.plugins.find_spec", lambda name: None if name == "sklearn" else find(name))
    with pytest.raises(SystemExit) as exited:
        main(words)
    assert exited.value.code == 2
    message = capsys.readouterr().err
    assert "needs sklearn, which is not installed" in message
    assert 'pip install "redraft[lab]"' in message


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
