"""A terminal, and whatever tries to speak to it: errors of providers, names of files, titles, replies, arguments."""

from __future__ import annotations

import itertools
import os
import pty
import random
import re
import select
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.chatserver import Answer, Fault, Raw, Reply, Seen
from tests.torture.runner import Attack, Try, Violation
from tests.torture.world import World, right, world

# What our own progress and colours need: SGR without the palette of 256, erasing, moving, the cursor shown or not.
_OURS = re.compile(r"\x1b\[(?:(?:\d|[34]\d|9\d)?(?:;(?:\d|[34]\d|9\d))*m|[0-2]?K|\d*[ABGJ]|\?25[lh])")
_SPEAKING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
SEQUENCES: dict[str, str] = {
    "a title": "\x1b]0;owned\x07",
    "the clipboard": "\x1b]52;c;b3duZWQ=\x1b\\",
    "a link": "\x1b]8;;http://example.org\x1b\\here\x1b]8;;\x1b\\",
    "a cleared screen": "\x1b[2J\x1b[3J\x1b[H",
    "another screen": "\x1b[?1049h",
    "a report": "\x1b[6n\x1b[c",
    "a reset": "\x1bc",
    "an unknown colour": "\x1b[38;5;213mpink",
    "a DCS": '\x1bP$q"p\x1b\\',
    "an open OSC": "\x1b]0;never closed",
    "an open DCS": "\x1bPnever closed",
    "an APC": "\x1b_secret\x1b\\",
    "C1 CSI": "\x9b2J\x9b31m",
    "C1 OSC": "\x9d0;owned\x9c",
    "a bell": "\x07\x07",
    "backspaces": "ok\x08\x08no",
    "DEL": "a\x7fb",
    "reversed letters": "\u202etxt.exe\u202c",
    "isolates": "\u2066x\u2069\u200f",
    "a carriage return": "harmless\rredraft: done",
}


def _errors(workspace: World, text: str) -> list[tuple[str, ...]]:
    return [("summarize", "book.md", "-w", "60"), ("runs",), ("show", "RUN"), ("show", "RUN", "--json")]


def _replies(workspace: World, text: str) -> list[tuple[str, ...]]:
    return [("summarize", "book.md", "-w", "60"), ("show", "RUN", "--pieces"), ("show", "RUN", "--json")]


def _names(workspace: World, text: str) -> list[tuple[str, ...]]:
    name = text.replace("/", "-") + ".md"
    (workspace.folder / name).write_bytes((workspace.folder / "book.md").read_bytes())
    commands: list[tuple[str, ...]] = [("summarize", name, "-w", "60"), ("summarize", f"no{name}", "-w", "60")]
    return [*commands, ("summarize", "book.md", "-w", "60", "-o", f"out-{name}"), ("runs", "--db", f"db{name}")]


def _titles(workspace: World, text: str) -> list[tuple[str, ...]]:
    book = (workspace.folder / "book.md").read_text("utf-8")
    (workspace.folder / "title.md").write_text(f"# Title {text} end\n\n{book}", "utf-8")
    commands = [("summarize", "title.md", "-w", "60"), ("runs",), ("runs", "--json")]
    return [*commands, ("pack", "build", "title.md"), ("pack", "list"), ("forget", "RUN", "--dry-run")]


def _arguments(workspace: World, text: str) -> list[tuple[str, ...]]:
    command = ("summarize", "book.md", "-w", "60")
    wrong = [("-m", f"x{text}:y"), ("--base-url", f"http://{text}/"), ("--strategy", text), ("--prompts", text)]
    return [*((*command, *pair) for pair in wrong), ("show", text), (text,), ("resume", text, "--json")]


def _settings(workspace: World, text: str) -> list[tuple[str, ...]]:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in text)
    (workspace.folder / "redraft.toml").write_text(f'"k{escaped}" = 1\n', "utf-8")
    return [("runs",), ("runs", "--json")]


