"""Regular expressions that are compiled on first use, since compiling them all takes a tenth of the start-up time."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast


class _Later:
    """A lazily compiled pattern. Its methods are replaced by the compiled pattern's on first use."""

    def __init__(self, written: str, flags: int) -> None:
        self.pattern, self._flags = written, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def pattern(written: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern like `re.compile`, compiled on first use."""
    return cast(re.Pattern[str], _Later(written, flags))
