"""SIGKILL at every write to the checkpoints, at every request, and at random moments; then resumed until it is done."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.chatserver import Answer, ChatRequest, Reply
from tests.torture.processes import Fate, Running
from tests.torture.runner import Attack, Try, Violation
from tests.torture.world import KINDS, World, judged, right, undisturbed, world

_MOST_DEATHS = 3
# A reply on its way and one that has just come are two different things to be killed at.
_MOMENTS = {"arrives": 0.0, "is answered": 0.03}
_STRETCHED = 0.02


def writes(seed: int) -> Iterator[Try]:
    """One try for each write to the checkpoints of each kind of run, then pairs: the resumed run is killed as well."""
    counts: dict[str, int] = {}
    for kind in KINDS:
        counts[kind] = undisturbed(kind).writes
        yield from (
            Try(f"kill at write/{kind} {at}", partial(_at_writes, kind, (at,))) for at in range(1, counts[kind] + 1)
        )
    several = [kind for kind, count in counts.items() if count > 1]
    for number in itertools.count(1) if several else ():
        chance = random.Random(f"{seed} writes {number}")
        kind = chance.choice(several)
        ats = tuple(chance.randint(1, counts[kind]) for _ in range(chance.randint(2, _MOST_DEATHS)))
        yield Try(f"kill at write/{kind} {'+'.join(map(str, ats))} #{number}", partial(_at_writes, kind, ats))


def _at_writes(kind: str, ats: tuple[int, ...], folder: Path) -> Iterator[Violation]:
    with world(folder) as workspace:
        for at in ats:
            runs = workspace.runs()
            workspace.run(*(("resume", runs[0]) if runs else KINDS[kind]), fate=Fate(dies_after=at))
        yield from judged(workspace, kind, workspace.finished(kind))


def requests(seed: int) -> Iterator[Try]:
    """One try for each request of each kind of run, as it arrives and as its answer has just gone out."""
    for kind in KINDS:
        count = sum(undisturbed(kind).requests.values())
        for at, moment in itertools.product(range(1, count + 1), _MOMENTS):
            yield Try(f"kill at request/{kind} {at} {moment}", partial(_at_request, kind, at, moment))


def _at_request(kind: str, at: int, moment: str, folder: Path) -> Iterator[Violation]:
    with world(folder) as workspace:
        doomed: list[Running] = []
        delay = _MOMENTS[moment]

        def script(request: ChatRequest) -> Reply:
            if len(workspace.server.seen) >= at and not delay and doomed:
                doomed[0].kill()
            return right(request)

        workspace.server.script = script
        workspace.server._turns = itertools.repeat(script)
        doomed.append(workspace.start(*KINDS[kind]))
        while delay and doomed[0].alive and len(workspace.server.answered) < at:
            time.sleep(0.001)
        if delay:
            time.sleep(delay * random.Random(f"{kind} {at}").random())
            doomed[0].kill()
        workspace.end(doomed[0])
        yield from judged(workspace, kind, workspace.finished(kind))


def moments(seed: int) -> Iterator[Try]:
    """Kills at random moments, of runs and of their resumptions, with answers that take their time."""
    for number in itertools.count(1):
        kind = tuple(KINDS)[(number - 1) % len(KINDS)]
        yield Try(f"kill at random/{kind} #{number}", partial(_at_random, kind, f"{seed} random {number}"))


def _at_random(kind: str, seed: str, folder: Path) -> Iterator[Violation]:
    chance = random.Random(seed)
    seconds = undisturbed(kind).seconds

    def slowly(request: ChatRequest) -> Answer:
        answer = right(request)
        return Answer(answer.text, usage=answer.usage, latency=chance.random() * _STRETCHED)

    with world(folder, slowly) as workspace:
        for _ in range(chance.choice([1, 1, 2, _MOST_DEATHS])):
            _killed_after(workspace, kind, chance.uniform(0.2, 1.2) * seconds)
        yield from judged(workspace, kind, workspace.finished(kind))


def _killed_after(workspace: World, kind: str, seconds: float) -> None:
    runs = workspace.runs()
    running = workspace.start(*(("resume", runs[0]) if runs else KINDS[kind]))
    time.sleep(seconds)
    running.kill()
    workspace.end(running)


ATTACKS = (
    Attack("kill at write", writes, 5, small=("kill at write/direct 8", "kill at write/hierarchical 9")),
    Attack("kill at request", requests, 3, small=("kill at request/hierarchical 4 is answered",)),
    Attack(
        "kill at random",
        moments,
        6,
        small=("kill at random/hierarchical #2", "kill at random/refine #14", "kill at random/keyfacts #18"),
    ),
)
