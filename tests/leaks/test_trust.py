"""A settings file that lies in the directory: nothing of it goes anywhere, nor is set, without the user's word."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import click
import pytest

from redraft.cli import trust
from redraft.cli.trust import settings_in_need
from tests.chatserver import ChatServer
from tests.cli.inside import Inside, on_terminal
from tests.command import Done
from tests.torture.settings import HARMFUL, MAY, SETTINGS, Command, lines, required, taken, toml, typical, unasked

KEY = "sk-the-users-own-0123456789"
RUN = ("summarize", "book.md", "-w", "60")


@dataclass(frozen=True)
class Found:
    """A directory with a document and a settings file that sends it to a stranger."""

    command: Inside
    stranger: ChatServer

    def says(self, *lines: str) -> None:
        content = "\n".join(['model = "openai:m"', *lines]).replace("STRANGER", self.stranger.base_url)
        (self.command.folder / "redraft.toml").write_text(content, "utf-8")

    def run(self, *arguments: str) -> Done:
        return self.command.run(*(arguments or RUN))

    @property
    def keys(self) -> set[str]:
        return {seen.authorization.removeprefix("Bearer ") for seen in self.stranger.seen}


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Found]:
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    (folder / "summary.md").write_text("The keeper kept the light.", "utf-8")
    with ChatServer(lambda _: "The keeper kept the light.") as stranger:
        home = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home" / "config")}
        made = Found(Inside(folder, OPENAI_API_KEY=KEY, **home), stranger)
        made.says('base-url = "STRANGER"')
        yield made


def refused(found: Found, *arguments: str) -> str:
    done = found.run(*arguments)
    assert done.code == 2, done.err
    assert "is not trusted yet" in done.err
    assert "redraft trust" in done.err
    assert found.stranger.seen == []
    return done.err


@pytest.mark.parametrize(
    "lines",
    [
        ['base-url = "STRANGER"'],
        ["[summarize]", 'base-url = "STRANGER"'],
        ['base-url = "STRANGER"', 'key-env = "OPENAI_API_KEY"'],
        ['base-url = "STRANGER"', 'key-env = "AWS_SECRET_ACCESS_KEY"'],
        ["trace-to-langsmith = true"],
        ['judge-base-url = "STRANGER"', "refine = true", 'judge = "openai:j"'],
        ['base-url = "STRANGER"', 'key-env = "REDRAFT_KEY_HERE"', 'judge-base-url = "STRANGER"'],
    ],
)
def test_an_address_of_a_found_file_is_refused(found: Found, lines: list[str]) -> None:
    found.command.environment |= {"AWS_SECRET_ACCESS_KEY": "secret-of-somebody", "REDRAFT_KEY_HERE": "own-0123456789"}
    found.says(*lines)
    said = refused(found)
    assert str(found.command.folder / "redraft.toml") in said
    assert found.run(*RUN, "--json").json["error"]["code"] == "usage"
    assert found.stranger.seen == []


def test_a_cluster_of_a_found_file_is_refused(found: Found) -> None:
    found.says('engine = "ray"', 'address = "ray://stranger.example:10001"')
    refused(found, "batch", "run", "book.md")


@pytest.mark.parametrize("command", [RUN, ("runs",), ("batch", "run", "book.md")])
def test_a_database_of_a_found_file_is_refused(found: Found, command: tuple[str, ...]) -> None:
    """Documents would go there, and the password that the environment has for another one."""
    del found.command.environment["REDRAFT_DB"]
    found.says('db = "postgresql://ann:hidden@stranger.example/books"')
    said = refused(found, *command)
    assert "stranger.example" in said
    assert "hidden" not in said
    found.says('db = "notes.db"')
    refused(found, *command)


def test_the_word_is_remembered_outside_and_holds_for_what_was_said(found: Found, tmp_path: Path) -> None:
    refused(found)
    assert found.run("trust").code == 0
    assert found.run().code == 0
    assert found.keys == {KEY}
    kept = tmp_path / "home" / "config" / "redraft" / "trusted.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in found.command.folder.iterdir()} == {
        *("book.md", "summary.md", "redraft.toml"),
        *(path.name for path in found.command.folder.glob("redraft.db*")),
        *(path.name for path in found.command.folder.glob("redraft.checkpoints.db*")),
    }

    # Whatever else the file says is its own affair; another address, another table, another directory are not.
    found.stranger.seen.clear()
    found.says('base-url = "STRANGER"', "sample = 2")
    assert found.run().code == 0
    assert found.stranger.seen
    found.stranger.seen.clear()
    found.says('base-url = "STRANGER/other"')
    refused(found)
    found.says('base-url = "STRANGER"', "[summarize]", 'base-url = "STRANGER/other"')
    refused(found)
    other = tmp_path / "other"
    found.command.folder.rename(other)
    moved = Inside(other, **{name: value for name, value in found.command.environment.items() if name != "REDRAFT_DB"})
    assert "is not trusted yet" in moved.run(*RUN).err


@pytest.mark.slow
def test_what_the_user_says_needs_no_word(found: Found) -> None:
    url = found.stranger.base_url
    assert found.run(*RUN, "--base-url", f"{url}/").code == 0
    assert found.run(*RUN, "--sample", "2", "--dry-run").code == 0
    found.command.environment["REDRAFT_BASE_URL"] = url
    assert found.run(*RUN, "--sample", "3").code == 0
    del found.command.environment["REDRAFT_BASE_URL"]
    found.command.environment["REDRAFT_CONFIG"] = "redraft.toml"
    assert found.run(*RUN, "--sample", "4").code == 0
    del found.command.environment["REDRAFT_CONFIG"]
    # Commands that send nothing anywhere do not ask.
    assert found.run("runs").code == 0
    found.says()
    found.command.environment["OPENAI_BASE_URL"] = url
    assert found.run(*RUN, "--sample", "5").code == 0


@pytest.mark.slow
def test_a_key_of_its_own_is_the_word_for_its_address_and_for_no_other(found: Found) -> None:
    found.says('base-url = "STRANGER"', 'key-env = "REDRAFT_KEY_HERE"')
    refused(found)
    found.command.environment["REDRAFT_KEY_HERE"] = "own-0123456789"
    assert found.run().code == 0
    assert found.keys == {"own-0123456789"}

    # What went there with that key goes on with it, and a judge elsewhere never sees it.
    run = found.run("runs", "--json").json["runs"][0]["run"]
    assert found.run("show", run, "--json").json["settings"]["key_env"] == "REDRAFT_KEY_HERE"
    with ChatServer(lambda _: "nothing to say") as judge:
        arguments = ("evaluate", "book.md", "summary.md", "--metric", "coverage", "--judge", "openai:j")
        found.run(*arguments, "--judge-base-url", judge.base_url)
        assert {seen.authorization for seen in judge.seen} == {f"Bearer {KEY}"}
    assert found.keys == {"own-0123456789"}
    assert found.run(*RUN, "-m", "extractive").code == 2


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 2), (b"\n", 2)])
def test_on_a_terminal_it_is_asked_once(found: Found, answer: bytes, code: int) -> None:
    done = on_terminal(found.command, *RUN, typed=answer)
    assert done.code == code, done.err
    assert "Trust it from now on" in done.err
    assert found.stranger.base_url in done.err
    assert bool(found.stranger.seen) == (code == 0)
    if code == 0:
        assert "Trust it from now on" not in on_terminal(found.command, *RUN, term="dumb", typed=answer).err


def is_refused(path: Command, content: str) -> bool:
    """Whether a command asks for the user's word before it does as a file says that lies in the directory."""
    return taken(path, content).is_asked


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[Path]:
    """A directory to write a file into, and a home where nothing was ever trusted."""
    home = {
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "home" / "config"),
        "PATH": os.environ["PATH"],
    }
    with patch.dict(os.environ, home, clear=True), chdir(tmp_path):
        yield tmp_path


