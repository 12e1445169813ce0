"""`--review`: a person between the findings and the revision, on a pipe and on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from redraft.domain import Finding, PointAnswer, PointOutcome, Round
from redraft.graphs.policy import reviewed
from redraft.report.history.results import RequestOutcome, count_unmet, request_outcomes
from redraft.store.store import Store
from tests.cli.local_command import LocalCommand, judging_folder
from tests.command import Completed
from tests.judges import summary_of
from tests.support import SAMPLE

# There are words left for one more fact.
REFINE = ("refine", "book.md", "poor.md", "--goal", "coverage=1", "--goal", "consistency=1", "--words", "35")


@pytest.fixture
def command(tmp_path: Path) -> Iterator[LocalCommand]:
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i s/Bob/Tom2/ $1\n")
    editor.chmod(0o755)
    with judging_folder(tmp_path, EDITOR=str(editor)) as command:
        yield command


def review(command: LocalCommand, *lines: str) -> Completed:
    return command.run(*REFINE, "--review", "--json", stdin="".join(f"{line}\n" for line in lines).encode())


def traced(command: LocalCommand, done: Completed) -> list[Any]:
    rounds: list[Any] = command.run("trace", done.json["run"], "--json").json["rounds"]
    return rounds


@pytest.mark.slow
def test_enter_goes_on_and_s_stops(command: LocalCommand) -> None:
    done = review(command, "", "s")

    assert done.code == 3, done.err
    assert done.json["stop_reason"] == "cancelled"
    assert done.json["rounds"] == 1
    assert "Before revision 1: the best draft (28 words)\n\n" in done.err
    assert done.err.index("called Bob.") < done.err.index("\n1. consistency, inconsistent"), (
        "the draft before the findings"
    )
    assert "- consistency 0.75 (goal 1 missed)" in done.err
    assert "\n1. consistency, inconsistent: What is keeper number 2 called?" in done.err
    assert "Before revision 2" in done.err
    assert "; you stopped it\n" in done.err


@pytest.mark.slow
def test_findings_are_dropped_and_requests_are_added(command: LocalCommand) -> None:
    lines = ("?", "d 4", "d 1 2 3", "what", "say how it ends", "a", "a Say more about the station.", "", "s")
    done = review(command, *lines)

    for answer in (
        "\n| d 2 4  | drop findings 2 and 4",
        "such as: d 1 (there are 3)",
        "none left",
        "'what' is not a key",
        "'say' is not a key; ? lists them; to request it, type: a say how it ends\n",
    ):
        assert answer in done.err
    assert "what to change: " in done.err
    first = traced(command, done)[0]
    made = traced(command, done)[1]
    assert made["round"]["aims"] == ["review"]
    requests = first["metrics"]["review"]["findings"]
    assert [request["explanation"] for request in requests] == ["Say more about the station."]
    assert made["round"]["findings"] == [requests[0]["id"]]


@pytest.mark.parametrize(
    ("became", "accepted", "outcome"),
    [
        ("fixed", True, "met (as far as the reviser reports): “Say how it ends.”"),
        ("fixed", False, "not met: “Say how it ends.” in revision 1: coverage fell"),
        ("left", True, "not met: “Say how it ends.” in revision 1: no room"),
        ("", True, "sent, but the reviser did not say whether it is met: “Say how it ends.”"),
    ],
)
def test_a_request_has_an_outcome(became: PointOutcome, accepted: bool, outcome: str) -> None:
    request = Finding("review", "request", "change", "Say how it ends.")
    answers = (PointAnswer(request.id, became, "no room"),)
    rounds = [Round(1, "d", "b", ("review",), (request.id,), accepted, "coverage fell", answers=answers)]
    store = Mock(spec=Store, judgments=Mock(of=lambda _: {"review": reviewed(None, [request])}))
    outcomes = [*request_outcomes(store, rounds), RequestOutcome("request not met", 1, met=True)]
    assert outcomes[0].said == f"request {outcome}"
    assert count_unmet(outcomes) == ("1 of 2 requests not met" if "not met" in outcome else "")


@pytest.mark.slow
def test_built_in_model_declines_a_request(tmp_path: Path) -> None:
    summary = str(SAMPLE.parent / "a-first-summary.md")
    arguments = ("refine", str(SAMPLE), summary, "-w", "150", "-g", "consistency=0.95")
    command = LocalCommand(tmp_path)
    done = command.run(*arguments, "--review", "--json", stdin=b"a Say how the story ends.\n\n\n")
    assert "added, but the built-in model cannot follow requests in words; see `redraft models`" in done.err
    why = "the built-in model cannot follow requests in words"
    outcome = f"request not met: “Say how the story ends.” in revision 1: {why}"
    assert f"- {outcome}" in " ".join(command.run("trace", done.json["run"]).out.split())
    assert f"{outcome}\n" in done.err
    assert re.search(r"; \d revisions?, [\w ]+; your request was not met; ", done.err)
    request = {"request": "Say how the story ends.", "round": 1, "met": False, "reason": why, "said": outcome}
    assert done.json["requests"] == [request]
    refused = command.run(*arguments, "--query", "Why did the bell ring?", code=2)
    assert "--query is not used by the built-in model in a revision" in refused.err


@pytest.mark.slow
def test_edited_draft_is_judged_in_its_place(command: LocalCommand) -> None:
    done = review(command, "e", "", "s")

    assert "edited (28 words); enter judges it" in done.err
    assert done.json["summary"] == summary_of(1, 2, 3, 4)
    assert done.json["scores"]["consistency"] == 1
    assert [(one["round"]["reason"], one["round"]["accepted"]) for one in traced(command, done)][1] == (
        "edited by hand",
        True,
    )


@pytest.mark.nightly
def test_end_of_input_leaves_the_run_waiting(command: LocalCommand) -> None:
    done = review(command, "d 1")
    assert done.code == 3, done.err
    assert (done.json["status"], done.json["stop_reason"], done.json["error"]) == ("waiting", "review", None)
    assert done.json["summary"] == summary_of(1, 3, 4, wrong={2: "Bob"}), "the best draft so far"
    run = re.findall(r"\nResume: redraft resume (\w+)", done.err)[0]
    assert command.run("runs", "--json").json["runs"][0]["status"] == "waiting"
    assert run in command.run("runs", "--status", "waiting").out
    assert command.run("show", run, "--json").json["status"] == "waiting"
    command.run("trace", run, out="- waiting for your review\n", err=f"Resume: redraft resume {run}")

    command.run("resume", run, code=3, err=("Before revision 1", f"Resume: redraft resume {run}"))

    resumed = command.run("resume", run, "--json", stdin=b"\ns\n")
    assert resumed.json["stop_reason"] == "cancelled"
    assert resumed.json["rounds"] == 1
    assert resumed.json["scores"]["consistency"] == 1
    command.run("fork", run, "--round", "0", stdin=b"s\n", code=3, err="Before revision 1")
    assert command.run("fork", run, "--round", "0", "--no-review", "-q").out == summary_of(1, 2, 3, 4, 5) + "\n"


@pytest.mark.slow
def test_request_on_the_command_line_reaches_reviser(command: LocalCommand) -> None:
    arguments = ("refine", "book.md", "poor.md", "-w", "100", "--request", "Say how the story ends.")
    done = command.run(*arguments, "-g", "coverage=0.1", "--json")
    outcome = "request sent, but the reviser did not say whether it is met: “Say how the story ends.”"
    assert outcome in " ".join(command.run("trace", done.json["run"]).out.split())
    assert outcome in done.err.splitlines()
    assert [request["said"] for request in done.json["requests"]] == [outcome]
    command.run(*arguments, "--request", " ", code=2, err="--request is empty")
    command.run(*arguments, "-m", "extractive", code=2, err="cannot follow requests in words")
