"""Patterns that are compiled where they are first used: a start needs few of them, and they are a tenth of its time."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, cast


class _Later:
    """Stands for a pattern, and is as fast as one: what was asked of it once is its own from then on."""

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
    """A pattern as of `re.compile`, compiled when it is first used."""
    return cast(re.Pattern[str], _Later(written, flags))
