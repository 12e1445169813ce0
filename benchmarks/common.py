"""What the benchmarks share: texts, options, times, a server in a process of its own, the ledger, and small tables."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redraft import Session

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("REDRAFT_DATA", ROOT.parent / "shared" / "data"))
VOCABULARY = DATA.parent / "tiktoken"
SAMPLE = ROOT / "examples" / "the-salt-ledger.md"


def use_vocabulary() -> None:
    """Count tokens with the vocabulary beside the datasets, unless another is named."""
    if VOCABULARY.is_dir():
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(VOCABULARY))


def options_of(description: str | None) -> argparse.ArgumentParser:
    """A parser of options that shows the description of a script as it stands."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long an action takes."""
    began = clock()
    action()
    return clock() - began


def json_lines(name: str) -> list[Any]:
    """The entries of a file of the datasets; none where it is absent."""
    path = DATA / name
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def stories() -> list[dict[str, Any]]:
    """The stories of the datasets with the references that people wrote; none where they are absent."""
    return json_lines("squality/dev.jsonl")


def prose(characters: int | None = None) -> str:
    """English prose, of this length where it is given: the stories, or the sample where they are absent."""
    text = "\n\n".join(story["document"] for story in stories()) or SAMPLE.read_text("utf-8")
    return text if characters is None else (text * (characters // len(text) + 1))[:characters]


@contextlib.asynccontextmanager
async def fresh() -> AsyncIterator[Session]:
    """A session on a database of its own, so that nothing is known beforehand."""
    with tempfile.TemporaryDirectory() as folder:
        async with Session(Path(folder) / "redraft.db") as session:
            yield session


def tokens_by_prompt(database: Path, run: str) -> dict[str, tuple[int, int, int]]:
    """For each prompt of a run its calls, and the tokens sent and received, by the ledger."""
    sums = "SELECT prompt, count(*), sum(prompt_tokens), sum(completion_tokens) FROM calls WHERE run = ? GROUP BY 1"
    with contextlib.closing(sqlite3.connect(database)) as ledger:
        return {prompt: (calls, sent, received) for prompt, calls, sent, received in ledger.execute(sums, (run,))}


def shared_prefix(text: str, others: Sequence[str]) -> int:
    """How many characters a text has in common with the beginning of another, at most."""
    return max((_alike(text, other) for other in others), default=0)


def _alike(text: str, other: str) -> int:
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(text), len(other)))


@dataclass(frozen=True)
class Served:
    """One request as the server's log has it."""

    start: float
    end: float
    prompt_tokens: int
    completion_tokens: int
    prompt: str
    reply: str
    status: int
    answered: bool

    @property
    def seconds(self) -> float:
        return self.end - self.start


class Server:
    """The protocol server of the tests, in a process of its own so that it does not share our processor time."""

    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self._log = log

    def served(self) -> list[Served]:
        """All requests so far, those cut off included; a line that is still being written is left for later."""
        return [_served(json.loads(line)) for line in self._text().splitlines(keepends=True) if line.endswith("\n")]

    def answered(self) -> int:
        """How many requests have been answered so far."""
        return self._text().count('"answered": true')

    def _text(self) -> str:
        return self._log.read_text("utf-8") if self._log.exists() else ""


def _served(entry: dict[str, Any]) -> Served:
    names = ("start", "end", "prompt_tokens", "completion_tokens", "reply", "status", "answered")
    return Served(prompt=str(entry["messages"][-1]["content"]), **{name: entry[name] for name in names})


@contextlib.contextmanager
def server(folder: Path, *options: str) -> Iterator[Server]:
    """A server with simulated latency, as long as the context lasts."""
    log = folder / "requests.jsonl"
    command = [sys.executable, "-m", "tests.chatserver", "--port", "0", "--log", str(log), *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process.stdout.readline().strip(), log)
        finally:
            process.kill()


def start_redraft(*arguments: str, url: str, database: Path) -> subprocess.Popen[str]:
    """Start the command as a process of its own, printing JSON."""
    return subprocess.Popen(
        [sys.executable, "-m", "redraft", *arguments, "--db", str(database), "--json"],
        env={**os.environ, "OPENAI_API_KEY": "sk-benchmark", "OPENAI_BASE_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def redraft(*arguments: str, url: str, database: Path) -> tuple[Any, float]:
    """Run the command to its end: its JSON, and the seconds it took."""
    began = time.monotonic()
    process = start_redraft(*arguments, url=url, database=database)
    out, err = process.communicate()
    if process.returncode != 0:
        sys.exit(f"redraft {' '.join(arguments)} failed:\n{err}")
    return json.loads(out), time.monotonic() - began


def table(rows: Sequence[Sequence[object]]) -> None:
    """Print rows in aligned columns, the first being the head."""
    cells = [[f"{cell:,.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def markdown(rows: Sequence[Sequence[object]]) -> str:
    """Rows as a table in Markdown, the first being the head."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
