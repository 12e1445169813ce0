"""Where what commands make goes, and in which format: settled, and refused, before anything is spent on it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.outputs.formats import Format


def check_output(output: str | None) -> None:
    """Refuse a file that cannot be written before anything is spent on what shall go into it."""
    if output is None:
        return
    path = Path(output).expanduser()
    if path.is_dir() or not path.parent.is_dir():
        what = "it is a directory" if path.is_dir() else "its directory does not exist"
        raise UsageError(f"it cannot be written: {what}", place=output)


@dataclass(frozen=True, slots=True)
class Target:
    """A file with its format, or stdout; with `as_json` stdout has the object for programs, whatever a file has."""

    output: str | None
    form: Format
    as_json: bool = False

    @property
    def printed(self) -> Format | None:
        """What stdout gets; None where a file gets all there is."""
        if self.as_json:
            return "json"
        return None if self.output else self.form


def target(output: str | None, form: Format | None, *, as_json: bool) -> Target:
    """The target that the options name: what a file is called says its format, unless `--format` does."""
    from redraft.outputs.formats import format_of

    check_output(output)
    if output is None:
        _check_stdout(form, as_json=as_json)
        return Target(None, form or "text", as_json or form == "json")
    return Target(output, form or format_of(output), as_json)


def _check_stdout(form: Format | None, *, as_json: bool) -> None:
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json prints JSON, and --format {form} is another format", hint="write one to a file: -o")
    if form == "docx":
        raise UsageError("a .docx file is nothing to print", hint="name it with -o, as in -o summary.docx")
    if form == "html" and sys.stdout.isatty():
        raise UsageError("a page is nothing for a terminal", hint="name a file with -o, as in -o summary.html")
