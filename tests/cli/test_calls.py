"""`redraft trace RUN --calls` and `--call`: what models were asked, and what they answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import MODEL, LocalCommand, judging_folder
from tests.judges import PerfectModel, ScriptedReply, island, read_sheet

pytestmark = pytest.mark.slow
COVERAGE = ("evaluate", "book.md", "poor.md", "--json", "-q", "--metric", "coverage")


class Careless(PerfectModel):
    """Its first reply cannot be read."""

    def __init__(self) -> None:
        self.spoiled = ["no \x1b]0;title\x07JSON"]

    def __call__(self, sheet: object) -> object:  # type: ignore[override]
        return self.spoiled.pop() if self.spoiled else super().__call__(sheet)  # type: ignore[arg-type]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[LocalCommand]:
    with judging_folder(tmp_path, Careless()) as command:  # type: ignore[arg-type]
        yield command


def test_calls_are_listed_and_shown(command: LocalCommand) -> None:
    run = command.run(*COVERAGE).json["run"]
    assert f"Calls to models: redraft trace {run} --calls" in command.run("trace", run).err
    calls = command.run("trace", run, "--calls", "--json").json["calls"]
    assert [call["number"] for call in calls] == [*range(1, len(calls) + 1)]
    done = command.run("trace", run[:4], "--calls", err=f"redraft trace {run} --call 1")
    assert done.out.startswith("## Questions and key facts: 2 calls\n\n| call ")
    assert "unreadable" in done.out.splitlines()[4]
    text = command.run("trace", run, "--call", "2").out
    titles = [f"## {title}\n\n```" for title in ("prompt", "rejected reply", "schema of the reply", "reply")]
    for part in (island().text.strip(), "attempt 2 of 2", "That reply cannot be used: ", *titles):
        assert part in text
    assert "\x1b" not in text
    call = command.run("trace", run, "--call", "2", "--json").json
    assert [message["role"] for message in call["messages"]] == ["user", "assistant", "user", "schema"]
    assert json.loads(call["reply"])["questions"]
    missing = command.run("trace", run, "--call", "99", code=1)
    assert f"has no call 99\n  list them with `redraft trace {run} --calls`" in missing.err


def test_messages_are_stored_without_the_key(tmp_path: Path) -> None:
    judge, received = PerfectModel(), []
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "poor.md").write_text("Nobody is there.", "utf-8")

    def serve(request: ChatRequest) -> ScriptedReply:
        received.append(request.body["messages"][0]["content"])
        return judge(read_sheet(request))

    key = "sk-0123456789abcdef"
    with ChatServer(serve) as server:
        command = LocalCommand(tmp_path, server.base_url, REDRAFT_MODEL=MODEL, OPENAI_API_KEY=key, COLUMNS="100")
        run = command.run(*COVERAGE).json["run"]
        numbers = [call["number"] for call in command.run("trace", run, "--calls", "--json").json["calls"]]
        calls = [command.run("trace", run, "--call", str(number), "--json").json for number in numbers]
    assert len(calls) == len(received) > 1
    for call in calls:
        # The schema follows in the prompt until the server has shown that it keeps to it.
        assert any(content.startswith(call["messages"][0]["text"]) for content in received)
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("**/*.db*"))
    assert key.encode() not in stored
    assert key not in json.dumps(calls)
