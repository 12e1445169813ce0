"""The workers of a batch as processes on this machine: started, watched, replaced when they die, and ended.

Another engine needs no more than this: to start workers with their `Terms`, to say which of them have died, and to end
them. What they work on, and what became of it, is in the store.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Thread
from types import TracebackType
from typing import Self

from redraft.batches.child import Terms
from redraft.errors import RedraftError
from redraft.store.store import Store

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1])\nfrom redraft.batches.{} import main; main()"
_TO_END = 20.0
"""Seconds in which a worker that is told to stop has put away what it had begun."""
_VAIN_STARTS = 3
"""So many workers in a row that die before they have leased anything are too many."""
_KEPT_LINES = 20
_LAST_WORDS = 1.0
Tell = Callable[[str], object]


@dataclass(slots=True)
class _Hand:
    """One process, with what it has said last."""

    terms: Terms
    process: subprocess.Popen[str]
    said: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    listening: Thread | None = None

    @property
    def how(self) -> str:
        """How it has ended, in words."""
        code = self.process.returncode or 0
        told = f": {self.said[-1]}" if self.said and code > 0 else ""
        return f"it was ended by {_signal(-code)}" if code < 0 else f"it ended with code {code}{told}"


@dataclass(slots=True)
class Crew:
    """The local workers of one batch, as long as the context lasts."""

    store: Store
    terms: Terms
    """Those of every worker, but for its name and its number."""
    tell: Tell
    """Told what workers note, each once."""
    _hands: list[_Hand] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)
    _vain: int = 0

    def __enter__(self) -> Self:
        for number in range(self.terms.of):
            self._start(number)
        return self

    def mend(self) -> bool:
        """Replace those that have died; whether anybody is still at work."""
        for hand in [one for one in self._hands if one.process.poll() is not None]:
            self._hands.remove(hand)
            _close(hand)
            if hand.process.returncode:
                self._lost(hand)
        return bool(self._hands)

    def pids(self) -> list[int]:
        """The processes that are at work."""
        return [one.process.pid for one in self._hands]

    def _lost(self, hand: _Hand) -> None:
        """Free what a dead worker had leased, and put another in its place."""
        leased = self.store.batches.release(self.terms.batch, hand.terms.worker, hand.how)
        self._vain = 0 if leased else self._vain + 1
        if self._vain >= _VAIN_STARTS:
            raise RedraftError(
                f"workers cannot be started: of the last, {hand.how}", hint="repeat the command when that is mended"
            )
        self._start(hand.terms.number)

    def _start(self, number: int) -> None:
        terms = replace(self.terms, worker=f"{os.getpid()}-{secrets.token_hex(4)}", number=number)
        path = json.dumps([os.path.abspath(one) for one in sys.path])
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-I", "-c", _START.format("watched" if terms.spans else "child"), path],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            # Threads that come and go would each keep some memory aside, in glibc's way.
            env={"MALLOC_ARENA_MAX": "2", **os.environ},
        )
        hand = _Hand(terms, process)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(terms.to_line())
            process.stdin.flush()
        hand.listening = Thread(target=self._listen, args=(hand,), daemon=True)
        hand.listening.start()
        self._hands.append(hand)

    def _listen(self, hand: _Hand) -> None:
        assert hand.process.stderr is not None
        with hand.process.stderr as lines:
            for line in lines:
                said = line.rstrip("\n")
                hand.said.append(said)
                if said not in self._told:
                    self._told.add(said)
                    self.tell(said)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for hand in self._hands:
            _close(hand)
        until = time.monotonic() + _TO_END
        for hand in self._hands:
            try:
                hand.process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                hand.process.kill()
                hand.process.wait()
            if hand.listening is not None:
                hand.listening.join(_LAST_WORDS)
            if hand.process.returncode:
                self.store.batches.release(self.terms.batch, hand.terms.worker, hand.how)


def _close(hand: _Hand) -> None:
    """End the input of a worker, which is how it is told to stop."""
    assert hand.process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        hand.process.stdin.close()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
