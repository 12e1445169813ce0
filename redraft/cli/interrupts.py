"""Interruption: the first Ctrl-C stops cleanly, a second one ends the process at once."""

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
# The progress display hides the cursor.
_CURSOR = "\r\x1b[K\x1b[?25h"


def exit_at_second_interrupt() -> None:
    """Let a second Ctrl-C end the process unless it ends by itself within a moment.

    Python handles signals only when the main thread runs, which it does not while it waits for a database or for a
    reading thread, so another thread listens. What was stored by then is kept, as if the process had been killed.
    """
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(ear,), daemon=True, name="interrupts").start()


@contextmanager
def on_termination(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` on SIGTERM instead of ending the process while the context is active."""

    def stopped(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  (as handlers are called)
        stop()

    # A signal handler of the event loop would replace the one for the second Ctrl-C.
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
    with suppress(OSError):  # stderr may be closed
        os.write(2, f"{shown}\nredraft: stopped; finished work is kept\n".encode())
    os._exit(INTERRUPTED)
