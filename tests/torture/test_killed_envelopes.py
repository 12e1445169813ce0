"""SIGKILL while replies come in envelopes that no protocol knows: what is stored is not paid for twice."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.chatserver import Raw, Seen
from tests.torture.world import KINDS, World, identity, right, world

ODD: dict[str, dict[str, Any]] = {
    "no role": {"role": None},
    "usage of 2**63": {"usage": {"prompt_tokens": 2**63, "completion_tokens": 2**63}},
    "usage that is NaN": {"usage": {"prompt_tokens": float("nan"), "completion_tokens": float("nan")}},
    "negative usage": {"usage": {"prompt_tokens": -1, "completion_tokens": -(2**63)}},
}


def enveloped(seen: Seen, odd: dict[str, Any]) -> Raw:
    message: dict[str, Any] = {"content": right(seen).text}
    if "role" not in odd:
        message["role"] = "assistant"
    answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": odd.get("usage")}
    return Raw(json.dumps(answer).encode(), readable=True)


def stored(here: World) -> int:
    return sum(row[0] for row in here._rows("SELECT count(*) FROM calls WHERE outcome = 'ok'"))


def killed(here: World, moment: str) -> None:
    """Kill a run as soon as its second reply has gone out, or is in the ledger."""
    running = here.start(*KINDS["hierarchical"], "--strategy", "hierarchical")
    while running.alive:
        if (len(here.server.answered) if moment == "arrived" else stored(here)) >= 2:
            running.kill()
        time.sleep(0.001)
    assert here.end(running).code == -9


@pytest.mark.nightly
@pytest.mark.parametrize(("odd", "moment"), list(zip(ODD, itertools.cycle(("stored", "arrived")), strict=False)))
def test_killed_at_a_reply_in_an_odd_envelope_nothing_that_is_stored_is_paid_for_again(
    tmp_path: Path, odd: str, moment: str
) -> None:
    with world(tmp_path, REDRAFT_CONCURRENCY="1") as here:
        here.server._turns = itertools.repeat(lambda seen: enveloped(seen, ODD[odd]))
        killed(here, moment)
        kept, before = stored(here), len(here.server.seen)
        assert kept >= (2 if moment == "stored" else 1)
        assert here.runs()
        done = here.finished("hierarchical", tries=1)
        assert done.code == 0, done.err
        assert not done.trouble
        again = {identity(one) for one in here.server.seen[:before]} & {
            identity(one) for one in here.server.seen[before:]
        }
        assert len(again) == before - kept <= 1, "what was in flight is asked again, and nothing else"
        assert here._rows("SELECT count(*) FROM calls WHERE outcome = 'sent'") == [(0,)]
