"""Stopping: the first Ctrl-C as soon as all is tidy, the second at once, whatever is being waited for."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from redraft.cli.terminal import INTERRUPTED, is_interactive

_PATIENCE = 0.4
# The display of progress hides it while it lasts.
_CURSOR = "\r\x1b[K\x1b[?25h"


def exit_at_second_interrupt() -> None:
    """From now on a second Ctrl-C ends the process if it has not ended by itself a moment later.

    Python hears of a signal when the main thread has a turn, which it has not while it waits for a database or for a
    thread that reads. So another thread listens. What was stored by then is kept, as if the process had been killed.
    """
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(ear,), daemon=True, name="interrupts").start()


@contextmanager
def on_termination(stop: Callable[[], object]) -> Iterator[None]:
    """Within, SIGTERM calls `stop` instead of ending the process."""

    def stopped(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  (as handlers are called)
        stop()

    # The handler of an event loop would take the place of whoever listens for the second Ctrl-C.
    before = signal.signal(signal.SIGTERM, stopped)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listen(ear: int) -> None:
    heard = 0
    while heard < 2:
        heard += os.read(ear, 16).count(signal.SIGINT)
    time.sleep(_PATIENCE)
    shown = _CURSOR if is_interactive() else ""
    with suppress(OSError):  # there may be no stderr any more
        os.write(2, f"{shown}\nredraft: stopped; finished work is kept\n".encode())
    os._exit(INTERRUPTED)
