"""Errors speak Python to programs and the shell to the command line, and all of them can be imported."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import redraft
from redraft import BudgetError, Limits, Options, RedraftError, Session
from redraft.errors import for_command_line, for_python
from redraft.settings import DraftConfig, JudgeConfig, ModelSettings, RefineConfig
from tests.cli.inside import Inside
from tests.support import story

PACKAGE = Path(redraft.__file__).parent
SHELL = ("cli", "studio", "lab", "batches")


@pytest.mark.parametrize(
    ("written", "python"),
    [
        ("--max-calls 3 is used up", "limits=Limits(max_calls=3) is used up"),
        ("resume with a higher --max-cost", "resume with a higher `Limits.max_cost`"),
        ("use --chunk-tokens 1,024 or more", "use chunk_tokens=1024 or more"),
        ("use --context-tokens N, or --words 30.", "use context_tokens=..., or words=30."),
        ("leave out --by-chapter", "leave out by_chapter=True"),
        ("add --set second_look=false", "add second_look=False"),
        ("(--judge openai:MODEL, --prompts simple)", "(judges=['openai:MODEL'], prompts='simple')"),
        ("name another database with --db", "name another database with `store`"),
        ("redraft resume 3fa2c1d0", "`await session.resume('3fa2c1d0')`"),
        ("then `redraft resume` the run", "then `await session.resume(run)`"),
        ("`redraft runs` lists them", "`session.store.runs.latest(20)` lists them"),
        ("`redraft pack list` lists them", "`session.store.packs.all()` lists them"),
        ("--db postgresql://HOST/DB is needed", "Session('postgresql://HOST/DB') is needed"),
        ("for --metric coverage, or try another --judge", "for metrics=['coverage'], or try another `judges`"),
        ("`redraft batch list --json` has it", "`redraft batch list --json` has it"),
        ("check the path, or use - for stdin", "check the path"),
        ("record it: pytest --redraft-record", "record it: pytest --redraft-record"),
        ("an en--dash and redraft itself stay", "an en--dash and redraft itself stay"),
    ],
)
def test_settings_and_commands_are_worded_as_python_has_them(written: str, python: str) -> None:
    error = RedraftError(written, hint=written)
    assert (for_python(written), error.message, str(error), error.hint) == (python,) * 4
    assert error.__notes__ == [python]
    with for_command_line():
        assert (error.message, str(error), error.hint) == (written,) * 3
    assert error.hint == python


def library() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in SHELL:
            yield place.as_posix(), ast.parse(path.read_text("utf-8"))


def test_a_percentage_is_written_without_a_space() -> None:
    spaced = re.compile(r"[0-9}][ \xa0\u202f]%(?=[\s.,;:)\"'`”<]|$)(?! \d)", re.MULTILINE)
    paths = [path for end in ("py", "html", "js") for path in PACKAGE.rglob(f"*.{end}")]
    paths += (PACKAGE.parent / "docs").glob("*.md")
    found = {path.name: said[0] for path in paths if (said := spaced.search(path.read_text("utf-8")))}
    assert len(paths) > 400
    assert found == {}


def texts_of_errors(tree: ast.Module) -> Iterator[str]:
    """Every text in what is raised."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            yield from (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and type(one.value) is str)


@pytest.mark.slow
def test_every_setting_in_an_error_is_one_that_python_has() -> None:
    known = {*Limits.model_fields, *Options.__annotations__, *inspect.signature(Session).parameters}
    known |= {name for kind in (DraftConfig, JudgeConfig, RefineConfig, ModelSettings) for name in kind.model_fields}
    known |= {"max_bytes", "partial", "wanted"}
    known |= {name for of in (redraft.batch, redraft.Recording) for name in inspect.signature(of).parameters}
    # These are only on the command line.
    known |= {"chapters", "pages", "skip", "link", "send_spans"}
    found = [
        (place, text)
        for place, tree in library()
        for text in texts_of_errors(tree)
        if "--" in text and "pip" not in text
    ]
    assert len(found) > 20
    for place, text in found:
        python = for_python(text)
        # Options of pytest stay as they are, as those of pip do.
        assert not re.search(r"(?<![\w-])--(?!redraft-)[a-z]", python), (place, python)
        names = re.findall(r"\b([a-z_]+)=(?!=)|`(?:\w+\.)?([a-z_]+)`", python)
        assert {one or other for one, other in names} <= known, (place, python)


def bases_of(node: ast.ClassDef) -> set[str]:
    return {base.id for base in node.bases if isinstance(base, ast.Name)}


@pytest.mark.slow
def test_every_error_that_is_raised_can_be_imported() -> None:
    classes = [node for _, tree in library() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    errors = {"RedraftError"}
    while more := {node.name for node in classes if bases_of(node) & errors} - errors:
        errors |= more
    assert {"TimedOut", "DamagedRun"} < errors
    assert errors <= {*redraft.__all__}


async def test_a_used_up_budget_says_it_in_python(tmp_path: Path) -> None:
    async with Session(tmp_path / "x.db", limits=Limits(max_calls=1)) as session:
        with pytest.raises(BudgetError) as caught:
            await session.evaluate(story(30), "The keeper tells of the lamp.", metrics=["consistency", "coverage"])
    assert str(caught.value) == "limits=Limits(max_calls=1) is used up"
    assert caught.value.hint == "resume the run with a higher `Limits.max_calls`"


@pytest.mark.slow
def test_and_on_the_command_line_in_options(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(story(30).text, "utf-8")
    asked = ("evaluate", "book.md", "book.md", "--metric", "coverage", "--max-calls", "1", "--json")
    error = Inside(tmp_path).run(*asked).json["error"]
    assert error["message"] == "--max-calls 1 is used up"
    assert "--max-calls 5" in error["hint"]
