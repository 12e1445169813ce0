"""The commands of research beside the core: the doctor, data sets, rubrics, keys, their extra, and runs in the list."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redraft.cli.main import main
from redraft.lab.doctor.controls import SHUFFLED
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import MODEL, LocalCommand
from tests.cli.test_judging import STATED, VERDICT, folder
from tests.cli.test_listing import kinds
from tests.judges import read_sheet
from tests.lab.doctor.oracle import Oracle
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


FORM = ("doctor", "--judge", MODEL, "--metric", "booookscore")


@contextmanager
def hospital(folder: Path, fault: str = "") -> Iterator[LocalCommand]:
    """The command beside a server whose judge fails in one control at most."""
    oracle = Oracle(fault)

    def serve(request: ChatRequest) -> str:
        return json.dumps(oracle(read_sheet(request)))

    with ChatServer(serve) as server:
        yield LocalCommand(folder, server.base_url, COLUMNS="100")


@pytest.mark.slow
def test_failed_controls_are_shown_and_exit_three(tmp_path: Path) -> None:
    with hospital(tmp_path, SHUFFLED) as command:
        done = command.run(*FORM, "-q")
        listed = command.run("runs", "--all", "--json").json["runs"]
    assert done.code == 3
    assert done.err == ""
    failures = done.out.split("## Failed\n")[1]
    expected = "expected: 0.10 or more below that of a good summary; got: 1.00, next to 1.00"
    assert f"booookscore, {SHUFFLED}: {expected}" in " ".join(failures.split())
    assert any(run["run"] in failures for run in listed)


@pytest.mark.slow
def test_a_used_up_budget_can_be_continued(tmp_path: Path) -> None:
    with hospital(tmp_path) as command:
        planned = command.run(*FORM, "--dry-run", "--json").json["rows"][-1]["calls"]
        stopped = command.run(*FORM, "--max-calls", "2")
        went_on = command.run(*FORM)
        repeated = command.run(*FORM, "--json").json
    assert stopped.code == 3
    assert "not made" in stopped.out
    assert "the limit of 2 calls is used up" in stopped.err
    assert "repeat the command with a higher limit" in stopped.err
    assert went_on.code == 0, went_on.err
    assert went_on.out.startswith(f"# {MODEL}, on English texts: 5 controls passed, 0 failed, 0 cannot tell\n")
    assert "## Failed" not in went_on.out
    (judge,) = repeated["judges"]
    assert (judge["usage"]["calls"], judge["passed"], judge["not_made"]) == (planned, 5, 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metric", "statistics"), "there are no controls for statistics, which gives no score"),
        (("--metric", "spread"), "there are no controls for spread, which asks no judge"),
        (
            ("--metric", "coverage", "--metric", "spread"),
            "controls for coverage, consistency, keyfact_recall, faithfulness, booookscore, and for your own metrics",
        ),
        (("--metric", "charm"), "there is no metric 'charm'"),
        (("--judge", "nobody"), "there is no model 'nobody'"),
    ],
)
def test_bad_options_are_refused_before_any_request(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = LocalCommand(tmp_path).run("doctor", *words)
    assert done.code == 2
    assert message in done.err
