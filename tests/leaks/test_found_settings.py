"""A settings file that lies in the directory: it sets what does no harm, says so, and is refused for anything else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import click
import pytest

from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand
from tests.command import Completed
from tests.leaks.found import COMMANDS, HARMFUL, MAY, SETTINGS, Command, taken, toml, typical, wrongly_set

KEY = "sk-the-users-own-0123456789"
RUN = ("summarize", "book.md", "-w", "60")


@dataclass(frozen=True)
class Found:
    """A directory with a document and a settings file that sends it to a stranger."""

    command: LocalCommand
    stranger: ChatServer

    def says(self, *lines: str) -> None:
        content = "\n".join(['model = "openai:m"', *lines]).replace("STRANGER", self.stranger.base_url)
        (self.command.folder / "redraft.toml").write_text(content, "utf-8")

    def run(self, *arguments: str) -> Completed:
        return self.command.run(*(arguments or RUN))

    @property
    def keys(self) -> set[str]:
        return {request.authorization.removeprefix("Bearer ") for request in self.stranger.seen}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Found]:
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    (folder / "summary.md").write_text("The keeper kept the light.", "utf-8")
    with ChatServer(lambda _: "The keeper kept the light.") as stranger:
        home = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home" / "config")}
        scene = Found(LocalCommand(folder, OPENAI_API_KEY=KEY, **home), stranger)
        scene.says('base-url = "STRANGER"')
        yield scene


def refused(scene: Found, *arguments: str) -> str:
    done = scene.run(*arguments)
    assert done.code == 2, done.err
    assert "merely found" in done.err
    assert "--config FILE" in done.err
    assert (scene.stranger.seen, scene.stranger.looked) == ([], [])
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
def test_found_addresses_are_refused(scene: Found, lines: list[str]) -> None:
    scene.command.environment |= {"AWS_SECRET_ACCESS_KEY": "secret-of-somebody", "REDRAFT_KEY_HERE": "own-0123456789"}
    scene.says(*lines)
    assert str(scene.command.folder / "redraft.toml") in refused(scene)
    assert scene.run(*RUN, "--json").json["error"]["code"] == "usage"
    assert scene.stranger.seen == []


@pytest.mark.parametrize("command", [RUN, ("runs",), ("batch", "run", "book.md")])
def test_found_databases_are_refused(scene: Found, command: tuple[str, ...]) -> None:
    """Documents would go there, and the password that the environment has for another one."""
    del scene.command.environment["REDRAFT_DB"]
    scene.says('db = "postgresql://ann:hidden@stranger.example/books"')
    assert "hidden" not in refused(scene, *command)
    scene.says('db = "notes.db"')
    refused(scene, *command)


@pytest.mark.slow
def test_named_and_own_files_set_anything(scene: Found, tmp_path: Path) -> None:
    refused(scene)
    done = scene.run("--config", "redraft.toml", *RUN)
    assert done.code == 0, done.err
    assert scene.keys == {KEY}
    assert "sets" not in done.err
    scene.stranger.seen.clear()

    configuration = tmp_path / "home" / "config" / "redraft" / "redraft.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_bytes((scene.command.folder / "redraft.toml").read_bytes())
    (scene.command.folder / "redraft.toml").write_text("chunk-tokens = 500\n")
    assert scene.run(*RUN, "--set", "sample=2").code == 0
    assert scene.stranger.seen


def test_a_missing_named_file_is_refused(scene: Found) -> None:
    done = scene.run("--config", "nowhere.toml", "runs")
    assert (done.code, "nowhere.toml: there is no such file" in done.err) == (2, True)


@pytest.mark.slow
def test_the_user_outranks_found_files(scene: Found, tmp_path: Path) -> None:
    configuration = tmp_path / "home" / "config" / "redraft" / "redraft.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(
        'words = 70\nmax-calls = 5\n[models.near]\nmodel = "openai:m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    (scene.command.folder / "redraft.toml").write_text('words = 30\nmax-calls = 9000\nsample = 3\nwriter = "near"\n')
    done = scene.run("summarize", "book.md", "-m", "extractive", "--json")
    settings = scene.run("show", done.json["run"], "--json").json["settings"]
    assert (settings["words"], settings["sample"]) == (70, 3)
    assert f"redraft.toml in {scene.command.folder.resolve()} sets sample=3\n" in done.err
    planned = scene.run("summarize", "book.md", "--dry-run", "--json")
    assert planned.code == 0, "a model may be named that the user has described"
    assert planned.json["model"] == "openai:m"


@pytest.mark.slow
def test_found_settings_are_shown_and_recorded(scene: Found) -> None:
    """A score that it has steered can be told from the record, even where nobody has read stderr."""
    (scene.command.folder / "redraft.toml").write_text('questions = 1\ntop-k = 1\ngoal = "coverage=0.5"\n')
    line = f"redraft.toml in {scene.command.folder.resolve()} sets questions=1, top-k=1"
    evaluate = ("evaluate", "book.md", "summary.md", "--metric", "coverage", "-m", "extractive")
    assert line in scene.run(*evaluate).err
    done = scene.run(*evaluate, "--json", "--quiet", "--set", "sample=2")
    assert done.err == ""
    run = done.json["run"]
    record = scene.run("show", run, "--json").json["settings"]["found"]
    assert record == {
        "file": str(scene.command.folder.resolve() / "redraft.toml"),
        "values": {"questions": "1", "top-k": "1"},
    }
    assert line in scene.run("show", run).err
    # The line may be wrapped inside its path.
    assert "".join(line.split()) in "".join(scene.run("trace", run).out.split())
    (scene.command.folder / "redraft.toml").unlink()
    unsteered = scene.run(*evaluate, "--json", "--set", "sample=3").json["run"]
    assert scene.run("show", unsteered, "--json").json["settings"]["found"] is None


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
def test_only_harmless_settings_are_accepted(nowhere: Path, key: str) -> None:
    """In the file itself, and in the table of the command, for every command that has the setting."""
    del nowhere
    for path, name, option in SETTINGS:
        if name != key:
            continue
        line = f"{key} = {toml(typical(key, option))}\n"
        for content in (line, *([f"[{path[0]}]\n{line}"] if path[0] != "models" else [])):
            assert is_refused(path, content) == (key not in MAY), (path, content)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{}", " {}", "--{}"])
def test_other_spellings_set_nothing_harmful(nowhere: Path, form: str) -> None:
    del nowhere
    harmful = {key: (path, option) for path, key, option in SETTINGS if key not in MAY}
    for key, (path, option) in harmful.items():
        for spelled in (form.format(key.upper()), form.format(key.replace("-", "_"))):
            for value in (typical(key, option), "http://stranger.example", {"a": 1}):
                content = f"{json.dumps(spelled)} = {toml(value)}\n"
                assert wrongly_set(taken(path, content)) == {}, (path, content)


@pytest.mark.slow
@pytest.mark.parametrize("value", HARMFUL)
def test_no_found_text_is_a_place(nowhere: Path, value: str) -> None:
    del nowhere
    texts = [entry for entry in SETTINGS if type(entry[2].type) is click.types.StringParamType and entry[1] not in MAY]
    assert len(texts) > 20
    for path, key, _ in texts:
        outcome = taken(path, f'{key} = "{value}"\n')
        assert outcome.is_harm or (value == "" and outcome.refused.endswith("the name is empty.")), (path, key)


@pytest.mark.parametrize("content", ["a = " + "[" * 3_000, "a." * 3_000 + "b = 1"])
def test_endlessly_nested_files_are_refused(nowhere: Path, content: str) -> None:
    del nowhere
    assert taken(("summarize",), content).refused


def test_found_files_name_known_models_only(nowhere: Path) -> None:
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


def test_found_files_define_no_model(nowhere: Path) -> None:
    del nowhere
    for path in COMMANDS.keys() & {("summarize",), ("runs",), ("mcp",)}:
        assert is_refused(path, '[models.m]\nmodel = "openai:m"\n')


def test_plugins_are_refused_in_found_files(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del nowhere
    monkeypatch.setattr("redraft.plugins.names", lambda kind: ("theirs",))
    assert is_refused(("summarize",), 'strategy = "theirs"\n')
    assert is_refused(("evaluate",), 'metric = ["coverage", "theirs"]\n')
    assert is_refused(("refine",), 'goal = "theirs=0.5"\n')
