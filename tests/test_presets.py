"""Presets: what the papers set, and what goes before it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.cli.commands.summarize import evaluate, summarize
from redraft.presets import presets
from redraft.prompts.coherence import FIND_CONFUSION
from redraft.prompts.factual import FACT_PROMPTS
from redraft.prompts.qa import JUDGING
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand
from tests.support import SAMPLE, story

PAGE = SAMPLE.parent.parent / "docs" / "presets.md"


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.md").write_text(story(60).text, "utf-8")
    (tmp_path / "summary.md").write_text("Sentence number 1 tells of the keeper at station 1.", "utf-8")
    return LocalCommand(tmp_path, COLUMNS="100")


def on_page(value: Any) -> str:
    """A value as the page writes it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case dict():
            return ", ".join(f"{metric} {goal:.2f}" for metric, goal in value.items())
        case tuple():
            return (" to " if isinstance(value[0], int) else ", ").join(map(str, value))
    return str(value)


@pytest.mark.parametrize("name", presets())
def test_page_has_each_setting_and_its_place_in_the_paper(name: str) -> None:
    sections = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    (section,) = (section for section in sections if section.startswith(f"{name}\n"))
    rows = {row[0]: row[1:] for row in re.findall(r"^\| `(\w+)` \| (.*?) \| (.+?) \|$", section, re.MULTILINE)}
    settings = {**redraft.preset(name).set_fields, **redraft.preset(name).experiment}
    assert rows.keys() == settings.keys()
    for field, (shown, place) in rows.items():
        assert shown.startswith(on_page(settings[field])), field
        assert re.search(r"equation|section|table|algorithm|appendix|\d\.\d|[IVX]-[A-Z]", place), field


def test_unused_presets_are_noted(command: LocalCommand) -> None:
    refused = command.run("evaluate", "book.md", "summary.md", "--preset", "hamlett", code=2)
    assert "there is no preset 'hamlett'" in refused.err
    assert "longsumeval, booookscore, hamlet, thesis" in refused.err
    done = command.run("evaluate", "book.md", "summary.md", "--preset", "hamlet", "--dry-run", code=0)
    assert "window 128,000 tokens" in done.err + done.out
    assert "keyfact_recall" in done.err + done.out
    command.environment["REDRAFT_PRESET"] = "longsumeval"
    note = USES_NOTHING.format("longsumeval")
    assert note in command.run("summarize", "book.md", "--dry-run").err
    assert note not in command.run("summarize", "book.md", "--dry-run", "-q").err
    assert note not in command.run("summarize", "book.md", "--dry-run", "--refine").err


@pytest.mark.slow
def test_flag_precedes_environment_file_preset_default(command: LocalCommand) -> None:
    def words(*arguments: str) -> int:
        done = command.run("summarize", "book.md", "--json", *arguments, code=0)
        return int(done.json["settings"]["words"])

    order = words()
    assert order != 585
    assert words("--preset", "booookscore") == 585
    (command.folder / "redraft.toml").write_text('words = 300\npreset = "booookscore"\n', "utf-8")
    assert words() == 300
    command.environment["REDRAFT_WORDS"] = "200"
    assert words() == 200
    assert words("-w", "100") == 100


@pytest.mark.slow
def test_drafts_are_judged_as_the_preset_says(command: LocalCommand) -> None:
    done = command.run("refine", "book.md", "summary.md", "--preset", "longsumeval", "--rounds", "1", "--json")
    assert done.json["goals"].keys() == {"coverage", "consistency"}
    assert [goal["at_least"] for goal in done.json["goals"].values()] == [0.6, 0.73]
    with redraft.Store(command.database) as store:
        run = store.runs.get(done.json["run"])
    assert run.refinement is not None
    assert run.judging is not None
    assert (run.refinement.policy, run.refinement.rounds) == ("paper", 1)
    assert (run.judging.questions, run.judging.claims) == ((6, 12), (4, 10))
    assert (run.judging.stretch_tokens, run.judging.second_look) == (1_000_000, False)


async def test_a_workshop_begins_from_a_preset(tmp_path: Path) -> None:
    paper = redraft.preset("booookscore")
    async with redraft.Session(tmp_path / "redraft.db", settings=paper.settings, judging=paper.judging) as session:
        result = await session.evaluate(story(30), "The keeper tells of the lamp.", words=40)
    assert set(result.scores) == {"booookscore"}
    assert (result.settings.chunk_tokens, result.settings.words) == (2048, 40)


def test_preset_field_is_an_option() -> None:
    """Else the command would pass it over without a word."""
    options = {str(option.name) for option in [*summarize.options, *evaluate.options]}
    assert {field for name in presets() for field in redraft.preset(name).set_fields} <= options


def asked_by(command: LocalCommand, *arguments: str) -> list[tuple[str, dict[str, Any]]]:
    """Of every request that reaches the models, which one that is, and how its reply is drawn."""
    with ChatServer(lambda _: "The keeper kept the light.") as server:
        command.environment |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-0123456789"}
        command.run(*arguments, "-m", "openai:w", "-q")
        return [(request.body["model"], request.body) for request in server.seen]


def test_presets_set_temperatures(command: LocalCommand) -> None:
    bodies = [body for _, body in asked_by(command, "summarize", "book.md", "--preset", "booookscore")]
    assert {body["top_p"] for body in bodies} == {1.0}
    assert {body["temperature"] for body in bodies} == {0.5}
    requests = asked_by(command, "summarize", "book.md", "--preset", "booookscore", "--set", "top_p=0.9", "-w", "50")
    assert {body["top_p"] for _, body in requests} == {0.9}
    requests = asked_by(command, "evaluate", "book.md", "summary.md", "--preset", "hamlet", "--judge", "openai:j")
    written = asked_by(command, "summarize", "book.md", "--preset", "hamlet")
    assert {model for model, _ in requests} == {"j"}
    assert {model for model, _ in written} == {"w"}
    assert {body["temperature"] for _, body in requests + written} == {0.0}
    judging = {*JUDGING, *FACT_PROMPTS, FIND_CONFUSION}
    assert {prompt.temperature for prompt in judging} == {0.0}


USES_NOTHING = "the preset {} sets nothing that this command uses"


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("longsumeval", "summarize book.md"),
        ("longsumeval", "batch run book.md"),
        ("booookscore", "pack build book.md"),
    ],
)
def test_preset_unused_by_a_command_is_refused(command: LocalCommand, name: str, run: str) -> None:
    refused = command.run(*run.split(), "--preset", name, code=2)
    assert USES_NOTHING.format(name) in refused.err
    assert ("add --refine" in refused.err) is run.startswith(("summarize", "batch"))


@pytest.mark.parametrize(
    ("name", "goals"), [("booookscore", "-g booookscore=VALUE"), ("hamlet", "-g faithfulness=VALUE")]
)
def test_preset_that_judges_otherwise_needs_goals(command: LocalCommand, name: str, goals: str) -> None:
    for run in (("refine", "book.md", "summary.md"), ("summarize", "book.md", "--refine")):
        refused = command.run(*run, "--preset", name, "--dry-run", code=2, err="has no goals for them")
        assert goals in " ".join(refused.err.split())
    command.run("refine", "book.md", "summary.md", "--preset", name, "-g", "coverage=0.5", "--dry-run", code=0)
