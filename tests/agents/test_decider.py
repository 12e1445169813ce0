"""What whoever decides is told of each finding."""

from __future__ import annotations

from redraft.agents.decider import _attempt, _option
from redraft.domain import Finding, Round


def test_a_judges_reason_is_no_answer_of_the_document() -> None:
    reason = Finding("faithfulness", "entity", "correct", "Not so.", sentence="Bob came.", expected="It was Tom.")
    answer = Finding("consistency", "entity", "correct", "Not so.", sentence="B.", question="Who?", expected="Tom")
    missing = Finding("keyfact_recall", "missing", "add", "Say it.", expected="Tom came.")
    options = [_option(1, one) for one in (reason, answer, missing)]
    assert [(one.answer, one.why) for one in options] == [("", "It was Tom."), ("Tom", ""), ("Tom came.", "")]


def test_what_a_person_asked_for_is_told_in_words() -> None:
    made = Round(1, "d", "b", ("review", "coverage"), ("f",), True, "requested by a person")
    assert _attempt(made).startswith("Revision 1, for a person's requests and coverage, 1 finding: accepted")
