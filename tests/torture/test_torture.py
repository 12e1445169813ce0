"""The small form of the attacks: a few tries of each."""

from __future__ import annotations

import itertools

import pytest

from tests.torture.__main__ import ATTACKS
from tests.torture.runner import Attack, make

pytestmark = pytest.mark.slow
SEED = 1
SMALL = [(attack, name) for attack in ATTACKS for name in attack.small]


def test_attack_with_processes_has_a_small_form() -> None:
    assert {attack.name for attack, _ in SMALL} == {attack.name for attack in ATTACKS}


@pytest.mark.parametrize(("attack", "name"), SMALL, ids=[name for _, name in SMALL])
def test_no_promise_is_broken(attack: Attack, name: str) -> None:
    tries = itertools.islice(attack.tries(SEED), 300)
    assert make(next(attempt for attempt in tries if attempt.name.startswith(name))) == []
