"""A stranger's settings: what a file that merely lies there may set, of every setting of every command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import click
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from redraft.cli.config import read_config
from redraft.cli.main import app
from redraft.cli.trust import check_trusted, places_in
from redraft.errors import UsageError
from tests.cli.inside import Inside

# Written down a second time on purpose: an option that is added later must not get in by itself.
MAY = {
    *("words", "language", "skip", "chunk-tokens", "until", "preset", "quiet", "strategy", "metric", "goal"),
    *("context-tokens", "temperature", "top-p", "sample", "seed", "replies", "reasoning-tokens", "repeat"),
    *("questions", "stretch-tokens", "claims", "batch", "top-k", "similarity", "threshold", "second-look"),
    *("perspective", "refine", "rounds", "policy", "tolerance", "judged-share", "review", "concurrency"),
    *("requests-per-minute", "tokens-per-minute", "max-cost", "max-calls", "timeout"),
}
"""What may be set unasked, whatever the value."""
MODELS = {"model", "writer", "judge", "validator", "decider"}
VALUES = {
    "goal": "coverage=0.5",
    "skip": "notes",
    "preset": "hamlet",
    "questions": "9",
    "metric": "coverage",
    "max-source": "1MB",
}
HARMFUL = ["./model", "../x", "/tmp/model", "nli:./model", "http://stranger.example", "file:///etc/passwd", "mine"]


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands, those of groups too."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from leaves(found, (*path, name))
    else:
        yield path, command


COMMANDS = dict(leaves(app))
SETTINGS = [
    (path, word[2:], one)
    for path, command in COMMANDS.items()
    for one in command.params
    if isinstance(one, click.Option) and one.envvar
    for word in one.opts
    if word.startswith("--")
]


def typical(key: str, option: click.Option) -> object:
    """A value that the setting takes."""
    if option.is_flag:
        return True
    if key in VALUES:
        return VALUES[key]
    if isinstance(option.type, click.Choice):
        return str(option.type.choices[0])
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
        least = getattr(option.type, "min", None) or 0
        return 0.5 if isinstance(option.type, click.types.FloatParamType) and least < 1 else max(1, least)
    return "mine"


def is_refused(path: tuple[str, ...], content: str) -> bool:
    """Whether a command refuses to do as a file says that lies in the directory."""
    Path("redraft.toml").write_text(content, "utf-8")
    config: object = read_config(app.commands)
    for name in path:
        assert isinstance(config, dict)
        config = config.get(name, {})
    assert isinstance(config, dict)
    command = COMMANDS[path]
    words = ["x" for one in command.params if isinstance(one, click.Argument) and one.required]
    for one in command.params:
        if isinstance(one, click.Option) and one.required and not one.envvar:
            words += [one.opts[0], str(typical(one.opts[0][2:], one))]
    context = click.Context(command, info_name=path[-1], default_map=config)
    with context:
        command.parse_args(context, words)
        try:
            check_trusted(context)
        except UsageError as error:
            return "you have not said that it may" in error.message
    return False


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


def toml(value: object) -> str:
    return (
        str(value).lower() if isinstance(value, bool) else repr(value) if not isinstance(value, str) else f'"{value}"'
    )


@pytest.mark.parametrize("key", sorted({key for _, key, _ in SETTINGS}))
def test_a_setting_is_refused_unless_it_is_known_to_be_harmless(nowhere: Path, key: str) -> None:
    """In the file itself, and in the table of the command, for every command that has the setting."""
    del nowhere
    for path, name, option in SETTINGS:
        if name != key:
            continue
        said = f"{key} = {toml(typical(key, option))}\n"
        required = [
            one for one in COMMANDS[path].params if isinstance(one, click.Option) and one.required and one.envvar
        ]
        more = "".join(f'{one.opts[0][2:]} = "extractive"\n' for one in required if one is not option)
        for content in (more + said, *([f"{more}[{path[0]}]\n{said}"] if path[0] != "models" else [])):
            assert is_refused(path, content) == (key not in MAY), (path, content)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([one for one in SETTINGS if type(one[2].type) is click.types.StringParamType]),
    st.sampled_from(HARMFUL),
)
@example((("evaluate",), "embeddings", next(one for _, key, one in SETTINGS if key == "embeddings")), "./model")
def test_no_text_of_a_found_file_is_a_place(
    nowhere: Path, setting: tuple[tuple[str, ...], str, click.Option], value: str
) -> None:
    del nowhere
    path, key, option = setting
    required = [one for one in COMMANDS[path].params if isinstance(one, click.Option) and one.required and one.envvar]
    more = "".join(f'{one.opts[0][2:]} = "extractive"\n' for one in required if one is not option)
    if key in MAY:
        return
    assert is_refused(path, f'{more}{key} = "{value}"\n')


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
    assert "you have not said that it may" in done.err


def test_all_that_needs_the_word_is_shown_before_it_is_given() -> None:
    content = {"words": 50, "prompts": "./p", "models": {"m": {"model": "openai:m", "price": {"prompt": 0}}}}
    assert list(places_in(content)) == ["prompts", "[models.m] price"]
