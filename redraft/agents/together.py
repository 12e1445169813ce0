"""Doing several things at once, without losing what some of them have paid for when another fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar, cast

Result_ = TypeVar("Result_")


async def together(tasks: Iterable[Coroutine[Any, Any, Result_]]) -> list[Result_]:
    """The results of all tasks in order. When one fails the others go on to their end, and then its error is raised.

    Whoever stops the whole stops each of them.
    """
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


class Once:
    """Makes a thing once, whoever asks first, side by side with whatever else is going on.

    Who asks while it is made waits for it; where that fails, they fail alike, and who asks later has it tried again.
    """

    def __init__(self) -> None:
        self._made: dict[str, asyncio.Task[Any]] = {}

    async def made(self, name: str, make: Callable[[], Coroutine[Any, Any, Result_]]) -> Result_:
        """The thing of this name."""
        task = self._made.get(name)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._made[name] = asyncio.create_task(make())
        try:
            return cast(Result_, await asyncio.shield(task))
        except asyncio.CancelledError:
            # Whoever is stopped stops all that is going on.
            task.cancel()
            raise
