"""Processes that begin with the libraries loaded: a second of work less for each of hundreds of commands.

A process is forked from a server that has imported the code and made an empty database for all to copy: nothing else
is shared with the tests or with another command. What is told apart by a start from nothing, such as how long that
takes, is not for this.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.fresh import copy_new_databases, template

# What a command would load: the libraries, and redraft itself.
_LOADED = ["redraft.cli.main", "redraft.runs.session", "redraft.llm.providers", "redraft.builtin.judge", "tests.warm"]
_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(_LOADED)
# Made in the server, or else each process would make its own.
template()


def run(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: bytes, timeout: float
) -> tuple[int, bytes, bytes]:
    """Run `redraft` to its end; its exit code and what it has written."""
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name, stream) for stream in ("in", "out", "err")]
        for stream, content in zip(streams, (stdin, b"", b""), strict=True):
            stream.write_bytes(content)
        process = _FORKING.Process(target=_redraft, args=(list(arguments), str(folder), dict(environment), streams))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutError(f"redraft {' '.join(arguments)} takes more than {timeout} s")
        return process.exitcode, streams[1].read_bytes(), streams[2].read_bytes()


def _redraft(arguments: list[str], folder: str, environment: dict[str, str], streams: list[Path]) -> None:
    """In the process: be what a shell would have started."""
    from redraft.cli.main import main

    copy_new_databases(pytest.MonkeyPatch())
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        opened = os.open(stream, os.O_WRONLY if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate(("r", "w", "w")))
    sys.argv = ["redraft", *arguments]
    main()
