"""A rubric, a metric that is stated in a sentence: python examples/embed/rubric.py

A rubric needs a language model as judge: set REDRAFT_JUDGE, for example to openai:gpt-5-mini. Without it, a stand-in
that knows two phrases shows what happens.
"""

from __future__ import annotations

import os
from typing import Any

import redraft

PLAIN_TONE = redraft.Rubric("plain_tone", "Written for a reader without legal training", levels=5)
LEASE = redraft.Document.from_text(
    "The tenant pays the rent on the first of the month. If the tenant is late by ten days, the landlord may end the"
    " lease. The tenant may keep a cat and no dog. The deposit is two months' rent.",
    "Lease",
)
SUMMARY = (
    "The lessee shall remit the rent monthly. In the event of default, the lease may be terminated forthwith."
    " A cat is allowed."
)


def stand_in(request: redraft.Request[Any, Any]) -> Any:
    """Answer as a judge: with a level, and with the passages that fall short."""
    phrases = [one for one in ("shall remit", "in the event of default") if one in request.given.summary.lower()]
    faults = [{"quote": phrase, "problem": "A lawyer's phrase."} for phrase in phrases]
    reason = "Two of three sentences are legal language." if phrases else "All of it is plain."
    return request.prompt.returns.model_validate({"faults": faults, "reason": reason, "level": 5 - len(phrases)})


def main() -> None:
    judge = os.environ.get("REDRAFT_JUDGE") or redraft.testing.FunctionModel(stand_in, "stand-in")
    result = redraft.evaluate(LEASE, SUMMARY, store=":memory:", judges=[judge], metrics=[PLAIN_TONE])
    print("plain_tone", result.scores["plain_tone"], "-", result.judged_by["plain_tone"])
    for finding in result.evaluations["plain_tone"].findings:
        print(f"- {finding.sentence} {finding.why}")


if __name__ == "__main__":
    main()
