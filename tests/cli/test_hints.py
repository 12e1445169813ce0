"""The help, and what we tell people to type next, which can be typed as it stands; every --json prints one object."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import redraft
from redraft.cli.hints import if_installed
from redraft.cli.main import app
from redraft.cli.overview import GROUPS, help_texts
from redraft.cli.sections import Command
from redraft.fields import option_of
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig
from tests.chatserver import ChatServer, Fault
from tests.cli.local_command import LocalCommand, judging_folder
from tests.support import story

HINT = re.compile(r"redraft ((?:resume|trace|show|diff|fork) \w{8}.*)$", re.MULTILINE)


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.md").write_text(story(120).text, "utf-8")
    made = LocalCommand(tmp_path)
    del made.environment["REDRAFT_DB"]
    return made


def hinted(text: str) -> list[str]:
    """The command of the only hint in a text."""
    (found,) = HINT.findall(text)
    return shlex.split(found)


@pytest.mark.slow
def test_hint_to_resume_names_the_database(command: LocalCommand) -> None:
    own = ("--db", "my runs.db", "-o", "the summary.md")
    stopped = command.run("summarize", "book.md", "-w", "60", "--chunk-tokens", "100", "--max-calls", "1", *own, code=3)
    arguments = hinted(stopped.err)
    assert arguments[0] == "resume"
    assert arguments[2:3] + arguments[4:] == ["--max-calls", "--db", "my runs.db", "--output", "the summary.md"]
    arguments[3] = "100"
    # What there is by now is in the file already.
    (command.folder / "the summary.md").unlink(missing_ok=True)
    done = command.run(*arguments, code=0)
    assert done.out == ""
    assert "Sentence number" in (command.folder / "the summary.md").read_text("utf-8")


@pytest.mark.slow
def test_changed_prompts_name_the_command_to_use(tmp_path: Path) -> None:
    arguments = ("refine", "book.md", "poor.md", "-g", "coverage=1", "-g", "consistency=1", "-w", "100", "--json")
    with judging_folder(tmp_path) as command:
        whole = command.run(*arguments)
        command.environment["REDRAFT_DB"] = str(tmp_path / "other.db")
        stopped = command.run(*arguments, "--max-calls", str(whole.json["usage"]["calls"] - 1), code=3)
        run = stopped.json["run"]
        with sqlite3.connect(tmp_path / "other.db") as database:
            database.execute("UPDATE runs SET body = json_set(body, '$.prompt_hashes.edit', 'of before')")
        refused = command.run("resume", run, code=1)
        text = " ".join(refused.err.split())
        assert f"the prompts of run {run} have changed since it began: edit" in text
        hint = f"with the code that began it (redraft {version('redraft')}); to go on with today's prompts, use"
        rounds = [round_["round"] for round_ in command.run("trace", run, "--json").json["rounds"]]
        accepted = [round_["number"] for round_ in rounds if round_["accepted"]]
        assert f"{hint} redraft fork {run} --round {accepted[-1]}" in text
        assert command.run("fork", run, "--round", str(accepted[-1]), "-q").code == 0


def test_environment_need_not_be_repeated(command: LocalCommand) -> None:
    command.environment["REDRAFT_DB"] = str(command.database)
    stopped = command.run("summarize", "book.md", "-w", "60", "--chunk-tokens", "100", "--max-calls", "1")

    _, run, *limit = hinted(stopped.err)
    assert limit[0] == "--max-calls"
    assert int(limit[1]) == 2
    for arguments in (("show", run), ("show", run[:4], "--db", str(command.database))):
        done = command.run(*arguments)
        assert hinted(done.err)[2:] == [*limit, *arguments[2:]]
    assert "/" not in command.run("trace", run).err
    hints_of = HINT.findall(command.run("trace", run, "--db", str(command.database)).err)
    assert [shlex.split(hint)[0] for hint in hints_of] == ["resume", "trace"]
    assert all(shlex.split(one)[-2:] == ["--db", str(command.database)] for one in hints_of)


@pytest.mark.nightly
def test_every_json_is_one_object(tmp_path: Path) -> None:
    with judging_folder(tmp_path) as command:
        run = command.run("refine", "book.md", "poor.md", "-g", "coverage=1", "-w", "100", "--json").json["run"]
        command.run("pack", "export", "book.md", "-o", "book.pack.json")
        for words in (
            "runs", "runs --kind nothing", "show RUN", "show RUN --pieces", "trace RUN", "diff RUN", "diff RUN 1",
            "resume RUN", "fork RUN --round 9", "pack list", "pack import book.md book.pack.json", "pack import",
            "pack build book.md", "pack build book.md --dry-run", "prompts list", "prompts nonsense", "nonsense",
            "keyfacts book.md --dry-run", "evaluate book.md poor.md", "evaluate book.md nowhere.md",
            "compare book.md poor.md poor.md", "summarize book.md -w 40 -o out.md", "summarize book.md --dry-run",
        ):  # fmt: skip
            done = command.run(*words.replace("RUN", run).split(), "--json")
            printed = json.loads(done.out)
            assert isinstance(printed, dict), words
            assert ("error" in printed and set(printed) == {"error"}) == (done.code in {1, 2}), (words, done)


def test_resume_hint_names_a_server_again(command: LocalCommand) -> None:
    command.environment |= {"REDRAFT_DB": str(command.database), "OPENAI_API_KEY": "sk-usual-0123"}
    with ChatServer(lambda _: Fault("status", status=500, message="no")) as server:
        address = ("--base-url", server.base_url)
        failed = command.run("summarize", "book.md", "-m", "openai:m", "-w", "60", "--set", "tries=1", *address, code=1)
    resume = hinted(failed.err)
    assert resume[2:] == [*address]
    shown = command.run("show", resume[1], err="Resume: redraft resume ")
    assert shown.err.count("HTTP 500: no") == 1
    assert hinted(shown.err) == resume[:2], "it says itself what has to be named again"


def test_dry_run_notes_an_exceeded_limit(command: LocalCommand) -> None:
    (command.folder / "prices.toml").write_text('[prices]\n"m" = { prompt = 10.0, completion = 20.0 }\n', "utf-8")
    arguments = ("summarize", "book.md", "-m", "openai:m", "--set", "prices=prices.toml", "--dry-run", "--max-cost")
    assert "the cost is more than --max-cost 0.001; the run may stop there" in command.run(*arguments, "0.001").err
    done = command.run(*arguments, "100")
    assert "more than --max-cost" not in done.err
    for word in ("chunks", "drafting", "calls", "tokens", "cost", "$"):
        assert word in done.out
    assert not command.database.exists()


@pytest.fixture
def narrow(tmp_path: Path) -> LocalCommand:
    return LocalCommand(tmp_path, COLUMNS="80")


def _all(group: click.Group, *path: str) -> list[tuple[tuple[str, ...], Command]]:
    found = []
    for name, one in group.commands.items():
        if isinstance(one, click.Group):
            found += _all(one, *path, name)
        else:
            assert isinstance(one, Command), name
            found.append(((*path, name), one))
    return found


COMMANDS = _all(app)
LARGE = [
    (path, large, first)
    for path, large in COMMANDS
    if (first := large.first or help_texts().get(" ".join(path), {}).get("first", "").split())
]


@pytest.mark.parametrize(("path", "large", "first"), LARGE)
def test_short_help_has_ten_options(
    narrow: LocalCommand, path: tuple[str, ...], large: Command, first: list[str]
) -> None:
    known = {option.long.removeprefix("--") for option in large.options}
    assert len(first) == len(set(first)) == 10
    assert known > set(first)
    assert f"`redraft help {' '.join(path)}` lists all {len(known)} options." in narrow.run(*path, "--help").out
    for option in large.options:
        assert option.required <= (option.long.removeprefix("--") in first), "what is required is shown"


@pytest.mark.parametrize(("path", "one"), COMMANDS)
def test_help_lists_every_option_in_80_columns(narrow: LocalCommand, path: tuple[str, ...], one: Command) -> None:
    done = narrow.run("help", *path, code=0)
    assert one.help
    for option in one.options:
        assert option.typed_name in done.out
        assert option.help, option.typed_name
    for shown in (done.out, narrow.run(*path, "--help").out):
        assert max(map(len, shown.splitlines())) <= 80
    context = click.Context(one)
    assert sum(not option.rare for option in one.options) <= 40 + 2
    for option in one.options:
        assert (option.get_help_record(context) or ("", ""))[1].count("[default") <= 1, f"{option.long} says it twice"


def test_help_alone_is_the_whole_overview(narrow: LocalCommand) -> None:
    overview = narrow.run("help", code=0)
    assert overview.out == narrow.run("--help").out
    titles = [line for line in overview.out.splitlines() if line.removesuffix(":") in GROUPS]
    guests = {"Research": "lab", "Serve": "studio"}
    expected = [f"{group}:" for group in GROUPS if find_spec(f"redraft.{guests.get(group, 'cli')}")]
    assert titles == expected, "every command stands in its group"
    assert "...\n" not in narrow.run("help", "pack").out.partition("Commands:")[2]
    assert max(map(len, overview.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sumarize", "book.md"), "Did you mean 'summarize'?"),
        (("ls",), "Did you mean 'runs'?"),
        (("plan", "book.md"), "Did you mean 'summarize --dry-run'?"),
        (("help", "sumarize"), "Did you mean 'summarize'?"),
        (("help", "runs", "x"), "redraft runs has no command 'x'"),
    ],
)
def test_an_unknown_command_names_the_nearest(narrow: LocalCommand, arguments: tuple[str, ...], message: str) -> None:
    done = narrow.run(*arguments, code=2)
    assert message in done.err
    assert done.out == ""


# What a workshop is made with, and a single run cannot have otherwise.
OF_A_WORKSHOP = {"model", "base_url", "key_env", "source_language", "replies", "judges", "validator"}
OF_A_WORKSHOP |= {"confirm", "decider", "metrics"}


def test_python_options_are_the_shells() -> None:
    models = (DraftConfig, JudgeConfig, RefineConfig)
    known = {name for model in models for name in model.model_fields if option_of(model, name)}
    expected = (known - OF_A_WORKSHOP) | {"max_tokens"}
    assert set(redraft.Options.__annotations__) == expected, "`_of_a_session` in redraft/graphs/state.py has others"
    offered = {parameter.name for _, one in COMMANDS for parameter in one.params}
    assert known - OF_A_WORKSHOP <= offered, "a group of options in redraft/cli/options.py names each setting"


def test_a_guest_that_is_not_here_is_not_named() -> None:
    steps = [f"or: redraft {name} RUN" for name in ("show", "studio")]
    with click.Context(click.Group("redraft", commands={"show": click.Command("show")})):
        assert [if_installed(step) for step in steps] == [steps[0], ""]
