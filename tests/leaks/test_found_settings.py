"""A stranger's settings: what a file that merely lies there may set, of every setting of every command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import click
import pytest

from redraft.cli import trust
from redraft.cli.trust import places_in
from tests.cli.inside import Inside
from tests.torture.settings import HARMFUL, MAY, SETTINGS, Command, lines, required, taken, toml, typical, unasked


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
        assert is_refused(path, f'{lines(required(path, option))}{key} = "{value}"\n'), (path, key)


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
    assert list(places_in(content)) == ["prompts", "[models.m] price"]
