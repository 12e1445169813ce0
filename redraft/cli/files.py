"""The files that commands write: refused before anything is spent, and written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from redraft.errors import RedraftError, UsageError


def check_output(output: str | None) -> None:
    """Refuse a file that cannot be written before anything is spent on what shall go into it."""
    if output is None:
        return
    path = Path(output).expanduser()
    if path.is_dir() or not path.parent.is_dir():
        what = "it is a directory" if path.is_dir() else "its directory does not exist"
        raise UsageError(f"it cannot be written: {what}", place=output)


def write(path: Path, text: str, hint: str) -> None:
    """Write a file whole or not at all; the hint says what to do when it cannot be written."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
            os.chmod(name, mode)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RedraftError(
            f"it cannot be written: {error.strerror}",
            place=str(path),
            hint=hint,
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
