"""Summaries in a test suite: pytest examples/testing

With the marker, a test judges with redraft. Verdicts are kept in pytest's cache, so only what is new is judged again.
The built-in judge needs no key, and sees near-quotations only; `--redraft-model openai:gpt-5-mini` names another.
"""

from __future__ import annotations

import pytest

import redraft

MINUTES = redraft.Document.from_text(
    "The harbour board met on Tuesday at the Customs House. Edith Marlow was in the chair. The dredging cost eleven"
    " hundred pounds more than planned. The new crane will be delivered in March.",
    "Minutes",
)


def summarized() -> str:
    """Stands for the code under test."""
    return "The harbour board met on Tuesday at the Customs House. The new crane will be delivered in March."


def short(case: redraft.Case) -> bool:
    """The summary has at most 30 words."""
    return len(case.text.split()) <= 30


@pytest.mark.redraft
def test_the_summary_agrees_with_the_minutes() -> None:
    redraft.assert_summary(MINUTES, summarized(), metrics=[short], consistency=0.9)


def test_with_the_session(redraft_session: redraft.SyncSession) -> None:
    result = redraft_session.evaluate(MINUTES, "The crane will be delivered in May.", metrics=["consistency"])

    assert [finding.answer for finding in result.evaluations["consistency"].findings] == ["March"]
