"""The files that commands write: refused before anything is spent."""

from __future__ import annotations

from pathlib import Path

from redraft.errors import UsageError


def check_output(output: str | None) -> None:
    """Refuse a file that cannot be written before anything is spent on what shall go into it."""
    if output is None:
        return
    path = Path(output).expanduser()
    if path.is_dir() or not path.parent.is_dir():
        what = "it is a directory" if path.is_dir() else "its directory does not exist"
        raise UsageError(f"it cannot be written: {what}", place=output)
