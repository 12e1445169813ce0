"""How the commands and their progress look on a terminal of 80 columns, and that nothing of it reaches a pipe."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from redraft.cli import terminal
from redraft.cli.views import progress
from redraft.cli.views.progress import ProgressTotals
from redraft.domain import Usage
from redraft.events import CallAnswered, CallStarted, StageStarted
from tests.cli.local_command import LocalCommand, on_terminal
from tests.command import Command
from tests.support import story

SUMMARIZE = ("summarize", "book.md", "-w", "60", "--chunk-tokens", "128")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "book.md").write_text(story(40).text, "utf-8")
    return LocalCommand(tmp_path)


@pytest.mark.slow
def test_a_summary_is_wrapped_on_terminals_only(command: Command) -> None:
    wrapped, piped = on_terminal(command, *SUMMARIZE), command.run(*SUMMARIZE)
    lines = wrapped.out.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 80
    assert " ".join(wrapped.out.split()) == " ".join(piped.out.split())
    assert max(map(len, piped.out.splitlines())) > 80
    run = re.search(r"run (\w{8})", piped.err)
    assert run is not None
    assert command.run("show", run[1], "-q").out == piped.out
    assert on_terminal(command, "show", run[1], "-q").out == wrapped.out


@pytest.mark.slow
def test_progress_is_live_on_terminals_only(command: Command) -> None:
    terms = (("1", "xterm"), ("2", "dumb"))
    lively, dumb = (on_terminal(command, *SUMMARIZE, "--set", f"sample={name}", term=term).err for name, term in terms)
    piped = command.run(*SUMMARIZE).err
    assert all(part in lively for part in ("\x1b[", "calls", "tokens"))
    for text in (piped, dumb):
        assert "drafting: " in text
        assert "\x1b" not in text
    assert max(map(len, dumb.splitlines())) <= 80


@pytest.mark.slow
def test_lists_fit_80_columns(command: Command) -> None:
    command.run("pack", "build", "book.md", "-q")
    for arguments in (("prompts", "list"), ("runs",), ("pack", "list"), ("read", "book.md")):
        plain = re.sub(r"\x1b\[[0-9;]*m", "", on_terminal(command, *arguments).out)
        assert plain
        assert "|" not in plain, "Markdown is rendered"
        assert max(map(len, plain.splitlines())) <= 80, arguments


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def start(totals: ProgressTotals, *labels: str) -> None:
    for label in labels:
        totals.take(CallStarted(label, tokens=950))


def finish(totals: ProgressTotals, *labels: str, cached: bool = False) -> None:
    for label in labels:
        totals.take(CallAnswered(label, Usage(10, 5), 0.0, cached=cached))


def test_progress_counts_and_says_what_is_read(clock: Clock) -> None:
    totals = ProgressTotals(began=0.0)
    totals.take(StageStarted("drafting", 14))
    start(totals, *(f"chunk {n}" for n in range(4)))
    assert totals.line().startswith("drafting: 0 of 14 calls")
    clock.now = 42.0
    finish(totals, "chunk 0", "chunk 1")
    finish(totals, "chunk 9", cached=True)
    assert totals.line().startswith("drafting: 3 of 14 calls · 42 s · about ")
    assert totals.line().endswith(" left · 1 cached · 30 tokens")
    assert "chunk" not in totals.line()
    # Each stage counts its own.
    totals.take(StageStarted("revision 1, for coverage", 1))
    assert totals.line().startswith("revision 1, for coverage: 0 of 1 calls · 42 s")
    totals = ProgressTotals(began=0.0)
    totals.take(StageStarted("judging", 0))
    start(totals, "questions 0", "questions 1")
    clock.now = 119.0
    assert totals.line() == "judging: 0 calls · 2 min · reading (1,900 tokens sent)"
    finish(totals, "questions 0")
    assert totals.line() == "judging: 1 call · 2 min · 1 running · 15 tokens"


@pytest.mark.parametrize(
    ("words", "streams", "code", "text"),
    [
        ("--version", ">/dev/full", 1, "redraft: stdout cannot be written: No space left on device\n"),
        ("--version", ">&-", 0, ""),
        ("read book.md", "2>&-", 0, ""),
        ("read book.md", "2>/dev/full", 0, ""),
        ("prompts show merge", "| true; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
def test_full_streams_give_no_traceback(tmp_path: Path, words: str, streams: str, code: int, text: str) -> None:
    (tmp_path / "book.md").write_text(story(12).text, "utf-8")
    redraft = f"{shlex.quote(sys.executable)} -m redraft"
    done = subprocess.run(["bash", "-c", f"{redraft} {words} {streams}"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert text in done.stderr


def test_unencodable_letters_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "日.md").write_text(story(12).text, "utf-8")
    words = [sys.executable, "-m", "redraft", "read", "日.md"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert b"\\u65e5.md" in done.stdout


@pytest.mark.parametrize("character", ["\x7f", "\x9b", "\u202e", "\u2066", "\ufeff", "\ud83d"])
def test_json_escapes_what_a_terminal_interprets(character: str) -> None:
    text = terminal.json_text({"title": f"a{character}b"})
    assert character not in text
    assert f"\\u{ord(character):04x}b" in text
    assert json.loads(text) == {"title": f"a{character}b"}
