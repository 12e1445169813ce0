"""Each role's key goes to its own server, no trace leaves the machine unasked, and a terminal gets words only."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from redraft import DraftConfig, ModelSettings, Session, Store
from redraft.cli.terminal import json_text
from tests.chatserver import Answer, ChatServer, Fault, Raw, Reply
from tests.cli.local_command import LocalCommand, on_terminal
from tests.command import Command, Completed
from tests.leaks.listener import Listener, switched_on

USUAL, STRONG, LOCAL = "sk-usual-0123456789", "sk-strong-0123456789", "sk-local-0123456789"
SAID = "The keeper kept the light."
TEXT = f"{SAID} " * 40


@dataclass(frozen=True)
class Two:
    """A writer's server and a judge's, and a directory to call them from."""

    command: LocalCommand
    writer: ChatServer
    judge: ChatServer

    def run(self, *arguments: str) -> Completed:
        return self.command.run("evaluate", "book.md", "summary.md", "--metric", "coverage", *arguments)

    def says(self, *lines: str) -> None:
        content = "\n".join(lines).replace("WRITER", self.writer.base_url).replace("JUDGE", self.judge.base_url)
        (self.command.folder / "redraft.toml").write_text(content, "utf-8")
        self.command.environment["REDRAFT_CONFIG"] = "redraft.toml"


def keys_at(server: ChatServer) -> set[str]:
    """The keys that a server has been shown, in requests of any kind."""
    keys = [*(request.authorization for request in server.seen), *(key for _, key in server.looked)]
    return {key.removeprefix("Bearer ") for key in keys}


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    (tmp_path / "book.md").write_text(TEXT, "utf-8")
    (tmp_path / "summary.md").write_text("The keeper kept the light.", "utf-8")
    keys = {"OPENAI_API_KEY": USUAL, "STRONG_KEY": STRONG, "LOCAL_KEY": LOCAL}
    with ChatServer(lambda _: SAID) as writer, ChatServer(lambda _: "nothing to say") as judge:
        yield Two(LocalCommand(tmp_path, **keys), writer, judge)


def test_the_writers_key_stays_with_it(two: Two) -> None:
    two.command.run("summarize", "book.md", "-m", "openai:w", "-w", "60", "--base-url", two.writer.base_url)
    places = ("--base-url", two.writer.base_url, "--set", f"judge_base_url={two.judge.base_url}")
    two.run("-m", "openai:w", "--judge", "openai:j", *places)
    assert two.judge.seen
    assert keys_at(two.writer) == {USUAL}
    assert keys_at(two.judge) == {"none"}


@pytest.mark.slow
def test_each_table_has_its_own_key(two: Two) -> None:
    two.says(
        *("[models.strong]", 'model = "openai:w"', 'base_url = "WRITER"', 'key_env = "STRONG_KEY"'),
        *("[models.near]", 'model = "openai:j"', 'base_url = "JUDGE"', 'key_env = "LOCAL_KEY"'),
    )
    assert two.command.run("summarize", "book.md", "--writer", "strong", "-w", "60").code in (0, 3)
    two.run("-m", "strong", "--judge", "near")
    assert two.judge.seen
    assert keys_at(two.writer) == {STRONG}
    assert keys_at(two.judge) == {LOCAL}
    # An address that is typed takes the place of the table's, and the table's key stays where it was.
    with ChatServer(lambda _: SAID) as second:
        two.command.run("summarize", "book.md", "-m", "strong", "-w", "60", "--base-url", second.base_url)
        assert second.seen
        assert keys_at(second) == {USUAL}


async def test_roles_in_python_have_own_keys(two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRONG_KEY", STRONG)
    monkeypatch.setenv("LOCAL_KEY", LOCAL)
    writer = ModelSettings(model="openai:w", base_url=two.writer.base_url, key_env="STRONG_KEY", temperature=0.9)
    judge = ModelSettings(model="openai:j", base_url=two.judge.base_url, key_env="LOCAL_KEY", top_p=0.5)
    (tmp_path / "long.md").write_text(TEXT, "utf-8")
    async with Session(Store(tmp_path / "own.db"), model=writer, judges=[judge]) as session:
        await session.summarize(tmp_path / "long.md", settings=DraftConfig(words=60), metrics=("coverage",))
        session.store.close()
    assert (keys_at(two.writer), keys_at(two.judge)) == ({STRONG}, {LOCAL})
    assert {request.body["temperature"] for request in two.writer.seen} == {0.9}
    assert {(request.body["temperature"], request.body["top_p"]) for request in two.judge.seen} == {(0.0, 0.5)}
    assert all("top_p" not in request.body for request in two.writer.seen)


def test_the_usual_key_follows_its_server(two: Two) -> None:
    two.command.environment["OPENAI_BASE_URL"] = two.judge.base_url
    places = ("--base-url", two.writer.base_url, "--judge", "openai:j", "--set", f"judge_base_url={two.judge.base_url}")
    two.command.run("summarize", "book.md", "-m", "openai:w", "-w", "60", "--refine", *places)
    assert two.writer.seen
    assert keys_at(two.judge) == {USUAL}
    assert keys_at(two.writer) == {"none"}


@pytest.mark.parametrize("role", ["--judge", "-m", "--set", "validator=--decider"])
def test_tables_of_found_files_are_refused(two: Two, tmp_path: Path, role: str) -> None:
    home = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home" / "config")}
    two.command.environment |= home
    two.says("[models.kind]", 'model = "openai:j"', 'base_url = "JUDGE"')
    del two.command.environment["REDRAFT_CONFIG"]
    run = ("summarize", "book.md", "-w", "60", "--refine", role, "kind", "--policy", "agent")
    run = run if role == "-m" else (*run, "-m", "extractive")
    done = two.command.run(*run)
    assert (done.code, "[models]" in done.err) == (2, True), done.err
    assert (two.judge.seen, two.judge.looked) == ([], [])


def test_tables_without_key_send_nothing(two: Two) -> None:
    two.says("[models.strong]", 'model = "openai:w"', 'base_url = "WRITER"', 'key_env = "NOT_SET_KEY"')
    done = two.command.run("summarize", "book.md", "-m", "strong", "-w", "60")
    assert done.code == 2
    assert "set NOT_SET_KEY" in done.err
    assert two.writer.seen == []


ROOT = Path(__file__).parents[2]
SECRET = "Ormolu Fitzwarren keeps the ledger of the salt house."
BOOK = "# The Ledger\n\n" + " ".join(f"{SECRET[:-1]} in year {year}." for year in range(40))
SUMMARY = "Ormolu Fitzwarren keeps a ledger."
OF_THE_FIRST_VERSION = {"LANGCHAIN_TRACING": "true", "LANGCHAIN_HANDLER": "langchain"}


@dataclass(frozen=True)
class Scene:
    """A command with a document, a model, and somebody who listens where traces go."""

    command: Command
    listener: Listener
    server: ChatServer

    def heard(self, word: str = "Ormolu") -> bool:
        return word in self.listener.text


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    (tmp_path / "book.md").write_text(BOOK, "utf-8")
    (tmp_path / "summary.md").write_text(SUMMARY, "utf-8")
    with Listener() as listener, ChatServer(lambda _: SUMMARY) as server:
        yield Scene(Command(tmp_path, server.base_url, **switched_on(listener.url)), listener, server)


def check_tracer_hears_nothing(scene: Scene, arguments: tuple[str, ...]) -> None:
    """Run a command of a user who has a tracer: the texts go to the model, and nowhere else."""
    scene.command.environment |= OF_THE_FIRST_VERSION
    done = scene.command.run(*arguments)
    assert scene.listener.heard == []
    assert scene.server.answered, done.err
    for word in ("Traceback", "Tracing using", "LangSmith"):
        assert word not in done.err, done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("summarize", "book.md", "-w", "60"), ("evaluate", "book.md", "summary.md", "--metric", "coverage")],
    ids=["summarize", "evaluate"],
)
def test_commands_send_nothing_to_a_tracer(scene: Scene, arguments: tuple[str, ...]) -> None:
    check_tracer_hears_nothing(scene, (*arguments, "-m", "openai:m"))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["flag", "environment"])
def test_requested_traces_name_their_destination(scene: Scene, way: str) -> None:
    flags = ["--trace-to-langsmith"] if way == "flag" else []
    scene.command.environment |= {} if flags else {"REDRAFT_TRACE_TO_LANGSMITH": "1"}
    done = scene.command.run("summarize", "book.md", "-m", "openai:m", "-w", "60", "-q", *flags)

    assert done.code == 0, done.err
    assert scene.heard()
    assert f"to LangSmith: {scene.listener.url}, project leak" in done.err


def embedded(scene: Scene, *ways: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.leaks.embedding", *ways],
        cwd=scene.command.folder,
        env={**scene.command.environment, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Tracing using" not in done.stderr, done.stderr
    assert len(scene.server.answered) >= len(ways)


@pytest.mark.slow
def test_session_verbs_send_nothing(scene: Scene) -> None:
    embedded(scene, "verb", "built", **OF_THE_FIRST_VERSION)

    assert scene.listener.heard == []


@pytest.mark.nightly
def test_own_traces_lack_prompts_and_documents(scene: Scene) -> None:
    embedded(scene, "graph", "within")

    assert not scene.heard("the ledger of the salt house"), scene.listener.text
    assert scene.heard("the application's own words"), "what is the application's is its own to trace"
    assert scene.heard(SUMMARY), "the graph's result is the application's, too"


# Sets the title, writes the clipboard, moves and colours, in C0, in C1, unended; rings; turns the line around.
EVIL = "\x1b]0;OWNED\x07 \x1b]52;c;ZXZpbA==\x1b\\ \x1b[2J\x1b[1;31m \x9b31m \x9d0;x\x9c \x90q\x07 \x7f"
EVIL += "\u202egnp.exe\u2066 \x1bc"
HARM = [b"\x1b]", b"\x1bc", b"\x1bP", b"\x1b[2J", b"\x1b[1;31m", b"\x07", b"\x7f"]
HARM += [chr(control).encode() for control in range(0x80, 0xA0)]
HARM += [mark.encode() for mark in "\u202e\u2066"]


def shown_on_terminal(command: Command, *arguments: str) -> bytes:
    done = on_terminal(command, *arguments)
    output = done.out + done.err
    assert "Traceback" not in output, output
    return output.encode()


def harm_in(output: bytes) -> list[bytes]:
    return [mark for mark in HARM if mark in output]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "book.md").write_text("# The Light\n\n" + "The keeper kept the light. " * 40, "utf-8")
    return Command(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply",
    [
        Fault("status", status=400, message=f"no such thing {EVIL} here", type=EVIL, code=EVIL, param=EVIL),
        Raw(f"<html>{EVIL} sign in</html>".encode(), 403, {"Content-Type": "text/html"}),
        Answer(refusal=f"I may not {EVIL} do that"),
        Answer(f"The keeper kept the light. {EVIL} is the end."),
    ],
    ids=["error", "page", "refusal", "reply"],
)
def test_servers_control_characters_are_harmless(tmp_path: Path, reply: Reply) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    with ChatServer(lambda _: reply) as server:
        command = Command(tmp_path, server.base_url)
        output = shown_on_terminal(command, "summarize", "book.md", "-m", "openai:m", "-w", "60")
        output += shown_on_terminal(command, "runs")
    assert b"redraft" in output or b"keeper" in output
    assert harm_in(output) == []


@pytest.mark.slow
def test_stored_control_characters_are_harmless(command: Command) -> None:
    assert command.run("summarize", "book.md", "-w", "60", "-q").code == 0
    with sqlite3.connect(command.database) as database:
        (run,) = database.execute("SELECT id FROM runs").fetchone()
        database.execute("UPDATE documents SET title = ?, body = json_set(body, '$.source', ?)", (EVIL, EVIL))
        database.execute("UPDATE runs SET body = json_set(body, '$.version', ?, '$.why', ?)", (EVIL, EVIL))
        database.execute("UPDATE texts SET text = 'The keeper' || ?", (EVIL,))
    database.close()

    for arguments in (("runs",), ("show", run), ("trace", run)):
        output = shown_on_terminal(command, *arguments)
        assert b"keeper" in output or b"31m" in output
        assert harm_in(output) == [], arguments
    listed = command.run("runs", "--json")
    assert harm_in(listed.out.encode()) == []
    assert listed.json["runs"][0]["title"] == EVIL


def test_json_escapes_invisible_characters() -> None:
    unseen = r"\u007f\u0080\u009f\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\ud800"
    visible = "é雨👩‍👩‍👧\u00a0—"
    assert (
        json_text({"a": f"x{json.loads(chr(34) + unseen + chr(34))} {visible}"}, None)
        == f'{{"a": "x{unseen} {visible}"}}'
    )
