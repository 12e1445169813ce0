"""What comes from outside and is printed: on a terminal it is words, and in JSON it is escaped."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from redraft.cli.terminal import json_text
from tests.cli.inside import on_terminal
from tests.command import Command

# Sets the title, writes the clipboard, moves and colours, in C0, in C1, unended; rings; turns the line around.
EVIL = "\x1b]0;OWNED\x07 \x1b]52;c;ZXZpbA==\x1b\\ \x1b[2J\x1b[1;31m \x9b31m \x9d0;x\x9c \x90q\x07 \x7f"
EVIL += "\u202egnp.exe\u2066 \x1bc"
NAME = EVIL.replace("/", "").replace("\x9d0", "")
HARM = [b"\x1b]", b"\x1bc", b"\x1bP", b"\x1b[2J", b"\x1b[1;31m", b"\x07", b"\x7f"]
HARM += [chr(control).encode() for control in range(0x80, 0xA0)]
HARM += [mark.encode() for mark in "\u202e\u2066"]


def shown_on_terminal(command: Command, *arguments: str) -> bytes:
    """All that the command writes to a terminal."""
    done = on_terminal(command, *arguments)
    shown = done.out + done.err
    assert "Traceback" not in shown, shown
    return shown.encode()


def harm_in(shown: bytes) -> list[bytes]:
    return [mark for mark in HARM if mark in shown]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "book.md").write_text("# The Light\n\n" + "The keeper kept the light. " * 40, "utf-8")
    return Command(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("summarize", f"no{NAME}file.md"),
        ("summarize", "book.md", "-m", f"openai{NAME}"),
        ("summarize", "book.md", "--words", f"ten{NAME}"),
        ("summarize", "book.md", f"--{NAME}"),
        ("show", f"a{NAME}"),
        ("runs", "--db", f"no{NAME}.db"),
    ],
    ids=["file", "model", "value", "option", "run", "database"],
)
def test_what_was_typed_or_is_called_so_is_words(command: Command, arguments: tuple[str, ...]) -> None:
    shown = shown_on_terminal(command, *arguments)

    assert len(shown) > 20
    assert harm_in(shown) == []


@pytest.mark.slow
def test_what_a_database_holds_is_words_and_escaped_in_json(command: Command) -> None:
    assert command.run("summarize", "book.md", "-w", "60", "-q").code == 0
    with sqlite3.connect(command.database) as database:
        (run,) = database.execute("SELECT id FROM runs").fetchone()
        database.execute("UPDATE documents SET title = ?, source = ?", (EVIL, EVIL))
        database.execute("UPDATE runs SET version = ?, why = ?", (EVIL, EVIL))
        database.execute("UPDATE texts SET text = 'The keeper' || ?", (EVIL,))
    database.close()

    for arguments in (("runs",), ("show", run), ("trace", run)):
        shown = shown_on_terminal(command, *arguments)
        assert b"keeper" in shown or b"31m" in shown
        assert harm_in(shown) == [], arguments
    listed = command.run("runs", "--json")
    assert harm_in(listed.out.encode()) == []
    assert listed.json["runs"][0]["title"] == EVIL


def test_json_has_escapes_for_what_nobody_sees() -> None:
    unseen = r"\u007f\u0080\u009f\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\ud800"
    seen = "é雨👩‍👩‍👧\u00a0—"
    assert json_text({"a": f"x{json.loads(chr(34) + unseen + chr(34))} {seen}"}, None) == f'{{"a": "x{unseen} {seen}"}}'
