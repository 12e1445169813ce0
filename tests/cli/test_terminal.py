"""How the commands look on a terminal of 80 columns, and that nothing of it reaches a pipe."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.cli import terminal
from tests.cli.inside import Inside, on_terminal
from tests.command import Command
from tests.support import story

SUMMARIZE = ("summarize", "book.md", "-w", "60", "--chunk-tokens", "128")


def seconds_until_it_speaks(command: Command, *arguments: str) -> float:
    """How long a process that begins with nothing takes to its first letters."""
    began = time.monotonic()
    with command.start(*arguments) as process:
        assert process.stderr is not None
        assert process.stderr.read(1)
        took = time.monotonic() - began
        process.kill()
    return took


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "book.md").write_text(story(40).text, "utf-8")
    return Inside(tmp_path)


@pytest.mark.slow
def test_a_summary_is_wrapped_on_a_terminal_and_left_alone_in_a_pipe(command: Command) -> None:
    seen = on_terminal(command, *SUMMARIZE)
    piped = command.run(*SUMMARIZE)

    lines = seen.out.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 80
    assert " ".join(seen.out.split()) == " ".join(piped.out.split())
    assert max(map(len, piped.out.splitlines())) > 80
    run = re.search(r"run (\w{8})", piped.err)
    assert run is not None
    assert command.run("show", run[1], "-q").out == piped.out
    assert on_terminal(command, "show", run[1], "-q").out == seen.out


@pytest.mark.slow
def test_progress_is_a_live_line_on_a_terminal_and_plain_lines_on_a_dumb_one_and_in_a_pipe(command: Command) -> None:
    terms = (("1", "xterm"), ("2", "dumb"))
    lively, dumb = (on_terminal(command, *SUMMARIZE, "--sample", name, term=term).err for name, term in terms)
    piped = command.run(*SUMMARIZE).err

    assert all(part in lively for part in ("\x1b[", "calls", "tokens"))
    assert "drafting (hierarchical): " in piped
    assert "\x1b" not in piped
    assert "\x1b" not in dumb
    assert "drafting (hierarchical): " in dumb
    assert max(map(len, dumb.splitlines())) <= 80


@pytest.mark.slow
def test_the_first_thing_is_what_is_read(command: Command) -> None:
    for arguments in (SUMMARIZE, ("evaluate", "book.md", "book.md", "--metric", "statistics")):
        assert command.run(*arguments).err.startswith("reading book.md")
        assert command.run(*arguments, "-q").err == ""
    text = (command.folder / "book.md").read_bytes()
    assert command.run("summarize", "-", "-w", "60", stdin=text).err.startswith("reading stdin\n")
    # Before anything heavy is imported: with that it takes some seconds.
    assert seconds_until_it_speaks(command, *SUMMARIZE) < 2


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("x" * 70, ["x" * 60, "x" * 10]),
    ],
)
def test_lines_break_at_words(monkeypatch: pytest.MonkeyPatch, text: str, lines: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    assert terminal.wrapped(text, "", "") == lines


def test_what_stands_behind_a_margin_makes_room_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    def made() -> Iterator[str]:
        yield from terminal.wrapped("word " * 40, "", "")

    lines = terminal.indented(made())

    assert {line[:3] for line in lines} == {"  w"}
    assert max(map(len, lines)) in range(50, 61)
    assert max(map(len, terminal.wrapped("word " * 40, "", ""))) == 59


@pytest.mark.slow
def test_lists_fit_80_columns(command: Command) -> None:
    command.environment["COLUMNS"] = "80"
    command.run("pack", "build", "book.md", "-q")
    for arguments in (("prompts", "list"), ("runs",), ("pack", "list")):
        shown = command.run(*arguments).out
        assert shown
        assert max(map(len, shown.splitlines())) <= 80, arguments
