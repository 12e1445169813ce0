"""Opening harnesses, as many as a test takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.judges import Harness, Script

OpenHarness = Callable[..., Harness]


@contextmanager
def open_harnesses(folder: Path, *, wired: bool) -> Iterator[OpenHarness]:
    """Opens harnesses, each in a folder of its own."""
    folders = (folder / str(number) for number in count())
    with ExitStack() as stack:

        def make(script: Script | None = None, **options: Any) -> Harness:
            harness = Harness(next(folders), script, **options)
            stack.callback(harness.store.close)
            if wired:
                stack.enter_context(harness.served())
            return harness

        yield make
