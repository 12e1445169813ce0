"""Doing several things at once, without losing what some of them have paid for when another fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

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
