"""The package in `examples/plugin` as its users meet it, and packages that are not as they should be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import redraft
from redraft import plugins
from redraft.errors import UsageError
from redraft.graphs.strategies import strategy_named
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand
from tests.command import Command
from tests.plugged import EXAMPLE, installed, offered_by_the_example, package
from tests.support import SAMPLE, story

CHAT = ("--model", "openai:gpt-4o-mini")
SMALL = ("--chunk-tokens", "256", "--context-tokens", "2048", "--words", "120", "--temperature", "0")
ENDS = ("--strategy", "first-and-last")
TALK = EXAMPLE / "talk.eml"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return package(tmp_path / "site", offered_by_the_example(), "redraft-example-plugin")


@pytest.fixture
def command(tmp_path: Path, site: Path) -> Iterator[LocalCommand]:
    with installed(site, EXAMPLE):
        yield LocalCommand(tmp_path, COLUMNS="100")


def test_its_strategy_model_and_reader_work(command: LocalCommand) -> None:
    planned = command.run("summarize", str(SAMPLE), *ENDS, "--dry-run", "--json").json
    done = command.run("summarize", str(SAMPLE), *ENDS, "--json").json
    assert (planned["strategy"], planned["calls"]) == ("first-and-last", 3)
    assert done["strategy"] == "first-and-last"
    usage = done["usage"]
    assert usage["calls"] == planned["calls"]
    assert usage["prompt_tokens"] <= planned["prompt_tokens"]
    assert usage["completion_tokens"] <= planned["completion_tokens"]
    assert "Hester Vane came to the island" in done["summary"]
    assert command.run("runs", "--json").json["runs"][0]["strategy"] == "first-and-last"
    done = command.run("summarize", str(TALK), "-m", "echo:first", "-w", "40", "--json").json
    unknown = command.run("summarize", str(TALK), "-m", "echo:loud", "-w", "40", "--json").json
    assert done["source"]["title"] == "The Missing Ledger"
    assert done["summary"].startswith("The Missing Ledger, a talk by Hester Vane. It is two miles long,")
    assert unknown["error"]["hint"] == "use echo:first or echo:last"


@pytest.mark.parametrize("count", [4, 60])
async def test_no_update_of_its_strategy_is_empty(count: int, site: Path) -> None:
    text = "\n\n".join(f"The board {number} met at seven, and nobody spoke." for number in range(count))
    with installed(site, EXAMPLE):
        async with redraft.Session(":memory:") as session:
            graph = redraft.graphs.draft("first-and-last").compile()
            task = {"text": text, "chunk_tokens": 128, "words": 30}
            parts = [part async for _, part in graph.astream({"order": task}, context=session, subgraphs=True)]
    assert {"read_first", "read_last", "merge"} < {node for part in parts for node in part}
    assert all(value for part in parts for value in part.values())


@pytest.mark.slow
def test_strategy_drafts_what_its_metric_refines(command: LocalCommand) -> None:
    done = command.run("summarize", str(SAMPLE), *ENDS, "--refine", "-g", "dates=1", "--json").json
    assert done["goals"] == {"dates": {"at_least": 1.0, "met": True, "judged_share": 1.0}}


@pytest.mark.slow
def test_its_metric_that_asks_nobody(command: LocalCommand) -> None:
    (command.folder / "wrong.md").write_text("On 3 March 1924 she came. It was over on April 31, 1999.", "utf-8")
    (command.folder / "none.md").write_text("She came, and it was soon over.", "utf-8")
    metric = command.run("evaluate", str(SAMPLE), "wrong.md", "--metric", "dates", "--json").json["metrics"]["dates"]
    none = command.run("evaluate", str(SAMPLE), "none.md", "--metric", "dates", "--json").json["metrics"]["dates"]

    assert metric["score"] == 0.5
    assert {finding["found"] for finding in metric["findings"]} == {"31 April", "1999"}
    assert none["outcome"] == "not_applicable"


@pytest.mark.slow
def test_metric_with_a_prompt_needs_a_judge(command: LocalCommand) -> None:
    command.run("summarize", str(TALK), "-m", "echo:first", "-w", "40", "-o", "talk.md", "--quiet", code=0)
    arguments = ("evaluate", str(TALK), "talk.md", "--metric", "names_the_author", "--json")
    planned = command.run(*arguments, "--judge", "echo:first", "--dry-run").json
    evaluation = command.run(*arguments, "--judge", "echo:first")
    refused = command.run(*arguments, code=2)
    assert evaluation.json["metrics"]["names_the_author"]["score"] == 1.0
    assert evaluation.json["usage"]["calls"] == planned["calls"] == 1
    error = refused.json["error"]
    assert error["message"].endswith("has a prompt of its own, which the built-in model cannot answer")
    assert "--judge" in error["hint"]
    assert len(command.run("runs", "--all", "--json").json["runs"]) == 2


@pytest.mark.nightly
@pytest.mark.skipif("first-and-last" in plugins.names("strategies"), reason="the example is installed for good")
def test_its_strategy_killed_and_resumed_and_gone(tmp_path: Path, site: Path) -> None:
    (tmp_path / "book.md").write_text(story(300).text, "utf-8")
    search_path = os.pathsep.join([str(SAMPLE.parent.parent), str(site), str(EXAMPLE)])
    with ChatServer(latency=lambda prompt, completion, index: 0.3) as server:
        command = Command(tmp_path, server.base_url, PYTHONPATH=search_path)
        without = Command(tmp_path, server.base_url, PYTHONPATH=str(SAMPLE.parent.parent))
        process = command.start("summarize", "book.md", *CHAT, *SMALL, *ENDS)
        while len(server.seen) < 2:  # then the first reply has been stored
            assert process.poll() is None
        process.kill()
        process.communicate()
        first = {str(request.messages) for request in server.answered}

        listed = without.run("runs", "--json").json["runs"][0]
        without.run("show", listed["run"], code=0)
        gone = without.run("resume", listed["run"], "--json", code=1)
        before = len(server.seen)
        done = command.run("resume", listed["run"], "--json", code=0)
        after = server.seen[before:]
        details = without.run("show", listed["run"], "--json")

    assert (listed["strategy"], listed["status"]) == ("first-and-last", "killed")
    assert "drafted by the strategy first-and-last" in gone.json["error"]["message"]
    assert gone.json["error"]["hint"].startswith("pip install redraft-example-plugin, then")
    assert done.json["strategy"] == "first-and-last"
    assert not first & {str(request.messages) for request in after}
    assert len(first) + len(after) <= 4  # one request may have been under way
    assert details.json["summary"] == done.json["summary"]


def strategies(folder: Path, name: str = "wordy", **points: str) -> Path:
    source = "from redraft_example.ends import FIRST_AND_LAST\nNOTHING = 7\n"
    return package(folder, {"redraft.strategies": points}, name, {name: source})


@pytest.mark.parametrize(
    ("points", "name", "message"),
    [
        (
            "ends=FIRST_AND_LAST",
            "middle",
            "there is no strategy 'middle'; choose from hierarchical, incremental, direct",
        ),
        ("direct=FIRST_AND_LAST", "hierarchical", "an installed package has a strategy named direct, which is one of"),
        ("given=FIRST_AND_LAST", "hierarchical", "an installed package has a strategy named given, which is one of"),
        ("ends=FIRST_AND_LAST", "ends", "the strategy ends of the package wordy calls itself first-and-last"),
        ("ends=NOTHING", "ends", "the strategy ends of the package wordy is not a strategy but 7"),
        ("ends=NO", "ends", "ends, of the package wordy, cannot be loaded: AttributeError: "),
    ],
)
def test_a_strategy_that_is_none_is_told(tmp_path: Path, points: str, name: str, message: str) -> None:
    point, target = points.split("=")
    site = strategies(tmp_path / "site", **{point: f"wordy:{target}"})
    with installed(site, EXAMPLE), pytest.raises(UsageError) as caught:
        strategy_named(name)
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_two_packages_with_one_name_are_refused(tmp_path: Path) -> None:
    first = strategies(tmp_path / "one", "wordy", ends="wordy:FIRST_AND_LAST")
    second = strategies(tmp_path / "other", "windy", ends="windy:FIRST_AND_LAST")
    with installed(first, second, EXAMPLE), pytest.raises(UsageError) as caught:
        strategy_named("ends")
    assert caught.value.message == "several installed packages have a strategy named ends: wordy and windy"
