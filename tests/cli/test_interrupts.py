"""Two Ctrl-C end the command within a second, whatever it is doing; one lets it tidy up first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.chatserver import ChatServer
from tests.command import Command, seconds_used

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is another thing there")
STORY = "Ines kept the light on the cape for forty years. One night the lamp went out, and a ship was lost.\n"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "story.txt").write_text(STORY)
    return Command(tmp_path)


@contextmanager
def started(command: Command, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The command at work, with a standard input that never ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "redraft", *words],
        cwd=command.folder, env=command.environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def seconds_to_end(process: subprocess.Popen[str], wait: float, *, idle: bool = True) -> float:
    """How long it takes to end after it has had some time to begin, until it is idle, and then two Ctrl-C."""
    assert process.stderr is not None
    assert process.stderr.readline().startswith("reading")
    time.sleep(wait)
    used = -1.0
    while idle and used != (used := seconds_used(process)):
        time.sleep(0.5)
    assert process.poll() is None, "it is no longer at it"
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    if process.poll() is not None:
        return 0.0
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) in (130, -signal.SIGINT)  # the latter where the first was enough after all
    return time.monotonic() - began


@pytest.mark.nightly
def test_while_it_reads_in_a_thread(command: Command) -> None:
    with started(command, "summarize", "-") as process:
        assert seconds_to_end(process, 1) < 1
        assert process.stderr is not None
        assert process.stderr.read() == "\nredraft: interrupted\n"


@pytest.mark.nightly
def test_while_a_model_keeps_it_waiting(command: Command) -> None:
    with ChatServer(latency=lambda prompt, completion, index: 60.0) as server:
        asking = Command(command.folder, server.base_url)
        with started(asking, "summarize", "story.txt", "-m", "openai:m") as process:
            assert seconds_to_end(process, 1) < 1


_SECOND_INTERRUPT = """
import os, signal, sys
from redraft.cli import terminal
terminal._PATIENCE = 0
terminal.is_interactive = lambda: sys.argv[1] == "terminal"
ear, mouth = os.pipe()
os.write(mouth, bytes([signal.SIGINT] * 2))
terminal._listen(ear)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("stderr", "cursor"), [("terminal", b"\r\x1b[K\x1b[?25h"), ("pipe", b"")])
def test_second_interrupt_shows_a_terminals_cursor(stderr: str, cursor: bytes) -> None:
    command = [sys.executable, "-c", _SECOND_INTERRUPT, stderr]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (
        130,
        cursor + b"\nredraft: stopped; finished work is kept: `redraft resume`, or the same command again\n",
    )
