"""Labels in other words: synonyms and opposites are read on both sides, and what may mean either is no verdict."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.contract import synonyms
from redraft.prompts.factual import Alignment, FactAssessment, FactSupport, FactSupports, Verification, Verifications
from redraft.prompts.qa import Comparison, SummaryAnswers, yes_or_no
from redraft.prompts.tags import Tags
from tests.replies.prompts import CASES, Json

FINE: Json = {"reason": "It is so.", "quote": "", "category": "none"}


def read(name: str, shape: Any, *entries: Json) -> list[Any]:
    """The entries of a reply about the first items of a prompt."""
    case = CASES[name]
    tags = [entry["id"] for entry in case.clean[case.entries]]
    tagged = [{"id": tag} | entry for tag, entry in zip(tags, entries, strict=False)]
    return list(getattr(read_value(json.dumps({case.entries: tagged}), shape, case.given), case.entries))


@pytest.mark.parametrize(
    "label", [{"verdict": "none"}, {"error": "None"}, {"error_type": "no"}, {"levels": "none"}, {}]
)
def test_none_under_another_name_is_no_verdict(label: Json) -> None:
    entries = read("verify_sentences", Verifications, FINE, {"reason": ""} | label)
    assert [entry.id for entry in entries] == [1]
    with pytest.raises(NoValueError, match="category"):
        read("verify_sentences", Verifications, {"reason": ""} | label)


def test_fields_have_other_names() -> None:
    reply = {"explanation": "Ben, not Ann.", "error_type": "Entity Error"}
    (entry,) = read("verify_sentences", Verifications, reply)
    assert (entry.category, entry.reason, entry.quote) == ("entity", "Ben, not Ann.", "")


@pytest.mark.parametrize("label", ["partially", "yes and no", "none", "pass/fail", "pass?", None, 5])
def test_ambiguous_label_loses_its_entry(label: object) -> None:
    entries = read("facts_faithful", FactSupports, {"verdict": label}, {"verdict": "fail"})
    assert [(entry.id, entry.verdict) for entry in entries] == [(2, "fail")]


def test_answers_may_be_numbers_without_lists() -> None:
    replies = ({"answer": 1850}, {"answer": "UNANSWERABLE"}, {"answer": None})
    entries = read("answer_from_summary", SummaryAnswers, *replies)
    assert [(entry.answer, entry.sentences) for entry in entries] == [("1850", []), ("UNANSWERABLE", []), ("", [])]


def test_unreadable_entry_spoils_others_about_its_item() -> None:
    case = CASES["compare_answers"]
    tag = Tags(case.given).tag("pairs", 1)
    entries = [{"id": tag, "verdict": "full"}, {"id": tag, "verdict": "perhaps"}, case.clean["comparisons"][1]]
    value = read_value(json.dumps({"comparisons": entries}), case.prompt.returns, case.given)
    assert [entry.id for entry in value.comparisons] == [2]


GOOD = {
    "facts_faithful": ("verdict", ("pass", "Supported", "faithful", "yes")),
    "facts_objective": ("verdict", ("pass", "objective", "true")),
    "align_facts": ("stated", ("yes", "stated", "supported", "ja")),
    "verify_sentences": ("category", ("none", "supported", "No error", "faithful")),
    "compare_answers": ("verdict", ("full", "complete")),
    "judge_answers": ("verdict", ("right", "correct")),
    "rule_on_findings": ("verdict", ("supported", "implied")),
}
DENIALS = ("❌ {}", "{} ❌", "✗{}", "!{}", "¬{}", "🚫 **{}**", "not: {}", "no, {}", "NOT {} at all", "👎 {}")


@pytest.mark.parametrize("denial", DENIALS)
@pytest.mark.parametrize("name", GOOD)
def test_denied_label_is_no_pass(name: str, denial: str) -> None:
    case, (field, labels) = CASES[name], GOOD[name]
    for label in labels:
        entries = [{"reason": "", field: denial.format(label)}, {"reason": "", field: f"✅ {label}"}]
        verdicts = {entry.id: getattr(entry, field) for entry in read(name, case.prompt.returns, *entries)}
        assert verdicts.get(1) != verdicts[2], label


@pytest.mark.parametrize("label", ["✅ unsupported", "✓ fail"])
def test_tick_at_a_bad_label_is_ignored(label: str) -> None:
    entries = read("facts_faithful", FactSupports, {"verdict": label}, {"verdict": "✅ pass"})
    assert [(entry.id, entry.verdict) for entry in entries] == [(2, "pass")]


@pytest.mark.parametrize("label", ["fail", "unsupported", "no"])
def test_cross_at_a_bad_label(label: str) -> None:
    (entry,) = read("facts_faithful", FactSupports, {"reason": "", "verdict": f"❌ {label}"})
    assert entry.verdict == "fail"
    (entry,) = read("verify_sentences", Verifications, FINE | {"category": "❌ Entity error"})
    assert entry.category == "entity"


@pytest.mark.parametrize("denial", [{"types": ["❌ no confusion"]}, {"types": [], "questions": ["❌ no confusion"]}])
def test_denied_no_confusion_is_no_verdict(denial: Json) -> None:
    shape = CASES["find_confusion"].prompt.returns
    entries = read("find_confusion", shape, {"questions": []} | denial, {"questions": [], "types": ["✅ no confusion"]})
    assert {entry.id: entry.is_confusing for entry in entries} in ({2: False}, {1: None, 2: False})


def test_denied_yes_is_none() -> None:
    assert [yes_or_no(answer) for answer in ("❌ yes", "✅ yes", "Yes!", "yes, it does")] == [None, "yes", "yes", "yes"]


@pytest.mark.parametrize(
    ("table", "good"),
    [("verdict", "full"), ("pass", "pass"), ("support", "pass"), ("stated", "yes"), ("category", "none")],
)
def test_bad_labels_have_as_many_synonyms(table: str, good: str) -> None:
    count = Counter(label == good for label in synonyms(table).values())
    assert count[False] >= count[True] > 0


@pytest.mark.parametrize(
    ("model", "field", "label", "meaning"),
    [
        *((Verification, "category", label, "none") for label in ("supported", "faithful", "accurate", "correct")),
        *(
            (Verification, "category", label, "sentence")
            for label in ("unfaithful", "inaccurate", "incorrect", "wrong")
        ),
        *(
            (Verification, "category", label, "out_of_article")
            for label in ("unsupported", "not supported", "hallucination", "Fabricated.", "Not mentioned")
        ),
        *((FactSupport, "verdict", label, "pass") for label in ("Supported", "faithful", "accurate", "PASSED")),
        *(
            (FactSupport, "verdict", label, "fail")
            for label in ("unsupported", "not supported", "unfaithful", "fails.")
        ),
        *((FactSupport, "verdict", label, "fail") for label in ("inaccurate", "incorrect", "wrong", "fabricated")),
        *((FactAssessment, "verdict", label, "pass") for label in ("yes", True)),
        *((FactAssessment, "verdict", label, "fail") for label in ("no", False)),
        *((Alignment, "stated", label, "yes") for label in ("implied", "inferred")),
        *((Alignment, "stated", label, "no") for label in ("not inferred", "absent")),
        *((Comparison, "verdict", label, "contradicts") for label in ("not consistent", "inconsistent", "disagrees")),
    ],
)
def test_synonyms_are_read(model: Any, field: str, label: object, meaning: str) -> None:
    entry = model.model_validate({"id": 1, "reason": "r", "quote": "", "sentences": [], field: label})
    assert getattr(entry, field) == meaning
