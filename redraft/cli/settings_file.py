"""The settings file, `redraft.toml`: where it is, and what it says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from redraft.errors import UsageError
from redraft.sources import MOST_OF_SETTINGS, read_file

FILE_NAME = "redraft.toml"
MODELS = "models"
"""The table whose tables are models, by name."""


def settings_file() -> Path:
    """Where settings are read from, if there is such a file."""
    return Path(os.environ.get("REDRAFT_CONFIG", FILE_NAME))


def content_found() -> dict[str, Any]:
    """All that the settings file says, if there is one."""
    path = settings_file()
    return content_of(path) if path.exists() else {}


def is_found() -> bool:
    """Whether the file is one that lies about in the current directory, and that nobody has named."""
    return "REDRAFT_CONFIG" not in os.environ and Path(FILE_NAME).exists()


def content_of(path: Path) -> dict[str, Any]:
    """All that a settings file says."""
    import tomllib

    try:
        return tomllib.loads(read_file(path, MOST_OF_SETTINGS).decode())
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", place=str(path)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", place=str(path)) from error
    except RecursionError as error:
        raise UsageError("cannot be read: it is nested too deeply", place=str(path)) from error
