"""Opening courts, as many as a test takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.judges import Court, Script

Open = Callable[..., Court]


@contextmanager
def opening(folder: Path, *, wired: bool) -> Iterator[Open]:
    """Opens courts, each in a folder of its own."""
    folders = (folder / str(number) for number in count())
    with ExitStack() as stack:

        def make(script: Script | None = None, **options: Any) -> Court:
            court = Court(next(folders), script, **options)
            stack.callback(court.store.close)
            if wired:
                stack.enter_context(court.served())
            return court

        yield make
