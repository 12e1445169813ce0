"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from redraft.errors import RedraftError


def write(path: Path, content: str | bytes, hint: str) -> None:
    """Write a file whole or not at all; the hint says what to do when it cannot be written."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
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
