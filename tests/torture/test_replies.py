"""Spoiled replies, in a small form: the whole of it is `python -m tests.torture.replies 5000`."""

from __future__ import annotations

import pytest

from tests.torture.replies import IDS, TEXTS, spoiled


@pytest.mark.slow
def test_no_spoiled_reply_misplaces_a_verdict() -> None:
    count = 100
    found = spoiled(count, seed=1)
    assert found.misplaced == 0, found.examples
    assert found.tries == count
    # What can be read is read, and what cannot is asked again: most items come to their verdicts.
    assert found.judged > 0.8 * found.items
    assert len(found.faults) > min(count, len(IDS) + len(TEXTS)) // 2
