"""One process at a time works on a run, and its claim ends with it."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from redraft.errors import RunError
from redraft.store.store import Store
from tests.store.support import start, started, wait_until_free

_CLAIM = """
import sys
from redraft.store.store import Store
with Store(sys.argv[1]) as store, store.claim("abc123"):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_claim_ends_with_its_process(place: Path | str) -> None:
    with Store(place) as store:
        assert not store.is_claimed("abc123")
        with started(_CLAIM, place) as process:
            assert store.is_claimed("abc123")
            with pytest.raises(RunError, match="another process") as caught, store.claim("abc123"):
                pytest.fail("claimed twice")
            assert caught.value.hint
            with store.claim("another"):
                pass
            process.send_signal(signal.SIGKILL)
            process.wait(10)
        wait_until_free(store, "abc123")
        with pytest.raises(ValueError, match="no"), store.claim("abc123"):  # noqa: PT012
            assert store.is_claimed("abc123")
            with pytest.raises(RunError, match="another process"), store.claim("abc123"):
                pytest.fail("claimed twice")
            raise ValueError("no")
        assert not store.is_claimed("abc123"), "an error ends a claim, too"
        assert not isinstance(place, Path) or not list(place.parent.glob("*.lock"))


def test_a_momentary_lock_keeps_nobody_out(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        # As `is_claimed` holds it, while it looks.
        lock = FileLock(store.connection.lock_path("abc123"))  # type: ignore[attr-defined]
        lock.acquire()
        release = threading.Timer(0.1, os.unlink, [lock.lock_file])
        release.start()
        with store.claim("abc123"):
            pass
        release.join()
        lock.release()


_RACE = """
import os, sys, time
from redraft.errors import RunError
from redraft.store.store import Store
inside = sys.argv[2]
with Store(sys.argv[1]) as store:
    print("ready", flush=True)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        try:
            with store.claim("abc123"):
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                os.unlink(inside)
        except RunError:
            pass
"""


@pytest.mark.slow
def test_two_processes_never_claim_a_run(tmp_path: Path) -> None:
    processes = [start(_RACE, tmp_path / "redraft.db", tmp_path / "inside") for _ in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 3
