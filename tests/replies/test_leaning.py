"""Other words for labels: a judge that has its own is read on both sides, or on none."""

from __future__ import annotations

from collections import Counter

import pytest

from redraft.prompts.factual import (
    _CATEGORIES,
    _PASSES,
    _STATED,
    _SUPPORTED,
    Alignment,
    FactAssessment,
    FactSupport,
    Verification,
)
from redraft.prompts.qa import _VERDICTS, Comparison

SETS = {
    "verdict of a comparison": (_VERDICTS, "full"),
    "verdict of a fact": (_PASSES, "pass"),
    "verdict on a fact's support": (_SUPPORTED, "pass"),
    "stated": (_STATED, "yes"),
    "category": (_CATEGORIES, "none"),
}


@pytest.mark.parametrize("name", SETS)
def test_what_speaks_against_has_as_many_readings_as_what_speaks_for(name: str) -> None:
    words, good = SETS[name]
    count = Counter(label == good for label in words.values())
    assert count[False] >= count[True] > 0


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("supported", "unsupported"),
        ("supported", "not supported"),
        ("faithful", "unfaithful"),
        ("accurate", "inaccurate"),
        ("correct", "incorrect"),
        ("correct", "wrong"),
        ("supported", "fabricated"),
    ],
)
def test_a_word_and_its_opposite_are_both_read(good: str, bad: str) -> None:
    def category(said: str) -> str:
        return Verification.model_validate({"id": 1, "reason": "r", "quote": "", "category": said}).category

    def support(said: str) -> str:
        return FactSupport.model_validate({"id": 1, "reason": "r", "quote": "", "verdict": said}).verdict

    assert (category(good), category(bad) != "none") == ("none", True)
    assert (support(good), support(bad)) == ("pass", "fail")


@pytest.mark.parametrize("said", ["unsupported", "not supported", "hallucination", "Fabricated.", "Not mentioned"])
def test_what_the_document_does_not_say_is_out_of_it(said: str) -> None:
    found = Verification.model_validate({"id": 1, "reason": "r", "quote": "", "category": said})
    assert found.category == "out_of_article"


@pytest.mark.parametrize(("said", "verdict"), [("yes", "pass"), (True, "pass"), ("no", "fail"), (False, "fail")])
def test_yes_and_no_are_verdicts_on_a_fact(said: object, verdict: str) -> None:
    assert FactAssessment.model_validate({"id": 1, "reason": "r", "verdict": said}).verdict == verdict


@pytest.mark.parametrize(
    ("said", "stated"), [("implied", "yes"), ("inferred", "yes"), ("not inferred", "no"), ("absent", "no")]
)
def test_what_can_be_inferred_is_stated(said: str, stated: str) -> None:
    assert Alignment.model_validate({"id": 1, "stated": said, "sentences": []}).stated == stated


@pytest.mark.parametrize("said", ["not consistent", "inconsistent", "conflict", "disagrees"])
def test_what_does_not_agree_contradicts(said: str) -> None:
    assert Comparison.model_validate({"id": 1, "reason": "r", "verdict": said}).verdict == "contradicts"
