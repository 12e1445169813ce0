"""Makes the sample outputs of the experiments' pages anew: python docs/write_samples.py [PAGE...]

Each line that a page shows of a command's output is replaced with the most similar line of today's output. Lines with
something left out, [...], stay as they are. tests/test_docs_code.py compares the pages with what is printed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).parent
_BLOCK = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
_PROMPT, _LEFT_OUT = "$ redraft ", "[...]"
_DIGIT = re.compile(r"\d+")
# A line that is less like any printed one than this shows something that is no longer printed.
_LEAST = 0.6


def page(text: str) -> str:
    """Return a page with its sample outputs made anew."""
    return _BLOCK.sub(lambda match: _block(match[0]), text)


def _block(block: str) -> str:
    lines = [line.removeprefix("    ") for line in block.splitlines()]
    commands = list(_commands(lines))
    if not any(shown for _, shown in commands):
        return block
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(DOCS.parent / "examples")
        made = [line for command, shown in commands for line in (*command, *_anew(command, shown, folder))]
    return "".join(f"    {line}\n" for line in made)


def _commands(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each command, as it is broken into lines, with what is shown of its output."""
    starts = [at for at, line in enumerate(lines) if line.startswith(_PROMPT)]
    for start, end in pairwise([*starts, len(lines)]):
        after = next(at for at in range(start, end) if not lines[at].endswith("\\")) + 1
        yield lines[start:after], lines[after:end]


def _anew(command: list[str], shown: list[str], folder: str) -> list[str]:
    words = shlex.split(" ".join(line.removesuffix("\\") for line in command).removeprefix("$ "))
    own = {name: value for name, value in os.environ.items() if not name.startswith("REDRAFT_")}
    environment = {**own, "COLUMNS": "100", "PYTHONPATH": str(DOCS.parent), "REDRAFT_DB": f"{folder}/redraft.db"}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, text=True, capture_output=True, check=False
    )
    printed = [line for line in f"{done.stderr}{done.stdout}".splitlines() if line.strip()]
    return list(_nearest(shown, printed))


def _nearest(shown: list[str], printed: list[str]) -> Iterator[str]:
    """Yield for each line the most similar one that is printed; of equally similar ones the first that is left."""
    left = list(printed)
    for line in shown:
        if _LEFT_OUT in line:
            yield line
            continue
        alike = [SequenceMatcher(None, _DIGIT.sub("0", line), _DIGIT.sub("0", one)).ratio() for one in left]
        if not alike or max(alike) < _LEAST:
            raise SystemExit(f"nothing like this is printed: {line}\n" + "\n".join(printed))
        yield left.pop(alike.index(max(alike)))


if __name__ == "__main__":
    for file in [DOCS / name for name in sys.argv[1:]] or sorted(DOCS.glob("experiments*.md")):
        before = file.read_text("utf-8")
        after = page(before)
        file.write_text(after, "utf-8")
        print(f"{file.name}: {'made anew' if before != after else 'as it was'}")
