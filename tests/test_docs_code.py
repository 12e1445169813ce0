"""The code of the documentation runs as it stands, with checked types; and its commands print what it shows."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import inspect
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import redraft
from tests.chatserver import ChatServer
from tests.command import Command
from tests.support import SAMPLE
from tests.test_docs import ROOT, blocks
from tests.test_examples import foreign

REPOSITORY = SAMPLE.parent.parent
_BLOCK = re.compile(r"^```(python.*)\n((?:.*\n)*?)```$", re.MULTILINE)
BLOCKS = {
    path.name: list(_BLOCK.finditer(path.read_text("utf-8")))
    for path in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
}
PAGES = [name for name, blocks in BLOCKS.items() if blocks]
_RUN = """\
import redraft
refinement = redraft.RefineConfig(goals={"coverage": 0.1}, rounds=1)
session = redraft.Session("book.db", refinement=refinement)
judged = await session.evaluate("book.txt", "Hester Vane came to Sarn.", metrics=["coverage"])
run, summary = judged.run.id, judged.summary or ""
"""
# What the sentences around the code say there is already.
BEFORE = {
    "embedding.md": "import pytest\ndef summarize(path: str) -> str: raise NotImplementedError\n",
    "lineage.md": f"{_RUN}chapter_one = chapter_two = redraft.load('book.txt').text\n",
    "presets.md": "import redraft\n",
    "refining.md": _RUN,
}
# These two explain modules that are no part of the public names.
_DEEPER = {"lineage.md", "plots.md", "telemetry.md"}
page = pytest.mark.parametrize("name", PAGES)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the book that the pages name, and a server for the models that they name."""
    monkeypatch.chdir(tmp_path)
    text = SAMPLE.read_text("utf-8")
    (tmp_path / "book.md").write_text(text.split("## Chapter 3")[0], "utf-8")
    (tmp_path / "book.txt").write_text(text[:4000], "utf-8")
    with ChatServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        monkeypatch.setenv("STRONG_KEY", "sk-none")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        yield tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", [page for page in PAGES if page != "README.md"])  # run by itself in test_docs.py
async def test_it_runs(name: str, book: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "page"}
    text = (REPOSITORY / "docs" / name).read_text("utf-8")
    blocks = [(0, BEFORE.get(name, "")), *((text.count("\n", 0, block.start(2)), block[2]) for block in BLOCKS[name])]
    opened: list[redraft.Session] = []
    try:
        for line, code in blocks:
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            # As in a notebook, not with the future imports of this module.
            program = compile("\n" * line + code, name, "exec", flags=flags, dont_inherit=True)
            pending = eval(program, namespace)
            if inspect.isawaitable(pending):
                await pending
            opened += [value for value in namespace.values() if isinstance(value, redraft.Session)]
    finally:
        for session in opened:
            await session.aclose()


_EXAMPLE = re.compile(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", re.MULTILINE)
EXAMPLES = {
    path.name: _EXAMPLE.findall(path.read_text("utf-8")) for path in sorted((REPOSITORY / "docs" / "api").glob("*.rst"))
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, examples in EXAMPLES.items() if examples])
async def test_reference_examples_run(name: str, book: Path) -> None:
    for example in EXAMPLES[name]:
        code = textwrap.dedent(example)
        assert foreign(code) == []
        program = compile(code, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        namespace: dict[str, Any] = {"__name__": "page"}
        pending = await asyncio.to_thread(eval, program, namespace) if "await" not in code else eval(program, namespace)
        if inspect.isawaitable(pending):
            await pending
        if isinstance(session := namespace.get("session"), redraft.Session):
            await session.aclose()


def _as_modules(folder: Path) -> list[str]:
    """Each page as a module, its code in an asynchronous function."""
    for name in PAGES:
        code = BEFORE.get(name, "") + "\n".join(block[2] for block in BLOCKS[name])
        text = f"async def page() -> None:\n{textwrap.indent(code, '    ')}"
        (folder / f"page_{Path(name).stem.lower().replace('-', '_')}.py").write_text(text, "utf-8")
    for path in [*(REPOSITORY / "examples").glob("embed/*.py"), *(REPOSITORY / "examples").glob("langgraph/*.py")]:
        shutil.copy(path, folder)
    return sorted(map(str, folder.glob("*.py")))


@pytest.mark.nightly
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_its_types_are_right(checker: str, tmp_path: Path) -> None:
    if not importlib.util.find_spec(checker):
        pytest.skip(f"{checker} is not installed")
    modules = _as_modules(tmp_path)
    options = {"mypy": ["--strict"], "pyright": ["--pythonpath", sys.executable]}[checker]
    done = subprocess.run(
        [sys.executable, "-m", checker, *options, *modules], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@page
def test_it_uses_public_names_alone(name: str) -> None:
    if name not in _DEEPER:
        assert [stray for block in BLOCKS[name] for stray in foreign(block[2])] == []


def test_no_python_is_left_out() -> None:
    assert len(PAGES) == 8
    assert {block[1] for page_blocks in BLOCKS.values() for block in page_blocks} == {"python"}
    indented = re.compile(
        r"^    (import redraft|from redraft|async with redraft|\w+ = (await session|redraft)\.)", re.M
    )
    for name in BLOCKS:
        path = REPOSITORY / name if name == "README.md" else REPOSITORY / "docs" / name
        assert indented.search(_BLOCK.sub("", path.read_text("utf-8"))) is None, name


PAGES_OF_COMMANDS = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("refining", "key-facts", "coherence", "lineage")),
]
PAGES_OF_EXPERIMENTS = sorted((ROOT / "docs").glob("experiments*.md"))
"""These take seconds each; docs/write_samples.py makes them anew."""
LEFT_OUT = "[...]"
_COMMAND = re.compile(r"^\$ redraft (.*)$", re.MULTILINE)
_RUN_ID = re.compile(r"\b[0-9a-f]{8}\b")
_SECONDS = re.compile(r"\d+\\\.\d+(?=\\ s\b)")


