"""Odd envelopes of replies, in a small form: the whole of it is `python -m tests.torture.envelopes 5000`."""

from __future__ import annotations

import pytest

from tests.torture.envelopes import many


@pytest.mark.slow
def test_an_answer_is_read_and_stored_whatever_it_comes_in() -> None:
    tries = 60
    tally = many(tries)
    assert sum(tally.values()) >= tries
    assert tally["ok"] > tries // 2
    assert not tally["bug"]
