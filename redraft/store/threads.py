"""Where the store is used from an event loop: in a thread, so that a file that another program holds stalls nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What `work` returns, done in a thread. Whoever is cancelled meanwhile leaves it to end by itself."""
    return await asyncio.to_thread(work, *given, **named)
