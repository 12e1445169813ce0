"""`redraft trace RUN --calls` and `--call`: what models were asked, and what they answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chatserver import ChatServer, Seen
from tests.cli.inside import MODEL, Inside, keepers_court
from tests.judges import Keepers, Said, island, seen_on

pytestmark = pytest.mark.slow


class Careless(Keepers):
    """Its first reply cannot be read."""

    def __init__(self) -> None:
        self.spoiled = ["no \x1b]0;title\x07JSON"]

    def __call__(self, sheet: object) -> object:  # type: ignore[override]
        return self.spoiled.pop() if self.spoiled else super().__call__(sheet)  # type: ignore[arg-type]


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Inside]:
    with keepers_court(tmp_path, Careless()) as made:  # type: ignore[arg-type]
        yield made


def test_calls_are_listed_by_stage_and_read_whole(court: Inside) -> None:
    run = court.run("evaluate", "book.md", "poor.md", "--metric", "coverage", "--json", "-q").json["run"]
    assert f"Prompts and replies: redraft trace {run} --calls" in court.run("trace", run).err
    told = court.run("trace", run, "--calls", "--json").json
    listed = court.run("trace", run[:4], "--calls")
    assert listed.out.startswith("## Questions and key facts: 2 calls\n\n| call ")
    assert "unreadable" in listed.out.splitlines()[4]
    assert f"redraft trace {run} --call 1" in listed.err
    assert [one["number"] for one in told["calls"]] == [*range(1, len(told["calls"]) + 1)]

    shown = court.run("trace", run, "--call", "2").out
    book = island().text.strip()
    assert book in shown
    assert "attempt 2 of 2" in shown
    for title in ("prompt", "rejected reply", "schema of the reply", "reply"):
        assert f"## {title}\n\n```" in shown
    assert "That reply cannot be used: " in shown
    assert "\x1b" not in shown
    call = court.run("trace", run, "--call", "2", "--json").json
    assert [one["role"] for one in call["messages"]] == ["user", "assistant", "user", "schema"]
    assert json.loads(call["reply"])["questions"]

    missing = court.run("trace", run, "--call", "99")
    assert missing.code == 1
    assert f"has no call 99\n  list them with `redraft trace {run} --calls`" in missing.err


def test_a_call_from_the_cache_shows_what_the_earlier_run_sent(court: Inside) -> None:
    judged = ("evaluate", "book.md", "poor.md", "--json", "-q", "--metric")
    first = court.run(*judged, "coverage").json["run"]
    run = court.run(*judged, "coverage", "--metric", "consistency").json["run"]
    assert "cached" in court.run("trace", run, "--calls").out.splitlines()[4]
    shown = court.run("trace", run, "--call", "1").out
    assert f"answered from the cache: run {first} sent this prompt and paid for the reply" in shown
    assert island().text.strip() in shown


def test_what_is_shown_is_what_the_server_got_and_no_key_is_stored(tmp_path: Path) -> None:
    judge, got = Keepers(), []
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "poor.md").write_text("Nobody is there.", "utf-8")

    def serve(seen: Seen) -> Said:
        got.append([one["content"] for one in seen.body["messages"]])
        return judge(seen_on(seen))

    key = "sk-0123456789abcdef"
    with ChatServer(serve) as server:
        command = Inside(tmp_path, server.base_url, REDRAFT_MODEL=MODEL, OPENAI_API_KEY=key, COLUMNS="100")
        run = command.run("evaluate", "book.md", "poor.md", "--metric", "coverage", "--json", "-q").json["run"]
        calls = command.run("trace", run, "--calls", "--json").json["calls"]
        asked = [command.run("trace", run, "--call", str(one["number"]), "--json").json for one in calls]
    for one in asked:
        # The schema follows in the prompt until the server has shown that it keeps to it.
        assert any(content[0].startswith(one["messages"][0]["text"]) for content in got)
    assert len(asked) == len(got) > 1
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("**/*.db*"))
    assert key.encode() not in stored
    assert key not in json.dumps(asked)