def _packs(workspace: World, text: str) -> list[tuple[str, ...]]:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in text)
    (workspace.folder / "pack.json").write_text(f'{{"format": "{escaped}", "{escaped}": 1}}', "utf-8")
    return [("pack", "import", "book.md", "pack.json"), ("pack", "import", "book.md", "pack.json", "--json")]


PATHS = {
    "errors": _errors,
    "errors of 500": _errors,
    "an error page": _errors,
    "refusals": _errors,
    "replies": _replies,
    "names": _names,
    "titles": _titles,
    "arguments": _arguments,
    "settings": _settings,
    "packs": _packs,
}


def _server(path: str, text: str, request: Seen) -> Reply:
    answer = right(request)
    if path == "errors":
        return Fault("status", status=401, message=f"wrong key {text} indeed")
    if path == "errors of 500":
        return Fault("status", status=400, message=f"no such thing {text} here", type=text, code=text, param=text)
    if path == "an error page":
        return Raw(f"<html>{text} sign in</html>".encode(), 403, {"Content-Type": "text/html"})
    if path == "refusals":
        return replace(answer, refusal=f"I may not {text} do that")
    if path == "replies":
        return Answer(f"{answer.text} {text} is the end.", usage=answer.usage)
    return answer


def terminals(seed: int) -> Iterator[Try]:
    """Every sequence on every way to the terminal, those first that differ in both; then several in one text."""
    ways, sequences = list(PATHS), list(SEQUENCES.items())
    for shift, (place, (name, text)) in itertools.product(range(len(ways)), enumerate(sequences)):
        path = ways[(place + shift) % len(ways)]
        yield Try(f"terminal/{name} in {path}", partial(_shown, path, text))
    for number in itertools.count(1):
        chance = random.Random(f"{seed} terminal {number}")
        text = "x".join(chance.sample(list(SEQUENCES.values()), 4))
        path = chance.choice(ways)
        yield Try(f"terminal/several in {path} #{number}", partial(_shown, path, text))


def _shown(path: str, text: str, folder: Path) -> Iterator[Violation]:
    with world(folder, partial(_server, path, text), TERM="xterm", COLUMNS="80") as workspace:
        for command in PATHS[path](workspace, text):
            run = next(iter(workspace.runs()), "none")
            printed = on_terminal(workspace, tuple(run if word == "RUN" else word for word in command))
            if commands_run := speech(printed):
                what = f"`{' '.join(command)}` sends {sorted(commands_run)}"
                yield Violation("leaked", f"{what[:300]!r}")
            if "Traceback (most recent" in printed:
                yield Violation("crashed", printed[-600:])


def speech(printed: str) -> set[str]:
    """What in all that reached a terminal is neither text nor one of our own sequences."""
    return set(_SPEAKING.findall(_OURS.sub("", printed)))


def on_terminal(workspace: World, command: tuple[str, ...]) -> str:
    """Run a command with stdout and stderr on a terminal, and tell what reached it."""
    outer, inner = pty.openpty()
    chunks: list[bytes] = []
    over = threading.Event()

    def read() -> None:
        while not (over.is_set() and not select.select([outer], [], [], 0)[0]):
            if select.select([outer], [], [], 0.02)[0]:
                with suppress(OSError):
                    chunks.append(os.read(outer, 65_536))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        ended = workspace.run_on(os.ttyname(inner), *command)
    finally:
        over.set()
        reader.join()
        os.close(inner)
        os.close(outer)
    text = b"".join(chunks).decode("utf-8", "replace").replace("\r\n", "\n")
    # A carriage return of ours is followed by an erased line.
    text = re.sub(r"\r(?=\x1b\[|\n|$)|(?<=K)\r", "", text)
    return text if ended.code is not None else f"{text}\nTraceback (most recent call last): it hung"


ATTACKS = (
    Attack(
        "terminal",
        terminals,
        3,
        small=("terminal/a title in errors", "terminal/C1 OSC in titles", "terminal/the clipboard in errors of 500"),
    ),
)
