"""Only files and standard input are read, and no more of them than is allowed."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import load
from redraft.errors import DocumentError
from redraft.sources import MAX_BYTES, read_file, readable_size, size_limit, write
from tests.cli.local_command import LocalCommand

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no such files")
STORY = "Ines kept the light on the cape for forty years. One night the lamp went out, and a ship was lost.\n"


@pytest.fixture
def command(tmp_path: Path) -> Iterator[LocalCommand]:
    (tmp_path / "story.txt").write_text(STORY)
    yield LocalCommand(tmp_path)
    size_limit.set(MAX_BYTES)


@pytest.fixture(params=["a named pipe", "a device", "a socket", "a directory", "a link to a pipe"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    path, kind = tmp_path / "odd", request.param
    if kind == "a device":
        path.symlink_to("/dev/zero")
    elif kind == "a directory":
        path.mkdir()
        kind = "directory"
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
            yield path, kind
        return
    elif kind == "a link to a pipe":
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
        kind = "a named pipe"
    else:
        os.mkfifo(path)
    yield path, kind


async def test_paths_are_accepted_everywhere(tmp_path: Path) -> None:
    source, summary, prompts = tmp_path / "story.txt", tmp_path / "summary.txt", tmp_path / "prompts"
    source.write_text(STORY * 10, "utf-8")
    summary.write_text("Ines kept the light.", "utf-8")
    prompts.mkdir()
    (prompts / "readme.md").write_text("Nothing is changed here.", "utf-8")
    (tmp_path / "prices.toml").write_text('[prices]\n"m" = { prompt = 1, completion = 2 }\n', "utf-8")

    assert load(source) == load(str(source))
    with pytest.raises(DocumentError, match="no such file"):
        load(tmp_path / "nowhere.txt")
    assert redraft.price_table(tmp_path / "prices.toml").own == redraft.price_table(str(tmp_path / "prices.toml")).own
    assert redraft.DraftConfig(prompts=prompts) == redraft.DraftConfig(prompts=str(prompts))
    assert redraft.ModelSettings(model="openai:m", prompts=prompts).prompts == str(prompts)
    assert redraft.JudgeConfig(embeddings=tmp_path).embeddings == str(tmp_path)

    async with redraft.Session(tmp_path / "book.db") as session:
        result = await session.summarize(source, words=20, prompts=prompts)
        assert result.settings.prompts == str(prompts)
        graph = redraft.graphs.judge().compile(checkpointer=await session.checkpointer())
        thread: Any = {"configurable": {"thread_id": "one"}}
        order = {"source": source, "summary": summary}
        state = await graph.ainvoke({"order": order}, thread, context=session)
        assert {*state["result"]["scores"]} == {"coverage", "consistency"}
        states = [snapshot.values async for snapshot in graph.aget_state_history(thread)]
        assert [values["order"]["source"] for values in states if "order" in values] == [source]


def test_missing_file_is_refused_at_once(no_file: tuple[Path, str]) -> None:
    path, kind = no_file
    began = time.monotonic()
    with pytest.raises(DocumentError, match=kind) as refused:
        load(str(path))
    assert refused.value.hint
    assert time.monotonic() - began < 10


PIPED = [
    ("summarize", "PIPE"),
    ("evaluate", "story.txt", "PIPE"),
    ("pack", "import", "PIPE"),
    ("summarize", "story.txt", "--set", "prices=PIPE"),
    ("summarize", "story.txt", "--prompts", "SET"),
]


@pytest.mark.parametrize("words", PIPED, ids=" ".join)
def test_no_command_waits_for_a_pipe(command: LocalCommand, words: tuple[str, ...]) -> None:
    os.mkfifo(command.folder / "PIPE")
    (command.folder / "SET").mkdir()
    os.mkfifo(command.folder / "SET" / "tidy.md")
    command.run(*words, code=(1, 2), err="it is a named pipe, not a file")


def test_settings_are_read_from_plain_files_only(command: LocalCommand) -> None:
    config = command.folder / "redraft.toml"
    os.mkfifo(config)
    assert "it is a named pipe" in command.run("runs").err
    config.unlink()
    config.write_text("#" * 1_000_001)
    assert "it is larger than 1 MB" in command.run("runs").err


@pytest.mark.slow
def test_source_limit_can_be_raised(command: LocalCommand) -> None:
    large = command.folder / "large.txt"
    large.write_text(STORY * 300)
    refused = command.run("summarize", "large.txt", "--dry-run", "--set", "max_source=20kB", err="--set max_source")
    assert (refused.code, "large.txt: it is larger than 20 kB" in refused.err) == (1, True)
    assert command.run("summarize", "large.txt", "--dry-run", "--set", "max_source=0.1 mb").code == 0
    assert command.run("summarize", "-", "--set", "max_source=100", stdin=STORY.encode() * 2).code == 1
    (command.folder / "redraft.toml").write_text('max-source = "1kB"\n')
    command.environment["REDRAFT_CONFIG"] = "redraft.toml"
    assert "larger than 1 kB" in command.run("evaluate", "story.txt", "large.txt").err
    assert command.run("summarize", "story.txt", "--set", "max_source=much").code == 2


@pytest.mark.slow
def test_the_limit_stands_where_nobody_sets_one(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    with large.open("wb") as file:
        file.truncate(200_000_001)
    with pytest.raises(DocumentError, match="larger than 200 MB"):
        load(str(large))
    with pytest.raises(DocumentError, match="larger than 1 kB"):
        load(str(large), max_bytes=1_000)


def test_endless_and_growing_input_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with open("/dev/zero", encoding="utf-8") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        with pytest.raises(OSError, match="larger than 5 MB"):
            read_file(None, 5_000_000)
    path = tmp_path / "x.txt"
    path.write_bytes(b"a" * 11)
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_file(path, 10)
    assert read_file(path, 11) == b"a" * 11
    assert [readable_size(count) for count in (11, 1_500, 200_000_000, 2 * 10**9)] == [
        "11 bytes",
        "1.5 kB",
        "200 MB",
        "2 GB",
    ]


def test_pipe_is_written_link_stays(tmp_path: Path) -> None:
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        write(pipe, "A summary.", "")
        assert reader.read() == b"A summary."
    assert pipe.is_fifo()
    file.write_text("before", "utf-8")
    link.symlink_to(file)
    write(link, "after", "")
    assert link.is_symlink()
    assert file.read_text("utf-8") == "after"
