"""No list of findings asks for what it forbids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redraft.domain import Evaluation, Evidence, Finding, Span
from redraft.evaluators.coverage import wrong_sentence
from redraft.evaluators.panel import without_conflicts
from redraft.prompts.qa import Statement, SummaryAnswer

QUOTE = Evidence("He hid the ledger in the lighthouse.", Span(10, 46))
ADD = Finding(
    "coverage", "unanswered", "add", "x", question="Where did Crane hide the ledger?", expected="in the lighthouse",
    evidence=QUOTE,
)  # fmt: skip
REMOVE = Finding(
    "consistency", "unsupported", "remove", "x", sentence="It lay in the lighthouse.",
    question="Where did Crane hide the ledger of 1901?", found="In the lighthouse.",
)  # fmt: skip


def judged(*findings: Finding) -> dict[str, Evaluation]:
    coverage = Evaluation("coverage", 1, "scored", 0.5, 2, 0, tuple(one for one in findings if one.task == "add"))
    others = tuple(one for one in findings if one.task != "add")
    return {"coverage": coverage, "consistency": Evaluation("consistency", 1, "scored", 0.75, 4, 0, others)}


def test_what_one_wants_added_no_other_wants_removed() -> None:
    other = replace(REMOVE, question="Who came?", found="Ann")
    found = without_conflicts(judged(ADD, REMOVE, other))
    assert list(found) == ["consistency"]
    assert found["consistency"].findings == (other,)
    assert found["consistency"].score == 1.0


@pytest.mark.parametrize(
    ("add", "remove"),
    [
        (replace(ADD, evidence=None), REMOVE),
        (replace(ADD, expected="in the cellar"), REMOVE),
        (replace(ADD, question="Who was born there?"), REMOVE),
        (ADD, replace(REMOVE, task="correct")),
    ],
)
def test_whatever_is_not_about_the_same_stays(add: Finding, remove: Finding) -> None:
    assert without_conflicts(judged(add, remove)) == {}


def test_a_key_fact_is_not_to_be_added_where_it_is_to_be_removed() -> None:
    fact = Finding("keyfact_recall", "missing root", "add", "x", expected="Crane hid it.", evidence=QUOTE)
    said = Finding("faithfulness", "out_of_article", "remove", "x", sentence="Crane hid it.", value=0.5)
    assert without_conflicts(judged(fact, said))["consistency"].score == 0.875


def test_a_contradiction_names_the_sentence_that_holds_the_wrong_words() -> None:
    told = ("Ruth came to Sarn.", "She found the ledger in the brewery.")
    statements = tuple(Statement(id=n, sentence=one) for n, one in enumerate(told, 1))
    answer = SummaryAnswer(id=1, sentences=[1, 2], answered=True, answer="in the brewery")
    assert wrong_sentence(statements, answer) == told[1]
