"""Every kind of run, killed at some moment: its files are for its owner alone, and its key stands in none of them."""

from __future__ import annotations

import base64
import itertools
import json
import random
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote

from tests.chatserver import Answer, ChatRequest
from tests.torture.runner import Attack, Try, Violation
from tests.torture.world import KEY, KINDS, right, world


def private(seed: int) -> Iterator[Try]:
    for number in itertools.count():
        kind = tuple(KINDS)[number % len(KINDS)]
        yield Try(f"private/{kind} #{number}", partial(_private, kind, f"{seed} {number}"))


def _private(kind: str, seed: str, folder: Path) -> Iterator[Violation]:
    def slowly(request: ChatRequest) -> Answer:
        return replace(right(request), latency=0.03)

    with world(folder, slowly) as workspace:
        running = workspace.start(*KINDS[kind])
        for _ in range(random.Random(seed).randint(5, 30)):
            yield from _open(folder)
            threading.Event().wait(0.02)
        running.kill()
        workspace.end(running)
        yield from _open(folder)
        workspace.finished(kind)
        yield from _open(folder)
        yield from _found_in(folder)


def _found_in(folder: Path) -> Iterator[Violation]:
    """Every file in which the key stands: the store, the checkpoints, and what was printed."""
    encoded = base64.b64encode(KEY.encode()).decode()
    forms = (KEY, quote(KEY, safe=""), json.dumps(KEY)[1:-1], KEY.replace("/", "\\/"), encoded)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if any(form.encode() in path.read_bytes() for form in forms):
            yield Violation("leaked", f"the key stands in {path.name}")


def _open(folder: Path) -> Iterator[Violation]:
    for path in sorted(folder.glob("redraft*")):
        try:
            mode = stat.S_IMODE(path.stat().st_mode) & 0o077
        except FileNotFoundError:
            # A journal comes and goes.
            continue
        if mode:
            yield Violation("leaked", f"{path.name} may be read by others: {mode:o}")


ATTACKS = (Attack("private", private, 1, small=("private/refine #4",)),)
