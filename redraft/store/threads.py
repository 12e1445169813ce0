"""The store's work away from the event loop, which must not stand still while another program holds the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do it in a thread. Whoever is cancelled meanwhile waits for its end: nothing is half done behind their back."""
    doing = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait([doing])
        # Looked at, so that asyncio does not complain of a failure that nobody has taken note of.
        doing.exception()
        raise


@asynccontextmanager
async def entered_off_loop(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave it in a thread. One that was entered for somebody who is cancelled meanwhile is left again."""
    stack = ExitStack()
    try:
        yield await off_loop(stack.enter_context, context)
    finally:
        await off_loop(stack.close)
