"""Reads a file in a separate process, since malicious files exploit bugs in parsers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from pydantic import TypeAdapter

from redraft.errors import DocumentError
from redraft.readers.builder import ReadText
from redraft.readers.formats import MOST_SECONDS, TOO_SLOW, Format, too_large

# The child uses our module search path, not the current directory.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from redraft.readers.child import main; main(*sys.argv[2:])"
)
_WAIT = 5 * MOST_SECONDS
"""The wall-clock limit in seconds: on a busy machine a process waits longer than it works."""
_KEPT = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG")
_CRASHED: dict[str, object] = {
    "error": "the file is broken, and crashed the program that reads it",
    "hint": "open it with the program that made it and save it again, or convert it to .txt",
}


def read_apart(form: Format, data: bytes, name: str) -> ReadText:
    """Return the content of a file of this format; raise `DocumentError` if it cannot be read."""
    path = [os.path.abspath(one) for one in sys.path]
    command = [sys.executable, "-I", "-c", _START, json.dumps(path), form, name]
    environment = {key: os.environ[key] for key in _KEPT if key in os.environ}
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, and the name goes by as an argument
            command, input=data, capture_output=True, timeout=_WAIT, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise _refusal(TOO_SLOW, name) from None
    except (OSError, ValueError) as error:
        raise DocumentError(
            f"the process that reads {form} files cannot be started: {error}",
            place=name,
            hint="convert the file to .txt first",
        ) from error
    if done.returncode:
        raise _refusal(_ending(form, done.returncode, done.stderr), name)
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise _refusal(answer, name)
    return TypeAdapter(ReadText).validate_python(answer)


def _ending(form: Format, code: int, said: bytes) -> dict[str, object]:
    """Return the error of a process that ended without an answer."""
    if -code in (getattr(signal, "SIGXCPU", 0), getattr(signal, "SIGKILL", 0)) and code:
        return TOO_SLOW
    if b"MemoryError" in said or b"bad_alloc" in said or b"emory" in said:
        return too_large(form)
    if b"ModuleNotFoundError" in said:
        missing = said.decode("utf-8", "replace").strip().rpartition("'")[0].rpartition("'")[2]
        return {"error": f"the package {missing} is not installed", "hint": f"install it: pip install {missing}"}
    return _CRASHED


def _refusal(answer: dict[str, object], name: str) -> DocumentError:
    return DocumentError(str(answer["error"]), place=name, hint=str(answer["hint"]))
