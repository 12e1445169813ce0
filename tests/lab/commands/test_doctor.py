"""`redraft doctor` as it is typed: what it prints, what it leaves, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redraft.lab.doctor.controls import SHUFFLED
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import MODEL, LocalCommand
from tests.judges import read_sheet
from tests.lab.doctor.oracle import Oracle

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