def _transcripts(text: str) -> list[tuple[str, str]]:
    """The commands of a page with what is shown of their output, in their order."""
    return [transcript for block in blocks(text) for transcript in _of_block(block)]


def _of_block(block: str) -> list[tuple[str, str]]:
    _, *parts = _COMMAND.split(re.sub(r"\\\n\s*", "", block))
    return list(zip(parts[::2], parts[1::2], strict=True))


@dataclass
class Page:
    """The runs that a page names, by the ids that they have here."""

    ids: dict[str, str] = field(default_factory=dict)

    def here(self, command: str) -> list[str]:
        """The words of a command, with the ids of this time."""
        return shlex.split(_RUN_ID.sub(lambda match: self.ids.get(match[0], match[0]), command))

    def look_for(self, example: str, printed: str) -> str | None:
        """What is shown and was not printed after what stands before it; how lines are broken does not matter."""
        printed, at = " ".join(printed.split()), 0
        for part in example.split(LEFT_OUT):
            words = " ".join(part.split())
            match = re.compile(self._pattern(words)).search(printed, at)
            if match is None:
                return words
            at = match.end()
            self.ids |= {name.removeprefix("run_"): run for name, run in match.groupdict().items()}
        return None

    def _pattern(self, words: str) -> str:
        pattern = _SECONDS.sub(r"\\d+\\.\\d+", re.escape(words))
        groups: set[str] = set()

        def run(match: re.Match[str]) -> str:
            token = match[0]
            if token in self.ids:
                return self.ids[token]
            if token in groups:
                return f"(?P=run_{token})"
            groups.add(token)
            return f"(?P<run_{token}>[0-9a-f]{{8}})"

        return _RUN_ID.sub(run, pattern)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_OF_COMMANDS, ids=lambda path: path.name)
def test_what_is_shown_is_what_is_printed(page: Path, tmp_path: Path) -> None:
    _check(_transcripts(page.read_text("utf-8")), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES_OF_EXPERIMENTS, ids=lambda path: path.name)
def test_experiments_on_pages_are_current(page: Path, tmp_path: Path) -> None:
    groups = [_of_block(block) for block in blocks(page.read_text("utf-8"))]
    # Blocks that only name commands need files that are not here.
    transcripts = [
        transcript for block in groups if any(printed.strip() for _, printed in block) for transcript in block
    ]
    assert transcripts
    # Between the lines of a headline and the last one, progress is printed.
    _check([(line, printed.replace("\n", LEFT_OUT)) for line, printed in transcripts], tmp_path)


def _check(transcripts: Iterable[tuple[str, str]], folder: Path) -> None:
    """Run the commands in a folder of their own, and look for what is shown of them in what is printed."""
    (folder / "examples").symlink_to(SAMPLE.parent)
    command, ids = Command(folder, COLUMNS="100"), Page()
    for line, example in transcripts:
        done = command.run(*ids.here(line))
        # Stderr has lines before and after the results.
        missing = ids.look_for(example, done.err + done.out + done.err)
        assert missing is None, f"redraft {line}\nshown:   {missing}\nprinted: {done.err}{done.out}"