@pytest.mark.parametrize("key", sorted({key for _, key, _ in SETTINGS}))
def test_a_setting_is_refused_unless_it_is_known_to_be_harmless(nowhere: Path, key: str) -> None:
    """In the file itself, and in the table of the command, for every command that has the setting."""
    del nowhere
    for path, name, option in SETTINGS:
        if name != key:
            continue
        said = f"{key} = {toml(typical(key, option))}\n"
        more = lines(required(path, option))
        for content in (more + said, *([f"{more}[{path[0]}]\n{said}"] if path[0] != "models" else [])):
            assert is_refused(path, content) == (key not in MAY), (path, content)


@pytest.mark.slow
@pytest.mark.parametrize("value", HARMFUL)
def test_no_text_of_a_found_file_is_a_place(nowhere: Path, value: str) -> None:
    """The value is what is asked about: `tests/torture/settings.py` makes files of every kind."""
    del nowhere
    texts = [one for one in SETTINGS if type(one[2].type) is click.types.StringParamType and one[1] not in MAY]
    assert len(texts) > 20
    for path, key, option in texts:
        found = taken(path, f'{lines(required(path, option))}{key} = "{value}"\n')
        assert found.is_asked or (value == "" and found.refused.endswith("the name is empty.")), (path, key)


@pytest.mark.slow
def test_files_of_a_stranger_set_nothing_unasked() -> None:
    assert list(unasked(200, 1)) == []


