"""The command within this process, for tests of what it prints: starting a process takes longer than most of them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from redraft.cli.main import main
from tests.chatserver import ChatServer, Seen
from tests.command import Command, Done
from tests.judges import Keepers, Script, island, seen_on, told

MODEL = "openai:m"


@contextmanager
def keepers_court(folder: Path, script: Script | None = None, **environment: str) -> Iterator[Inside]:
    """A directory with a document about keepers and a poor summary of it, and a judge who knows all about keepers.

    Of the six keepers that are asked about, the summary names three rightly and one wrongly.
    """
    (folder / "book.md").write_text(island().text, "utf-8")
    (folder / "poor.md").write_text(told(1, 3, 4, wrong={2: "Bob"}), "utf-8")
    judge = script or Keepers()

    def serve(seen: Seen) -> str:
        said = judge(seen_on(seen))
        return said if isinstance(said, str) else json.dumps(said)

    with ChatServer(serve) as server:
        yield Inside(folder, server.base_url, REDRAFT_MODEL=MODEL, COLUMNS="100", **environment)


class Inside(Command):
    """Runs to its end here, in the directory, environment and standard streams that a process would have."""

    def run(self, *arguments: str, stdin: bytes = b"") -> Done:
        """Run it, as `Command` does."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        given = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
        with (
            patch.dict(os.environ, self.environment, clear=True),
            patch("sys.stdin", given),
            chdir(self.folder),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            main(arguments)
        assert isinstance(end.value.code, int)
        return Done(end.value.code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    written = stream.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode()
