"""Runs programs one after the other with the modules that they import already loaded: runner.py FOLDER PROGRAM..."""

import ast
import importlib
import json
import os
import runpy
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

SECONDS = 240


def warm(program: Path) -> None:
    """Import what a program imports."""
    for node in ast.parse(program.read_text("utf-8")).body:
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            with suppress(ImportError):
                importlib.import_module(name)


def work(program: Path, folder: str) -> int:
    """Run a program, or the tests in it, in a folder of its own; this does not return from the process."""
    os.chdir(folder)
    os.environ |= {"REDRAFT_DB": f"{folder}/redraft.db", "HOME": folder}
    with open("output.txt", "w", encoding="utf-8") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    try:
        if "def test_" in program.read_text("utf-8"):
            import pytest

            return int(pytest.main(["-q", "-c", os.devnull, "--rootdir", folder, str(program)]))
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as error:
        return int(error.code or 0)
    except BaseException:  # noqa: BLE001  (whatever it is, the next program is run)
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def waited(child: int) -> int:
    """The exit code of a process, which is ended when it takes too long."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -9


def main() -> None:
    """Print for each program its name, its exit code and the end of what it printed."""
    texts, programs = sys.argv[1], [Path(name) for name in sys.argv[2:]]
    for program in programs:
        warm(program)
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(texts, folder, dirs_exist_ok=True)
            if (child := os.fork()) == 0:
                code = work(program, folder)
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
            code = waited(child)
            printed = (Path(folder) / "output.txt").read_text("utf-8", "replace")
        print(json.dumps({"program": program.stem, "code": code, "printed": printed[-1500:]}), flush=True)


main()
