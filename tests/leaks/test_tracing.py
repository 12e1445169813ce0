"""Tracing that the environment has switched on: a listener stands where it goes, and hears no word of the document."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.chatserver import ChatServer
from tests.command import Command
from tests.leaks.listener import Listener, switched_on

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


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("summarize", "book.md", "-m", "openai:m", "-w", "60"),
        ("evaluate", "book.md", "summary.md", "-m", "openai:m", "--metric", "coverage"),
        ("experiment", "chunk-size", "book.md", "--judge", "openai:m", "--sizes", "64"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_sends_nothing_to_a_tracer(scene: Scene, arguments: tuple[str, ...]) -> None:
    scene.command.environment |= OF_THE_FIRST_VERSION
    done = scene.command.run(*arguments)

    assert scene.listener.heard == []
    assert scene.server.answered, done.err
    assert "Traceback" not in done.err
    assert "Tracing using" not in done.err, done.err
    assert "LangSmith" not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("way", ["flag", "environment"])
def test_it_does_when_it_is_told_to_and_says_where_it_goes(scene: Scene, way: str) -> None:
    told = ["--trace-to-langsmith"] if way == "flag" else []
    scene.command.environment |= {} if told else {"REDRAFT_TRACE_TO_LANGSMITH": "1"}
    done = scene.command.run("summarize", "book.md", "-m", "openai:m", "-w", "60", "-q", *told)

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
def test_the_verbs_of_a_workshop_send_nothing(scene: Scene) -> None:
    embedded(scene, "verb", "built", **OF_THE_FIRST_VERSION)

    assert scene.listener.heard == []


@pytest.mark.nightly
def test_what_an_application_traces_of_its_own_has_neither_prompts_nor_replies_nor_the_document(scene: Scene) -> None:
    embedded(scene, "graph", "within")

    assert not scene.heard("the ledger of the salt house"), scene.listener.text
    assert scene.heard("the application's own words"), "what is the application's is its own to trace"
    assert scene.heard(SUMMARY), "the graph's result is the application's, too"


@pytest.mark.parametrize("way", ["verb", "graph"])
@pytest.mark.nightly
def test_an_application_may_say_so(scene: Scene, way: str) -> None:
    embedded(scene, way, TRACED="yes")

    assert scene.heard()
