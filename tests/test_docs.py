"""The documentation holds: its links lead somewhere, its commands are parsed, its Python runs, its lists are whole."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from redraft.cli.main import app
from redraft.cli.sections import SectionOption
from tests.command import Command
from tests.support import SAMPLE

ROOT = SAMPLE.parent.parent
README = ROOT / "README.md"
_BESIDE = ("CHANGELOG.md", "AGENTS.md", "llms.txt", "examples/README.md", "skills/redraft/SKILL.md")
PAGES = [README, *(ROOT / name for name in _BESIDE), *sorted((ROOT / "docs").glob("*.md"))]
LONGEST_README = 90

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`([^`\n]+)`")
# Options of pytest are the plugin's.
_OPTION = re.compile(r"(?<![\w-])--(?!redraft-)(?:set [a-z_]+|[a-z][a-z-]+)")
# What stands before a command on its line, and what of the shell ends it.
_BEFORE = re.compile(r"^(?:\$ |.*&& |uv run )?(redraft .*)$")
_ENDS = {"|", ">", "&&", "#", ";"}

# The pages are about the whole package.
pytestmark = pytest.mark.skipif(not {"experiment", "studio"} <= {*app.commands}, reason="a guest is not here")
page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)


def blocks(text: str) -> Iterator[str]:
    """The blocks of code, indented or fenced, that are not Python."""
    yield from (code for language, code in _FENCED.findall(text) if language != "python")
    block: list[str] = []
    for line in [*_FENCED.sub("", text).splitlines(), "end"]:
        if line.startswith("    ") or (block and not line):
            block.append(line.removeprefix("    "))
        elif block:
            yield "\n".join(block)
            block = []


def _shown(text: str) -> list[list[str]]:
    """The words of every redraft command in the blocks of a page."""
    commands = []
    for block in blocks(text):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            if match := _BEFORE.match(line):
                words = shlex.split(match[1], comments=False)
                commands.append(words[1 : next((at for at, word in enumerate(words) if word in _ENDS), None)])
    return commands


def _named(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the first of the words name, and the rest of them."""
    command: click.Command = app
    while isinstance(command, click.Group) and words and words[0] != "COMMAND" and not words[0].startswith("-"):
        if words[0] not in command.commands and (usual := getattr(command, "usual", None)):
            return command.commands[usual], words
        assert words[0] in command.commands, f"there is no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


def _options(command: click.Command) -> set[str]:
    """The options of a command, for a group those of all its commands."""
    names = {name for option in command.params for name in [*option.opts, *option.secondary_opts]} | {"--help"}
    names |= {option.typed_name for option in command.params if isinstance(option, SectionOption)}
    return (
        names.union(*(_options(subcommand) for subcommand in command.commands.values()))
        if isinstance(command, click.Group)
        else names
    )


def _anchors(path: Path) -> set[str]:
    """What the headings of a page are called in links."""
    heads = re.findall(r"^#+ (.+)$", _FENCED.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_pages_pictures_and_commands_are_listed() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= LONGEST_README
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    listed = set(_LINK.findall(index))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"} <= listed
    pictures = {(path.parent / link).resolve() for path in PAGES for link in _LINK.findall(path.read_text("utf-8"))}
    assert {path for path in (ROOT / "docs" / "pictures").iterdir() if path.resolve() not in pictures} == set()
    text, ci = README.read_text("utf-8"), (ROOT / ".ci" / "run").read_text("utf-8")
    for command in (
        "pip install -e . && redraft summarize examples/the-salt-ledger.md --strategy hierarchical",
        'pip install -e ".[dev]" && pytest',
    ):
        assert f"\n    {command}\n" in text
        assert command in ci
    assert _PROGRAMS
    commands = [words for path in PAGES for words in _shown(path.read_text("utf-8"))]
    assert {"summarize", "evaluate", "refine", "trace", "forget", "experiment"} <= {words[0] for words in commands}
    assert len(commands) > 25


@page
def test_links_lead_to_files_and_headings(path: Path) -> None:
    for link in _LINK.findall(path.read_text("utf-8")):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


@page
def test_the_commands_in_blocks_are_parsed(path: Path) -> None:
    for words in _shown(path.read_text("utf-8")):
        command, rest = _named(words)
        try:
            command.make_context(command.name, rest)
        except click.ClickException as error:
            pytest.fail(f"redraft {' '.join(words)}: {error.format_message()}")


@page
def test_commands_and_options_in_sentences_exist(path: Path) -> None:
    everywhere = _options(app)
    for code in _INLINE.findall(_FENCED.sub("", path.read_text("utf-8"))):
        words = code.replace("\\|", "|").split()
        options = _options(_named(words[1:])[0]) if words[0] == "redraft" else everywhere
        # Other programs' own commands.
        if words[0] not in {"pip", "python", "pytest", "ruff", "uv", "mypy"}:
            assert set(_OPTION.findall(code)) <= options, code


def test_files_and_names_of_the_architecture_exist() -> None:
    text, package = (ROOT / "docs" / "architecture.md").read_text("utf-8"), ROOT / "redraft"
    for file in re.findall(r"`([\w/]+(?:\.(?:py|sql)|/))`", text):
        if "NAME" not in file and "FORMAT" not in file:
            assert any((at / file).exists() for at in (ROOT, package, package / "prompts" / "templates")), file
    references = re.findall(r"`(?:\w+\.)?(\w+)`s?\s+\(`([\w/]+\.py)`", text)
    for name, file in references:
        assert re.search(rf"\b(def|class) {name}\b", (package / file).read_text("utf-8")), f"{name} in {file}"
    assert len(references) > 15


def test_list_of_options_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    script = runpy.run_path(str(ROOT / "docs" / "write_options.py"))
    assert script["FILE"].read_text("utf-8") == script["page"](), "write it again: python docs/write_options.py"
    assert script["STUB"].read_text("utf-8") == script["stub"](), "write it again: python docs/write_options.py"


_PROGRAMS = [code for language, code in _FENCED.findall(README.read_text("utf-8")) if language == "python"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(_PROGRAMS)))
def test_the_python_of_the_readme_runs(number: int, tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text(SAMPLE.read_text("utf-8"), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAMS[number]],
        env=Command(tmp_path).environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Hester" in done.stdout
