"""The extractive judge of key facts, where the truth is known: by construction, and in sentences written by hand."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.keyfact_world import ERRORS, make
from benchmarks.keyfacts import Confusion, judged, worlds
from redraft.builtin.facts.aligning import align_facts
from redraft.builtin.facts.verifying import verify_sentences
from redraft.prompts.contract import UNSURE
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


@pytest.mark.slow
def test_what_is_said_of_facts_is_so_where_it_is_known() -> None:
    assert of_worlds().aligned("yes") >= 0.8
    assert of_worlds().aligned("no") >= 0.9


@pytest.mark.slow
def test_what_is_said_of_sentences_is_so_where_it_is_known() -> None:
    assert of_worlds().cleared >= 0.9
    assert of_worlds().accused >= 0.9


@pytest.mark.slow
def test_something_is_said_and_of_reworded_sentences_mostly_nothing() -> None:
    facts, sentences = of_worlds().unsure
    assert 0.2 < facts < 0.8
    assert 0.5 < sentences < 0.9


def test_the_worlds_have_every_error_and_every_answer() -> None:
    found = of_worlds()
    assert {error for error, _ in found.errors} == {*ERRORS, ""}
    known = [sum(count for (so, _), count in found.alignment.items() if so == answer) for answer in ("yes", "no")]
    assert min(known) > 50


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


REWORDED = [
    "The mill was purchased by Jonas Brandt in 1911.",
    "Jonas Brandt bought the mill from Marta Kovel for three hundred crowns.",
    "Kovel had owned the mill for 12 years, and Brandt did not pay the whole sum.",
    "Brandt journeyed to Vienna with Emil.",
    "The child was baptised by Pastor Lindt in June 1912.",
    "Pastor Lindt was accused of neglect by Mrs. Aldous.",
    # Whether it is so in other words, or not, nobody can tell by the words.
    "Marta Kovel painted portraits of sailors and feared the sea.",
    "Mrs. Aldous acquitted the pastor of neglect.",
]
WRONG = [
    ("Marta Kovel sold the mill at Orlow to Emil Brandt for 300 crowns.", "entity"),
    ("In the spring of 1911 Marta Kovel sold the mill for 500 crowns.", "entity"),
    ("Pastor Lindt baptised the child on 9 June 1912.", "entity"),
    ("Clara Kovel sold the mill at Orlow to Jonas Brandt.", "entity"),
    ("Emil Roth sold the mill at Orlow for 900 crowns.", "entity"),
    ("Brandt paid the whole sum.", "relation"),
    ("She had not owned it for twelve years.", "relation"),
    ("The wedding of two cousins ended after quarrels about horses.", "out_of_article"),
]


@pytest.mark.parametrize("sentence", REWORDED)
def test_of_other_words_nothing_is_said(sentence: str) -> None:
    assert verified(sentence).category == UNSURE


@pytest.mark.parametrize(("sentence", "category"), WRONG)
def test_an_error_has_its_category(sentence: str, category: str) -> None:
    assert verified(sentence).category == category


def test_a_sentence_of_the_passages_is_right_to_the_letter() -> None:
    for passage in PASSAGES:
        for sentence in passage.split(". "):
            assert verified(f"{sentence.rstrip('.')}.").category == "none"


def test_the_reason_names_what_differs_and_the_quote_is_to_the_letter() -> None:
    found = verified("In the spring of 1911 Marta Kovel sold the mill for 500 crowns.")
    assert found.reason == "The sentence has “500”, the passages have “300”."
    assert found.quote == PASSAGES[0].partition(". ")[0] + "."


def test_nothing_is_quoted_where_nothing_is_close() -> None:
    assert verified("Zebras dislike umbrellas.").quote == ""


FACT = "Marta Kovel sold the mill to Jonas Brandt for 300 crowns in 1911."


@pytest.mark.parametrize(
    "sentence",
    [
        "In 1911, the mill was sold to Jonas Brandt by Marta Kovel for 300 crowns.",
        "Marta Kovel sold the old mill to Jonas Brandt for three hundred crowns in the spring of 1911, and she wept.",
    ],
)
def test_a_fact_is_stated_in_nearly_its_own_words(sentence: str) -> None:
    assert stated(FACT, "The river was high.", sentence) == ("yes", [2])


@pytest.mark.parametrize(
    "sentence",
    [
        "Marta Kovel sold the mill to Jonas Brandt for 400 crowns in 1911.",
        "Marta Kovel sold the mill to Emil Brandt for 300 crowns in 1911.",
        "Jonas Brandt sold the mill to Marta Kovel for 300 crowns in 1911.",
        "Marta Kovel never sold the mill to Jonas Brandt for 300 crowns in 1911.",
        "The river was high.",
    ],
)
def test_a_fact_that_is_otherwise_or_not_there_is_not_stated(sentence: str) -> None:
    assert stated(FACT, sentence) == ("no", [])


@pytest.mark.parametrize(
    "sentence",
    [
        "Jonas Brandt purchased the mill from Marta Kovel for three hundred crowns in 1911.",
        "Marta Kovel and Jonas Brandt met in Orlow in 1911.",
        "Marta Kovel sold the mill.",
    ],
)
def test_whether_a_fact_is_stated_in_part_or_in_other_words_is_left_open(sentence: str) -> None:
    assert stated(FACT, sentence) == ("unsure", [])


def test_a_summary_in_other_words_throughout_is_not_said_to_lack_anything() -> None:
    said = ("A widow parted with her property on the river.", "The buyer never settled what he owed to Kovel.")
    assert stated("Jonas Brandt owed Kovel a hundred crowns.", *said) == ("unsure", [])
    beside = "A widow parted with her property on the river."
    sentences = [Statement(id=number, sentence=sentence) for number, sentence in enumerate(said, 1)]
    facts = [Fact(id=1, fact="Jonas Brandt travelled to Vienna in May with Kovel."), Fact(id=2, fact=beside)]
    both = align_facts(AlignGiven(sentences=sentences, facts=facts)).facts
    assert [one.stated for one in both] == ["no", "yes"]


def test_a_fact_may_follow_from_two_sentences() -> None:
    summary = ("It was in 1911.", "Marta Kovel sold the mill to Jonas Brandt.", "She got 300 crowns in 1911.")
    assert stated(FACT, *summary) == ("yes", [2, 3])


def test_every_fact_is_in_a_summary_that_copies_it_and_none_in_no_summary() -> None:
    facts = make(1).facts
    for number, fact in enumerate(facts, 1):
        assert stated(fact, *facts) == ("yes", [number])
        assert stated(fact) == ("no", [])
