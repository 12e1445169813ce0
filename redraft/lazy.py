"""Loaded on first use: a package's public names (LangGraph alone takes a second), and regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

_IMPORT = re.compile(r"^from (\S+) import (\w+) as \2$", re.MULTILINE)


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for the names that the stub file of a module imports."""
    homes = {name: home for home, name in _IMPORT.findall(Path(file).with_suffix(".pyi").read_text("utf-8"))}

    def load(name: str) -> Any:
        if name == "__version__":
            # Not at once: reading the metadata of a package takes longer than all the rest of this.
            from importlib.metadata import version

            return version(package.partition(".")[0])
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        return (
            import_module(f"{package}.{name}") if homes[name] == package else getattr(import_module(homes[name]), name)
        )

    return load, lambda: sorted([*homes, "__version__"]), sorted(homes)


class _LazyPattern:
    """A lazily compiled pattern. Its methods are replaced by the compiled pattern's on first use."""

    def __init__(self, written: str, flags: int) -> None:
        self.pattern, self._flags = written, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def pattern(written: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern like `re.compile`, compiled on first use."""
    return cast("re.Pattern[str]", _LazyPattern(written, flags))