@pytest.mark.slow
@pytest.mark.parametrize("let_in", ["embeddings", "prompts"])
def test_the_files_notice_what_gets_in(let_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_HARMLESS", trust._HARMLESS | {let_in})
    assert any(f"{let_in} = " in one for one in unasked(3000, 1))


@pytest.mark.parametrize("content", ["a = " + "[" * 3_000, "a." * 3_000 + "b = 1"])
def test_a_file_that_is_nested_without_end_is_refused_in_a_sentence(nowhere: Path, content: str) -> None:
    del nowhere
    assert taken(("summarize",), content).refused


def test_models_that_are_built_in_or_at_the_users_own_server_may_be_named(nowhere: Path) -> None:
    del nowhere
    for value, refused in {
        "extractive": False,
        "openai:gpt-5-mini": False,
        "openai:http://stranger.example/v1": True,
        "huggingface:stranger/model": True,
        "nli:stranger/model": True,
    }.items():
        assert is_refused(("summarize",), f'model = "{value}"\n') == refused
        assert is_refused(("evaluate",), f'judge = ["extractive", "{value}"]\n') == refused


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        *(
            (one, False)
            for one in ("context_tokens = 4096", "temperature = 0.5", 'prompts = "simple"', 'replies = "plain"')
        ),
        *((one, True) for one in ('base_url = "http://x"', 'key_env = "HOME"', 'prompts = "./p"')),
        ("price = { prompt = 0.0, completion = 0.0 }", True),
    ],
)
def test_a_table_of_a_model_may_say_as_little(nowhere: Path, field: str, refused: bool) -> None:
    del nowhere
    content = f'model = "m"\n[models.m]\nmodel = "openai:m"\n{field}\n'
    assert is_refused(("summarize",), content) == refused
    assert is_refused(("studio",), content.partition("\n")[2]) == refused, "its models can be chosen in the studio"


def test_what_an_installed_package_adds_needs_the_word(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del nowhere
    monkeypatch.setattr("redraft.plugins.names", lambda kind: ("theirs",))
    assert is_refused(("summarize",), 'strategy = "theirs"\n')
    assert is_refused(("evaluate",), 'metric = ["coverage", "theirs"]\n')
    assert is_refused(("refine",), 'goal = "theirs=0.5"\n')


def test_a_dry_run_reads_no_folder_either(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    (tmp_path / "redraft.toml").write_text('prompts = "./theirs"\n', "utf-8")
    done = Inside(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "config")).run("summarize", "book.md", "--dry-run")
    assert done.code == 2
    assert "is not trusted yet" in done.err


def test_all_that_needs_the_word_is_shown_before_it_is_given() -> None:
    content = {"words": 50, "prompts": "./p", "models": {"m": {"model": "openai:m", "price": {"prompt": 0}}}}
    assert list(settings_in_need(content)) == ["prompts", "[models.m] price"]
