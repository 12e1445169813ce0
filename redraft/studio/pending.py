"""What was planned and waits for a word of the user: kept for a while, and only so many of them."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from typing import Generic, TypeVar

from redraft.errors import UsageError

T = TypeVar("T")
_MOST, _SECONDS = 16, 3600.0


class Pending(Generic[T]):
    """Things by names that nobody can guess. Of too many the oldest goes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def keep(self, thing: T) -> str:
        """Keep it; returns its name."""
        key = secrets.token_urlsafe(12)
        self._kept[key] = (time.monotonic(), thing)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return key

    def look(self, key: str) -> T:
        """What is kept under a name."""
        since, thing = self._kept.get(key, (float("-inf"), None))
        if thing is None or time.monotonic() - since > _SECONDS:
            raise UsageError("that plan is not kept any more", hint="fill in the form again")
        return thing

    def take(self, key: str) -> T:
        """The same, which is kept no longer."""
        thing = self.look(key)
        del self._kept[key]
        return thing
