"""Labels that a model would write, and those that are no verdict: what is none of something is not the word none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.factual import FactSupports, Verifications
from redraft.prompts.qa import SummaryAnswers, yes_or_no
from redraft.prompts.tags import Tags
from tests.replies.prompts import CASES, Json


def read(name: str, shape: Any, *entries: Json) -> list[Any]:
    """The entries of a reply about the first items of a prompt."""
    case = CASES[name]
    tags = [one["id"] for one in case.clean[case.entries]]
    said = [{"id": tag} | one for tag, one in zip(tags, entries, strict=False)]
    return list(getattr(read_value(json.dumps({case.entries: said}), shape, case.given), case.entries))


FINE: Json = {"reason": "It is so.", "quote": "", "category": "none"}


@pytest.mark.parametrize("said", [{"verdict": "none"}, {"error": "None"}, {"error_type": "no"}, {"levels": "none"}, {}])
def test_none_under_another_name_is_no_verdict(said: Json) -> None:
    assert [one.id for one in read("verify_sentences", Verifications, FINE, {"reason": ""} | said)] == [1]
    with pytest.raises(NoValueError, match="category"):
        read("verify_sentences", Verifications, {"reason": ""} | said)


def test_a_label_under_another_name_is_one() -> None:
    found = read("verify_sentences", Verifications, {"explanation": "Ben, not Ann.", "error_type": "Entity Error"})
    assert [(one.category, one.reason, one.quote) for one in found] == [("entity", "Ben, not Ann.", "")]


@pytest.mark.parametrize(
    ("said", "verdict"), [("Supported", "pass"), ("PASSED", "pass"), ("not supported", "fail"), ("fails.", "fail")]
)
def test_a_fact_passes_in_other_words(said: str, verdict: str) -> None:
    assert [one.verdict for one in read("facts_faithful", FactSupports, {"reason": "", "verdict": said})] == [verdict]


@pytest.mark.parametrize("said", ["partially", "yes and no", "none", "pass/fail", "pass?", None, 5])
def test_what_may_mean_either_loses_that_entry_alone(said: object) -> None:
    found = read("facts_faithful", FactSupports, {"verdict": said}, {"verdict": "fail"})
    assert [(one.id, one.verdict) for one in found] == [(2, "fail")]


@pytest.mark.parametrize("said", ["❌ supported", "✗ pass", "pass ❌", "✅ unsupported", "✓ fail"])
def test_a_sign_that_says_the_opposite_leaves_no_verdict(said: str) -> None:
    found = read("facts_faithful", FactSupports, {"verdict": said}, {"verdict": "❌ fail"}, {"verdict": "✅ pass"})
    assert [(one.id, one.verdict) for one in found] == [(2, "fail"), (3, "pass")]
    others = read("verify_sentences", Verifications, {"category": "❌ supported"}, FINE, {"category": "✅ none"})
    assert [(one.id, one.category) for one in others] == [(2, "none"), (3, "none")]


def test_an_answer_may_be_a_number_and_lack_its_lists() -> None:
    found = read("answer_from_summary", SummaryAnswers, {"answer": 1850}, {"answer": "UNANSWERABLE"}, {"answer": None})
    assert [(one.answer, one.sentences) for one in found] == [("1850", []), ("UNANSWERABLE", []), ("", [])]


def test_the_name_of_an_item_is_all_that_an_entry_needs_to_be_lost_by() -> None:
    """What is said of an item in one entry is not believed where another on it cannot be read."""
    case = CASES["compare_answers"]
    tag = Tags(case.given).tag("pairs", 1)
    said = [{"id": tag, "verdict": "full"}, {"id": tag, "verdict": "perhaps"}, case.clean["comparisons"][1]]
    value = read_value(json.dumps({"comparisons": said}), case.prompt.returns, case.given)
    assert [one.id for one in value.comparisons] == [2]


GOOD = {
    "facts_faithful": ("verdict", ("pass", "Supported", "faithful", "yes")),
    "facts_objective": ("verdict", ("pass", "objective", "true")),
    "align_facts": ("stated", ("yes", "stated", "supported", "ja")),
    "verify_sentences": ("category", ("none", "supported", "No error", "faithful")),
    "compare_answers": ("verdict", ("full", "complete")),
    "judge_answers": ("verdict", ("right", "correct")),
    "rule_on_findings": ("verdict", ("supported", "implied")),
}
DENIED = ("❌ {}", "✗ {}", "❌{}", "{} ❌", "!{}", "¬{}", "🚫 **{}**", "not: {}", "no, {}", "NOT {} at all", "👎 {}")


@pytest.mark.parametrize("how", DENIED)
@pytest.mark.parametrize("name", GOOD)
def test_a_word_that_is_denied_by_a_sign_or_a_word_is_no_pass(name: str, how: str) -> None:
    case, (field, words) = CASES[name], GOOD[name]
    for word in words:
        said = [{field: how.format(word)}, {field: f"✅ {word}"}]
        found = read(name, case.prompt.returns, *({"reason": ""} | one for one in said))
        verdicts = {one.id: getattr(one, field) for one in found}
        assert verdicts.get(1) != verdicts[2], word


def test_a_cross_beside_a_word_against_it_is_that_word() -> None:
    for word in ("fail", "unsupported", "no"):
        (found,) = read("facts_faithful", FactSupports, {"reason": "", "verdict": f"❌ {word}"})
        assert found.verdict == "fail"
    (found,) = read("verify_sentences", Verifications, FINE | {"category": "❌ Entity error"})
    assert found.category == "entity"


@pytest.mark.parametrize("said", [{"types": ["❌ no confusion"]}, {"types": [], "questions": ["❌ no confusion"]}])
def test_no_confusion_that_is_denied_is_no_verdict(said: Json) -> None:
    shape = CASES["find_confusion"].prompt.returns
    found = read("find_confusion", shape, {"questions": []} | said, {"questions": [], "types": ["✅ no confusion"]})
    assert {one.id: one.is_confusing for one in found} in ({2: False}, {1: None, 2: False})


def test_a_yes_that_is_crossed_out_is_none() -> None:
    assert [yes_or_no(one) for one in ("❌ yes", "✅ yes", "Yes!", "yes, it does")] == [None, "yes", "yes", "yes"]
