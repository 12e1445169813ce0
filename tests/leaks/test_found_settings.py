"""A settings file that lies in the directory: it sets what does no harm, says so, and is refused for anything else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import click
import pytest

from tests.chatserver import ChatServer
from tests.cli.inside import Inside
from tests.command import Done
from tests.torture.settings import HARMFUL, MAY, SETTINGS, Command, taken, toml, typical, unasked

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
    assert "merely found" in done.err
    assert "--config FILE" in done.err
    assert (found.stranger.seen, found.stranger.looked) == ([], [])
    return done.err


@pytest.mark.parametrize(
    "lines",
    [
        ['base-url = "STRANGER"'],
        ['base-url = "STRANGER"', 'key-env = "REDRAFT_KEY_HERE"'],
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
    assert "hidden" not in refused(found, *command)
    found.says('db = "notes.db"')
    refused(found, *command)


@pytest.mark.slow
def test_a_named_file_and_the_users_own_configuration_set_anything(found: Found, tmp_path: Path) -> None:
    refused(found)
    named = found.run("--config", "redraft.toml", *RUN)
    assert named.code == 0, named.err
    assert found.keys == {KEY}
    assert "sets" not in named.err
    found.stranger.seen.clear()

    own = tmp_path / "home" / "config" / "redraft" / "redraft.toml"
    own.parent.mkdir(parents=True)
    own.write_bytes((found.command.folder / "redraft.toml").read_bytes())
    (found.command.folder / "redraft.toml").write_text("chunk-tokens = 500\n")
    assert found.run(*RUN, "--set", "sample=2").code == 0
    assert found.stranger.seen


def test_a_file_that_is_named_and_missing_is_an_error(found: Found) -> None:
    done = found.run("--config", "nowhere.toml", "runs")
    assert (done.code, "nowhere.toml: there is no such file" in done.err) == (2, True)


@pytest.mark.slow
def test_what_the_user_says_outranks_a_found_file(found: Found, tmp_path: Path) -> None:
    own = tmp_path / "home" / "config" / "redraft" / "redraft.toml"
    own.parent.mkdir(parents=True)
    own.write_text('words = 70\nmax-calls = 5\n[models.near]\nmodel = "openai:m"\nbase_url = "http://127.0.0.1:9/v1"\n')
    (found.command.folder / "redraft.toml").write_text('words = 30\nmax-calls = 9000\nsample = 3\nwriter = "near"\n')
    done = found.run("summarize", "book.md", "-m", "extractive", "--json")
    settings = found.run("show", done.json["run"], "--json").json["settings"]
    assert (settings["words"], settings["sample"]) == (70, 3)
    assert f"redraft.toml in {found.command.folder.resolve()} sets sample=3\n" in done.err
    planned = found.run("summarize", "book.md", "--dry-run", "--json")
    assert planned.code == 0, "a model may be named that the user has described"
    assert planned.json["model"] == "openai:m"


@pytest.mark.slow
def test_what_a_found_file_sets_is_said_and_stands_in_the_record(found: Found) -> None:
    """A score that it has steered can be told from the record, even where nobody has read stderr."""
    (found.command.folder / "redraft.toml").write_text('questions = 1\ntop-k = 1\ngoal = "coverage=0.5"\n')
    line = f"redraft.toml in {found.command.folder.resolve()} sets questions=1, top-k=1"
    evaluate = ("evaluate", "book.md", "summary.md", "--metric", "coverage", "-m", "extractive")
    assert line in found.run(*evaluate).err
    done = found.run(*evaluate, "--json", "--quiet", "--set", "sample=2")
    assert done.err == ""
    run = done.json["run"]
    record = found.run("show", run, "--json").json["settings"]["found"]
    assert record == {
        "file": str(found.command.folder.resolve() / "redraft.toml"),
        "values": {"questions": "1", "top-k": "1"},
    }
    assert line in found.run("show", run).err
    # The line may be wrapped inside its path.
    assert "".join(line.split()) in "".join(found.run("trace", run).out.split())
    (found.command.folder / "redraft.toml").unlink()
    other = found.run(*evaluate, "--json", "--set", "sample=3").json["run"]
    assert found.run("show", other, "--json").json["settings"]["found"] is None


def test_a_found_file_cannot_silence_what_it_sets(found: Found) -> None:
    (found.command.folder / "redraft.toml").write_text("quiet = true\n")
    refused(found, "summarize", "book.md", "-m", "extractive")


def is_refused(path: Command, content: str) -> bool:
    """Whether a command refuses a file that lies in the directory, because it could do harm."""
    return taken(path, content).is_harm


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[Path]:
    """A directory to write a file into, and a home without a configuration."""
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
        for content in (said, *([f"[{path[0]}]\n{said}"] if path[0] != "models" else [])):
            assert is_refused(path, content) == (key not in MAY), (path, content)


@pytest.mark.slow
@pytest.mark.parametrize("value", HARMFUL)
def test_no_text_of_a_found_file_is_a_place(nowhere: Path, value: str) -> None:
    """The value is what is asked about: `tests/torture/settings.py` makes files of every kind."""
    del nowhere
    texts = [one for one in SETTINGS if type(one[2].type) is click.types.StringParamType and one[1] not in MAY]
    assert len(texts) > 20
    for path, key, _ in texts:
        found = taken(path, f'{key} = "{value}"\n')
        assert found.is_harm or (value == "" and found.refused.endswith("the name is empty.")), (path, key)


@pytest.mark.slow
def test_files_of_a_stranger_set_nothing_unasked() -> None:
    assert list(unasked(200, 1)) == []


@pytest.mark.slow
@pytest.mark.parametrize("let_in", ["embeddings", "prompts"])
def test_the_files_notice_what_gets_in(let_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for option in [option for _, key, option in SETTINGS if key == let_in]:
        monkeypatch.setattr(option, "found", "yes")
    assert any(f"{let_in} = " in wrong for wrong in unasked(3000, 1))


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


def test_a_found_file_defines_no_model(nowhere: Path) -> None:
    del nowhere
    for path in (("summarize",), ("runs",), ("mcp",)):
        assert is_refused(path, '[models.m]\nmodel = "openai:m"\n')


def test_what_an_installed_package_adds_is_refused(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert "merely found" in done.err
