"""The extractive judge of key facts, where the truth is known: by construction, and in sentences written by hand."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.keyfact_world import ERRORS, make
from benchmarks.keyfacts import Confusion, judged, worlds
from redraft.builtin.facts.aligning import align_facts
from redraft.builtin.facts.verifying import verify_sentences
from redraft.prompts.factual import AlignGiven, Fact, Verification, VerifyGiven
from redraft.prompts.judging import Statement

PASSAGES = [
    "In the spring of 1911 Marta Kovel sold the mill at Orlow to Jonas Brandt for 300 crowns. She had owned it for "
    "twelve years. The river was high that week.",
    "Brandt never paid the whole sum. He travelled to Vienna in May with his brother Emil, and Emil fell ill there.",
    "Pastor Lindt baptised the child on 3 June 1912. Mrs. Aldous accused the pastor of neglect.",
]


@cache
def of_worlds() -> Confusion:
    return judged(worlds("developed on", 12))


def verified(sentence: str, before: str = "") -> Verification:
    statement = Statement(id=7, before=before, sentence=sentence)
    return verify_sentences(VerifyGiven(passages=PASSAGES, sentences=[statement])).sentences[0]


def stated(fact: str, *summary: str) -> tuple[str, list[int]]:
    sentences = [Statement(id=number, sentence=sentence) for number, sentence in enumerate(summary, 1)]
    one = align_facts(AlignGiven(sentences=sentences, facts=[Fact(id=3, fact=fact)])).facts[0]
    assert one.id == 3
    return one.stated, one.sentences


def test_which_facts_are_stated_is_seen_where_it_is_known() -> None:
    assert of_worlds().aligned >= 0.9


def test_which_sentences_are_wrong_is_seen_where_it_is_known() -> None:
    assert of_worlds().verified >= 0.9


def test_what_is_wrong_is_seen_where_it_is_known() -> None:
    assert of_worlds().categorized >= 0.75


def test_the_worlds_have_every_error_and_every_answer() -> None:
    found = of_worlds()
    assert {error for error, _ in found.errors} == {*ERRORS, ""}
    assert min(sum(found.alignment[so, say] for say in (True, False)) for so in (True, False)) > 50


def test_a_world_is_the_same_again() -> None:
    assert make(3) == make(3) != make(4)


def test_the_halves_share_no_name() -> None:
    names = [
        {word for word in make(5, half).document.split() if word.istitle()} for half in ("developed on", "held out")
    ]
    people = [
        {word for fact in make(5, half).facts for word in fact.split()[:2]} for half in ("developed on", "held out")
    ]
    assert all(names)
    assert not people[0] & people[1]


RIGHT = [
    "Marta Kovel sold the mill to Jonas Brandt.",
    "The mill was purchased by Jonas Brandt in 1911.",
    "Jonas Brandt bought the mill from Marta Kovel for three hundred crowns.",
    "Kovel had owned the mill for 12 years, and Brandt did not pay the whole sum.",
    "Brandt journeyed to Vienna with Emil.",
    "The child was baptised by Pastor Lindt in June 1912.",
    "Pastor Lindt was accused of neglect by Mrs. Aldous.",
]
WRONG = [
    ("Marta Kovel sold the mill to Emil Roth.", "entity"),
    ("Marta Kovel sold the mill for 500 crowns.", "entity"),
    ("Clara Kovel sold the mill at Orlow to Jonas Brandt.", "entity"),
    ("Pastor Lindt baptised the child on 9 June 1912.", "entity"),
    ("Jonas Brandt sold the mill to Marta Kovel.", "relation"),
    ("Marta Kovel bought the mill at Orlow for 300 crowns.", "relation"),
    ("Brandt paid the whole sum.", "relation"),
    ("Brandt travelled from Vienna in May.", "relation"),
    ("Mrs. Aldous acquitted the pastor of neglect.", "relation"),
    ("Marta Kovel painted portraits of sailors and feared the sea.", "out_of_article"),
    ("The wedding of the two cousins ended in a quarrel about a horse.", "out_of_article"),
    ("Emil Roth sold the mill at Orlow for 900 crowns.", "sentence"),
]


@pytest.mark.parametrize("sentence", RIGHT)
def test_other_words_for_the_same_are_no_error(sentence: str) -> None:
    assert verified(sentence).category == "none"


@pytest.mark.parametrize(("sentence", "category"), WRONG)
def test_an_error_has_its_category(sentence: str, category: str) -> None:
    assert verified(sentence).category == category


def test_a_sentence_of_the_passages_is_right_to_the_letter() -> None:
    for passage in PASSAGES:
        for sentence in passage.split(". "):
            assert verified(f"{sentence.rstrip('.')}.").category == "none"


def test_the_reason_names_what_differs_and_the_quote_is_to_the_letter() -> None:
    found = verified("Marta Kovel sold the mill for 500 crowns.")
    assert found.reason == "The sentence has “500”, the passages have “300”."
    assert found.quote == PASSAGES[0].partition(". ")[0] + "."


def test_nothing_is_quoted_where_nothing_is_close() -> None:
    assert verified("Zebras dislike umbrellas.").quote == ""


def test_a_pronoun_stands_for_whom_the_sentence_points_back_to() -> None:
    assert verified("She sold the mill to Jonas Brandt.", before="Marta Kovel was a widow.").category == "none"
    assert verified("He sold the mill at Orlow.", before="Emil Brandt was a rich man.").category != "none"


def test_pieces_copied_from_here_and_there_are_no_sentence_of_the_passages() -> None:
    passages = [
        "The harbour master of Wexford closed the inner quay on Tuesday after a fire in the grain store. "
        "Engineers from Dublin inspected the crane and found it safe.",
        "The festival opened on Friday with a concert by the city orchestra. Ten thousand visitors filled the square "
        "in front of the town hall.",
    ]
    joined = "The harbour master of Wexford closed the inner quay with a concert by the city orchestra."
    given = VerifyGiven(passages=passages, sentences=[Statement(id=1, sentence=joined)])
    found = verify_sentences(given).sentences[0]
    assert (found.category, found.reason) == ("relation", "The sentence joins what stands apart in the passages.")


FACT = "Marta Kovel sold the mill to Jonas Brandt for 300 crowns in 1911."


@pytest.mark.parametrize(
    "sentence",
    [
        "In 1911, the mill was sold to Jonas Brandt by Marta Kovel for 300 crowns.",
        "Jonas Brandt purchased the mill from Marta Kovel for three hundred crowns in 1911.",
        "Kovel sold the old mill to Brandt for 300 crowns in the spring of 1911, and she wept.",
    ],
)
def test_a_fact_is_stated_in_other_words(sentence: str) -> None:
    assert stated(FACT, "The river was high.", sentence) == ("yes", [2])


@pytest.mark.parametrize(
    "sentence",
    [
        "Marta Kovel sold the mill to Jonas Brandt for 400 crowns in 1911.",
        "Marta Kovel sold the mill to Emil Brandt for 300 crowns in 1911.",
        "Jonas Brandt sold the mill to Marta Kovel for 300 crowns in 1911.",
        "Marta Kovel never sold the mill to Jonas Brandt for 300 crowns in 1911.",
        "Marta Kovel and Jonas Brandt met in Orlow in 1911.",
        "Marta Kovel sold the mill.",
        "The river was high.",
    ],
)
def test_a_fact_that_is_otherwise_or_only_in_part_is_not_stated(sentence: str) -> None:
    assert stated(FACT, sentence) == ("no", [])


def test_a_fact_may_follow_from_two_sentences() -> None:
    summary = ("Marta Kovel was a widow.", "She sold the mill to Jonas Brandt for 300 crowns.", "That was in 1911.")
    assert stated(FACT, *summary) == ("yes", [2, 3])


def test_every_fact_is_in_a_summary_that_copies_it_and_none_in_no_summary() -> None:
    facts = make(1).facts
    for number, fact in enumerate(facts, 1):
        assert stated(fact, *facts) == ("yes", [number])
        assert stated(fact) == ("no", [])
