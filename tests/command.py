"""Running the `redraft` command as its users do: as a process, against a server on the loopback."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import warm

Texts = str | Sequence[str]
_SECONDS = 120
_KEY = "sk-test-0123456789abcdef"

# Nobody listens on that port: whatever wants to leave the machine is refused at once.
_NOBODY = "http://127.0.0.1:9"
_LOOPBACK_ONLY = {"HTTP_PROXY": _NOBODY, "HTTPS_PROXY": _NOBODY, "ALL_PROXY": _NOBODY, "NO_PROXY": "127.0.0.1"}


@dataclass(frozen=True)
class Completed:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def checked(self, code: int | Container[int] | None, out: Texts, err: Texts) -> Completed:
        """Return this, unless its exit code or its output is not the expected one."""
        codes = {code} if isinstance(code, int) else code
        assert codes is None or self.code in codes, (self.code, self.err, self.out)
        for texts, printed in ((out, self.out), (err, self.err)):
            for text in (texts,) if isinstance(texts, str) else texts:
                assert text in printed, printed
        return self


class Command:
    """The command in a directory of its own, with a database there and nothing inherited from the environment."""

    def __init__(self, folder: Path, url: str = "", **environment: str) -> None:
        self.folder = folder
        self.database = folder / "redraft.db"
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("REDRAFT_", "OPENAI_"))}
        self.environment = {**variables, "REDRAFT_DB": str(self.database), **_LOOPBACK_ONLY, **environment}
        if url:
            self.environment |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": _KEY}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start it and leave it running."""
        return subprocess.Popen(
            [sys.executable, "-m", "redraft", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        code: int | Container[int] | None = None,
        out: Texts = (),
        err: Texts = (),
    ) -> Completed:
        """Run it to its end, and expect an exit code and texts on stdout and stderr."""
        return self._done(arguments, stdin).checked(code, out, err)

    def _done(self, arguments: Sequence[str], stdin: bytes) -> Completed:
        if self.environment.get("PYTHONPATH") == os.environ.get("PYTHONPATH"):
            code, out, err = warm.run(arguments, self.folder, self.environment, stdin, _SECONDS)
        else:
            # What it shall import is looked for when an interpreter starts.
            done = subprocess.run(
                [sys.executable, "-m", "redraft", *arguments],
                cwd=self.folder,
                env=self.environment,
                input=stdin,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        return Completed(code, out.decode(), err.decode())


def seconds_used(process: subprocess.Popen[str]) -> float:
    """What a process has taken of a processor, on Linux: one that waits, or that others keep waiting, takes none."""
    status = Path(f"/proc/{process.pid}/stat")
    if not status.exists():
        return 0.0
    return sum(map(float, status.read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def seconds_of(command: Command, program: str, *words: str) -> float:
    """The processor time of a program, which prints something if it has a command to run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=command.folder,
        env={**os.environ, **command.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert done.stdout or not words
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
