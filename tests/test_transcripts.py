"""What the documentation shows of commands is what they print: its transcripts are run again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.command import Command
from tests.support import SAMPLE
from tests.test_docs import ROOT, blocks

PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("refining", "key-facts", "coherence", "lineage")),
]
PAGES_OF_EXPERIMENTS = sorted((ROOT / "docs").glob("experiments*.md"))
"""These take seconds each; docs/write_samples.py makes them anew."""
LEFT_OUT = "[...]"
_COMMAND = re.compile(r"^\$ redraft (.*)$", re.MULTILINE)
_RUN = re.compile(r"\b[0-9a-f]{8}\b")
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
        return shlex.split(_RUN.sub(lambda match: self.ids.get(match[0], match[0]), command))

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

        return _RUN.sub(run, pattern)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
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
