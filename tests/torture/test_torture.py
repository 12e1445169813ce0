"""The small form of the attacks: a few tries of each. Each attack notices when redraft is broken on purpose."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.torture import processes, world
from tests.torture.__main__ import ATTACKS
from tests.torture.runner import Attack, Try, Violation, attacked, make, table
from tests.torture.world import undisturbed

pytestmark = pytest.mark.slow
SEED = 1
SMALL = [(attack, name) for attack in ATTACKS for name in attack.small]


def first(attack: Attack, name: str) -> Iterator[Try]:
    """The tries of an attack whose names begin so, in their order."""
    return (attempt for attempt in itertools.islice(attack.tries(SEED), 300) if attempt.name.startswith(name))


def test_attack_with_processes_has_a_small_form() -> None:
    assert {attack.name for attack, _ in SMALL} == {attack.name for attack in ATTACKS}


@pytest.mark.parametrize(("attack", "name"), SMALL, ids=[name for _, name in SMALL])
def test_no_promise_is_broken(attack: Attack, name: str) -> None:
    assert make(next(first(attack, name))) == []


BROKEN = [
    ("forgetful", "kill at write/hierarchical 14", "lost"),
    ("unresumable", "kill at write/direct 8", "bricked"),
    ("unsteady", "kill at write/direct 8", "wrong"),
    ("unsteady", "faults/500, 30%", "wrong"),
    ("spendthrift", "budgets/incremental, --max-calls", "over"),
    ("crowded", "crowds/same requests, 2 processes, hierarchical #0", "repeated"),
    ("unsteady", "full disk/evaluate 75000 bytes", "wrong"),
    ("unfinished", "locks/hierarchical", "crashed"),
    ("talkative", "private/refine #4", "leaked"),
    ("unshielded", "private/refine #4", "leaked"),
]
"""How redraft is broken, by what that is noticed, and as what."""


@pytest.mark.nightly
@pytest.mark.parametrize(("how", "name", "breach"), BROKEN, ids=[f"{how}, {name}" for how, name, _ in BROKEN])
def test_an_attack_notices(how: str, name: str, breach: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attack = next(candidate for candidate in ATTACKS if candidate.name == name.partition("/")[0])
    start = processes.start

    def broken(*values: Any) -> Any:
        *before, fate = values
        return start(*before, replace(fate, broken=how))

    for attempt in itertools.islice(first(attack, name), 2):
        # What is compared with is made by redraft as it is.
        for kind in world.KINDS:
            if re.search(rf"\b{kind}\b(?!\.)", attempt.name):
                undisturbed(kind)
        with monkeypatch.context() as patch:
            patch.setattr(world, "start", broken)
            if breach in {violation.breach for violation in make(attempt)}:
                return
    pytest.fail(f"nothing is {breach}")


def test_failing_harness_counts_as_a_violation(tmp_path: Path) -> None:
    def fails(folder: Path) -> list[Violation]:
        raise ValueError("no")

    (violation,) = make(Try("x", fails))

    assert violation.breach == "crashed"
    assert "ValueError: no" in violation.what


def test_the_table_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    def tries(seed: int) -> Any:
        return iter([Try("a/1", lambda folder: [Violation("lost", "it is gone", 2)]), Try("a/2", lambda folder: [])])

    with ThreadPoolExecutor() as pool:
        row = attacked(Attack("a", tries), tries(1), 60.0, lambda attempt: f"again {attempt.name}", pool)

    lines = table([row, row]).splitlines()
    assert lines[2].split()[:3] == ["a", "2", "2"]
    assert lines[-1].split()[:4] == ["all", "4", "4", "0"]
    assert "lost (2): a/1: it is gone\n    again a/1" in capsys.readouterr().err
