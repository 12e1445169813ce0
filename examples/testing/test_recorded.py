"""Recorded replies: the judge is asked once, and the tests are fast, free and the same everywhere.

    pytest --redraft-record examples/testing/test_recorded.py    asks the judge for what is not in the file
    pytest examples/testing/test_recorded.py                     never asks it

The judge is a stand-in for a language model. A name does as well: model="openai:gpt-5-mini".
"""

from __future__ import annotations

from typing import Any

import pytest

import redraft

PLAIN_TONE = redraft.Rubric("plain_tone", "Written for a reader without legal training")
LEASE = redraft.Document.from_text(
    "The tenant pays the rent on the first of the month. If the tenant is late by ten days, the landlord may end the"
    " lease. The tenant may keep a cat and no dog.",
    "Lease",
)


def judged(request: redraft.Request[Any, Any]) -> Any:
    """Answer as a judge does, with a level."""
    level = 1 if "lessee" in request.given.summary else 5
    return request.prompt.returns.model_validate({"faults": [], "reason": "", "level": level})


recorded = pytest.mark.redraft(model=redraft.testing.FunctionModel(judged, "stand-in"), recording="judge.jsonl")


@recorded
def test_the_tone_is_plain() -> None:
    redraft.assert_summary(LEASE, "The rent is due on the first of each month.", metrics=[PLAIN_TONE], plain_tone=0.8)


@recorded
def test_legal_language_is_found() -> None:
    with pytest.raises(AssertionError, match=r"^plain_tone 0\.00, not 0\.80"):
        redraft.assert_summary(LEASE, "The lessee shall remit the rent.", metrics=[PLAIN_TONE], plain_tone=0.8)
