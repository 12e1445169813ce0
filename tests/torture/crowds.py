"""Two to eight processes on one store: on one run, on runs of their own, and with the same requests at once."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.chatserver import Answer, ChatRequest
from tests.judges import summary_of
from tests.torture.processes import WorkerExit
from tests.torture.runner import Attack, Try, Violation
from tests.torture.world import KINDS, World, identity, judged, right, told_by, undisturbed, world

_LATENCY = 0.05
_KINDS = ("hierarchical", "incremental", "evaluate", "refine", "keyfacts")
# What a process says that leaves a run to another; in other words than an error that nobody foresaw.
_TAKEN = ("another process", "works on", "at work")


def crowds(seed: int) -> Iterator[Try]:
    for number in itertools.count():
        size = 2 + number % 7
        kind = _KINDS[number % len(_KINDS)]
        for what, way in (("one run", _one_run), ("own runs", _own_runs), ("same requests", _same_requests)):
            yield Try(
                f"crowds/{what}, {size} processes, {kind} #{number}", partial(way, size, kind, f"{seed} {number}")
            )


def _slowly(request: ChatRequest) -> Answer:
    answer = right(request)
    return Answer(answer.text, usage=answer.usage, latency=_LATENCY)


def _together(workspace: World, commands: list[tuple[str, ...]]) -> list[WorkerExit]:
    """Several processes at once, which count as one where it is asked what was sent twice."""
    running = [workspace.start(*command) for command in commands]
    ended = [process.end() for process in running]
    workspace.settle()
    del workspace.lives[len(workspace.lives) - len(running) + 1 :]
    workspace.lives[-1].ended, workspace.lives[-1].stored = len(workspace.server.seen), workspace.stored()
    return ended


def _one_run(size: int, kind: str, seed: str, folder: Path) -> Iterator[Violation]:
    """One of them works on the run; the others are told so, and do no harm."""
    with world(folder, _slowly) as workspace:
        first = workspace.start(*KINDS[kind])
        until = time.monotonic() + 60
        while not workspace.server.seen and first.alive and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(random.Random(seed).random() * 2 * _LATENCY)
        first.kill()
        workspace.end(first)
        run = workspace.runs()[0]
        for ended in _together(workspace, [("resume", run)] * size):
            if ended.trouble:
                yield Violation("crashed", ended.trouble)
            elif ended.code and not any(word in ended.err for word in _TAKEN):
                yield Violation("wrong", f"exit {ended.code}: {ended.err[-300:]}")
        yield from judged(workspace, kind, workspace.finished(kind))


def _own_runs(size: int, kind: str, seed: str, folder: Path) -> Iterator[Violation]:
    """Each has another kind of run, and every one comes out as if it were alone."""
    kinds = [tuple(KINDS)[(place + len(seed)) % len(KINDS)] for place in range(size)]
    with world(folder, _slowly) as workspace:
        for own_kind, ended in zip(kinds, _together(workspace, [KINDS[kind] for kind in kinds]), strict=True):
            if ended.trouble or ended.code != 0:
                yield Violation("crashed", f"{own_kind}: exit {ended.code}: {ended.trouble or ended.err[-400:]}")
            elif told_by(ended.out) != undisturbed(own_kind).out:
                yield Violation("wrong", f"{own_kind} came out otherwise: {told_by(ended.out)[:200]!r}")
        yield from _paid_twice(workspace)


def _same_requests(size: int, kind: str, seed: str, folder: Path) -> Iterator[Violation]:
    """They ask the same at once: a reply is paid for once."""
    with world(folder, _slowly) as workspace:
        commands = [KINDS["hierarchical"]] * size
        if kind in {"evaluate", "refine"}:
            # Summaries differ, and the questions about the document are the same.
            for place in range(size):
                (folder / f"s{place}.md").write_text(summary_of(*range(1, place + 2)), "utf-8")
            commands = [("evaluate", "book.md", f"s{place}.md") for place in range(size)]
        ended = _together(workspace, commands)
        for process in ended:
            if process.trouble:
                yield Violation("crashed", process.trouble)
        yield from _paid_twice(workspace)


def _paid_twice(workspace: World) -> Iterator[Violation]:
    counts = Counter(identity(request) for request in workspace.server.answered)
    twice = sum(count - 1 for count in counts.values())
    if twice:
        yield Violation("repeated", f"{twice} requests were paid for by several processes", twice)


ATTACKS = (
    Attack(
        "crowds",
        crowds,
        2,
        small=("crowds/one run, 2 processes, hierarchical #0", "crowds/same requests, 2 processes, hierarchical #0"),
    ),
)
