"""How the commands and their progress look on a terminal of 80 columns, and that nothing of it reaches a pipe."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import redraft
from redraft.cli import terminal
from redraft.cli.views import progress
from redraft.cli.views.progress import ProgressTotals
from redraft.domain import Usage
from redraft.events import CallAnswered, CallFailed, CallStarted, Event, StageStarted
from redraft.settings import Limits
from tests.chatserver import ChatServer, Seen
from tests.cli.inside import Inside, on_terminal
from tests.command import Command, seconds_used
from tests.support import story

SUMMARIZE = ("summarize", "book.md", "-w", "60", "--chunk-tokens", "128")


def seconds_until_it_speaks(command: Command, *arguments: str) -> float:
    """What a process that begins with nothing takes of a processor to its first letters."""
    with command.start(*arguments) as process:
        assert process.stderr is not None
        assert process.stderr.read(1)
        took = seconds_used(process)
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
    lively, dumb = (on_terminal(command, *SUMMARIZE, "--set", f"sample={name}", term=term).err for name, term in terms)
    piped = command.run(*SUMMARIZE).err

    assert all(part in lively for part in ("\x1b[", "calls", "tokens"))
    assert "drafting: " in piped
    assert "\x1b" not in piped
    assert "\x1b" not in dumb
    assert "drafting: " in dumb
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


@pytest.mark.parametrize(("text", "lines"), [("short", ["short"]), ("x" * 70, ["x" * 60, "x" * 10])])
def test_lines_break_at_words(monkeypatch: pytest.MonkeyPatch, text: str, lines: list[str]) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    assert terminal.wrapped(text, "", "") == lines


@pytest.mark.slow
def test_lists_fit_80_columns(command: Command) -> None:
    command.run("pack", "build", "book.md", "-q")
    for arguments in (("prompts", "list"), ("runs",), ("pack", "list"), ("read", "book.md")):
        shown = on_terminal(command, *arguments).out
        plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
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
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def begin(tally: ProgressTotals, label: str) -> None:
    tally.take(CallStarted(label, tokens=950))


def end(tally: ProgressTotals, label: str, *, cached: bool = False) -> None:
    tally.take(CallAnswered(label, Usage(10, 5), 0.0, cached=cached))


def test_what_is_finished_is_counted_and_not_what_has_begun(clock: Clock) -> None:
    tally = ProgressTotals(began=0.0)
    tally.take(StageStarted("drafting", 14))
    for n in range(4):
        begin(tally, f"chunk {n}")
    assert tally.line().startswith("drafting: 0 of 14 calls")
    clock.now = 42.0
    for n in range(2):
        end(tally, f"chunk {n}")
    end(tally, "chunk 9", cached=True)
    assert tally.line().startswith("drafting: 3 of 14 calls · 42 s · about ")
    assert tally.line().endswith(" left · 1 cached · 30 tokens")
    assert "chunk" not in tally.line()
    # Each stage counts its own.
    tally.take(StageStarted("revision 1, for coverage", 1))
    assert tally.line().startswith("revision 1, for coverage: 0 of 1 calls · 42 s")


def test_before_the_first_reply_it_says_what_the_model_reads(clock: Clock) -> None:
    tally = ProgressTotals(began=0.0)
    tally.take(StageStarted("judging", 0))
    for n in range(2):
        begin(tally, f"questions {n}")
    clock.now = 119.0
    assert tally.line() == "judging: 0 calls · 2 min · reading (1,900 tokens sent)"
    end(tally, "questions 0")
    assert tally.line() == "judging: 1 call · 2 min · 1 running · 15 tokens"


def test_a_failure_says_when_it_is_tried_again(clock: Clock) -> None:
    tally = ProgressTotals(began=0.0)
    begin(tally, "chunk 1")
    tally.take(CallFailed("chunk 1", "connection refused", 11.2))
    assert "connection refused; retrying in 11 s" in tally.line()
    begin(tally, "chunk 1")
    assert "retrying" not in tally.line()


def test_the_estimate_counts_down(clock: Clock) -> None:
    tally = ProgressTotals()
    tally.take(StageStarted("drafting", 10))
    begin(tally, "chunk 1")
    clock.now = 20.0
    end(tally, "chunk 1")
    assert tally.seconds_left() == 180
    clock.now = 30.0
    assert tally.seconds_left() == 170


LATENCY = 7.0
SHAPES = [
    ("one after the other", (), 12, 1),
    ("a tree, all of a level at once", (11, 2, 1), 14, 16),
    ("a high tree", (30, 8, 2, 1, 1), 42, 16),
    ("a tree, few at a time", (30, 8, 2, 1), 41, 3),
]


@pytest.mark.parametrize(("waves", "calls", "at_once"), [one[1:] for one in SHAPES], ids=[one[0] for one in SHAPES])
def test_after_a_third_of_the_calls_the_estimate_is_within_a_factor_of_two(
    clock: Clock, waves: tuple[int, ...], calls: int, at_once: int
) -> None:
    tally = ProgressTotals()
    tally.take(StageStarted("drafting", calls, waves))
    estimates: list[tuple[float, float]] = []
    number = itertools.count()
    for size in waves or (calls,):
        left = size
        while left:
            batch = [f"call {next(number)}" for _ in range(min(left, at_once))]
            for label in batch:
                begin(tally, label)
            clock.now += LATENCY
            for label in batch:
                end(tally, label)
            left -= len(batch)
            if calls / 3 <= tally.done < calls:
                estimates.append((clock.now, tally.seconds_left()))
    assert estimates
    for when, left in estimates:
        assert 0.5 <= left / (clock.now - when) <= 2


@pytest.fixture
def slow_server() -> Iterator[ChatServer]:
    def serve(seen: Seen) -> str:
        return "The keeper lit the lamp."

    with ChatServer(serve) as server:
        yield server


@pytest.mark.nightly
def test_nothing_is_cut_at_80_columns_and_the_width_is_that_of_stderr(tmp_path: Path, slow_server: ChatServer) -> None:
    (tmp_path / "book.md").write_text(story(40).text, "utf-8")
    command = Inside(tmp_path, slow_server.base_url)
    seen = on_terminal(command, "summarize", "book.md", "-w", "60", "--chunk-tokens", "128", "-m", "openai:m")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.err)
    assert "…" not in plain
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= 80


def test_widths_are_those_of_the_stream_that_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "terminal_width", lambda stream: 50 if stream is terminal.sys.stderr else 90)
    assert terminal.width() == 90
    with terminal.on_stderr():
        assert terminal.width() == 50


@pytest.mark.nightly
@pytest.mark.parametrize("at_once", [2, 16])
async def test_with_a_server_of_steady_latency_the_estimate_is_right(tmp_path: Path, at_once: int) -> None:
    tally, seen = ProgressTotals(), list[tuple[float, float]]()

    def observe(event: Event) -> None:
        tally.take(event)
        if isinstance(event, CallAnswered) and tally.planned and tally.planned / 3 <= tally.done < tally.planned:
            seen.append((time.monotonic(), tally.seconds_left()))

    with ChatServer(latency=lambda *_: 0.4) as server:
        async with redraft.Session(
            tmp_path / "r.db", model="openai:m", limits=Limits(concurrency=at_once), observer=observe
        ) as session:
            options = {"base_url": server.base_url, "chunk_tokens": 192, "strategy": "hierarchical"}
            await session.summarize(story(60), words=60, **options)
    ended = time.monotonic()
    assert len(seen) > 3
    when, left = seen[0]
    assert 0.5 <= left / (ended - when) <= 2, (seen, ended)


@pytest.mark.parametrize(
    ("words", "streams", "code", "said"),
    [
        ("--version", ">/dev/full", 1, "redraft: stdout cannot be written: No space left on device\n"),
        ("--version", ">&-", 0, ""),
        ("read book.md", "2>&-", 0, ""),
        ("read book.md", "2>/dev/full", 0, ""),
        ("prompts show merge", "| true; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
def test_streams_that_are_full_or_closed_end_in_no_traceback(
    tmp_path: Path, words: str, streams: str, code: int, said: str
) -> None:
    (tmp_path / "book.md").write_text(story(12).text, "utf-8")
    redraft = f"{shlex.quote(sys.executable)} -m redraft"
    done = subprocess.run(["bash", "-c", f"{redraft} {words} {streams}"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert said in done.stderr


def test_what_an_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "日.md").write_text(story(12).text, "utf-8")
    words = [sys.executable, "-m", "redraft", "read", "日.md"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert b"\\u65e5.md" in done.stdout
