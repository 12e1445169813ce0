"""The consistency check: names, numbers, opposites, and the share of word pairs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.trust import swaps
from redraft.builtin.judge import answer_from_document, compare_answers, verify_sentences
from redraft.llm.nli import NOT_SO, claims_asked
from redraft.prompts.contract import UNSURE
from redraft.prompts.factual import VerifyInput
from redraft.prompts.qa import (
    AnswerFromDocumentInput,
    AskSummaryInput,
    CompareInput,
    DocumentAnswer,
    Pair,
    QuestionItem,
    Statement,
    SummaryLine,
)
from redraft.text.words import count_words
from tests.builtin.support import STORY, checks, faults, sample, split
from tests.text.hostile import raw_texts


def _answers(texts: list[str], summary: list[str]) -> list[DocumentAnswer]:
    """What a document answers to the claims of a summary."""
    lines = [SummaryLine(id=number, sentence=sentence) for number, sentence in enumerate(summary)]
    claims = claims_asked(AskSummaryInput(sentences=lines, at_most=3)).sentences
    questions = [QuestionItem(id=claim.id, question=claim.questions[0].question) for claim in claims]
    return answer_from_document(AnswerFromDocumentInput(passages=texts, questions=questions)).answers


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(raw_texts, min_size=1, max_size=4), st.data())
def test_copied_text_has_no_fault(texts: list[str], data: st.DataObject) -> None:
    copied = [sentence for text in texts for sentence in split(text)]
    assert faults(texts, data.draw(st.lists(st.sampled_from(copied), max_size=4)) if copied else []) == set()


def test_similar_sentences_are_distinguished() -> None:
    text = "The price of salt was 3 pounds in May. The price of salt was 5 pounds in June. Ada met Bo. Ada met Cy."
    assert [(checked.share, checked.verdict) for checked in checks([text], split(text))] == [(1.0, "supported")] * 4
    assert faults([], split(STORY)) == set(range(len(split(STORY)))), "an empty text supports nothing"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Hester Vane came to the island of Skye on Monday, 3 March 1924.", "Sarn"),
        ("Hester Vane came to the island of Sarn on Monday, 3 March 1926.", "Monday, 3 March 1924"),
        ("The carrier Edgar Harrow had driven the cart over the causeway since he was nineteen.", "Tobias Wren"),
        ("The carrier Tobias Wren had driven the cart over the causeway since he was twenty.", "nineteen"),
        ("Matthias Crane stole the money.", NOT_SO),
        ("Mr. Harrow did repay the loan until September.", NOT_SO),
        ("In November 1902 the Long Bank broke.", "November 1901"),
        ("Robert Louis Stevenson invented the steam engine in Glasgow.", ""),
        ("The price of the saltworks was £75,000.", ""),
        ("The ledger was not hidden in the lighthouse because nobody looked there.", NOT_SO),
        ("Ruth Crane never kept her father's notebook for twenty-two years.", NOT_SO),
        ("The Northern Alkali Company offered £81,500 for the saltworks.", "18,500"),
    ],
)
def test_document_answers_with_its_detail(wrong: str, right: str) -> None:
    (answer,) = _answers([STORY], [wrong])
    assert (answer.answer, answer.answered, answer.share) == (right, bool(right), None)
    assert bool(answer.quote) == bool(right)


def test_reworded_sentence_has_no_fault() -> None:
    sentence = "He was a man of few words."
    (answer,) = _answers([STORY], [sentence])
    assert (answer.answer, answer.answered) == (sentence, True)
    assert 0 < (answer.share or 0) < 0.5


@pytest.mark.parametrize(
    ("fair", "share"),
    [
        ("Hester Vane came to Sarn on Monday, 3 March 1924.", 0.7),
        ("Tobias Wren had driven the cart since he was 19.", 0.7),
        ("Matthias Crane never stole the money.", 1.0),
        ("In November 1901 the Long Bank broke and 19 people drowned.", 1.0),
    ],
)
def test_shortened_sentence_has_most_pairs(fair: str, share: float) -> None:
    (checked,) = checks([STORY], [fair])
    assert checked.verdict == "supported"
    assert checked.share >= share


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["name", "number", "negation added", "negation removed"])
def test_swap_is_found_in_its_sentence(kind: str) -> None:
    """In a summary of the document's own sentences, one of which has been falsified."""
    chance = random.Random(kind)
    text = sample()[:40_000]
    copied = [sentence for sentence in split(text) if count_words(sentence) > 5]
    names = ["Hester Vane", "Tobias Wren", "Ruth Crane", "Isaac Thorne", "Wickmouth", "Sarn", "Harrow", "Norwich"]
    wrong = [new for _, swapped, new in swaps(copied, chance, names) if swapped == kind]
    assert len(wrong) > 20
    missed = [new for n, new in enumerate(wrong) if n not in faults([text], wrong)]
    assert len(missed) <= 0.05 * len(wrong), missed


def test_other_questions_are_left_open() -> None:
    claim = claims_asked(AskSummaryInput(sentences=[SummaryLine(id=1, sentence="Ada rowed.")], at_most=1))
    pairs = [
        Pair(id=1, question=claim.sentences[0].questions[0].question, document="Bo", summary="Ada rowed."),
        Pair(id=2, question="Who rowed?", document="Bo", summary="Ada"),
    ]
    assert [comparison.verdict for comparison in compare_answers(CompareInput(pairs=pairs)).comparisons] == [
        "contradicts",
        "unclear",
    ]
    inputs = AnswerFromDocumentInput(passages=[STORY], questions=[QuestionItem(id=1, question="Who rowed?")])
    assert answer_from_document(inputs).answers[0].answered == UNSURE


def test_wrong_sentence_has_category_and_quote() -> None:
    summary = [
        "Hester Vane came to the island of Skye on Monday, 3 March 1924.",
        "Matthias Crane stole the money.",
        "Robert Louis Stevenson invented the steam engine.",
        split(STORY)[3],
        "The lighthouse was old.",
    ]
    inputs = VerifyInput(document=STORY, sentences=[Statement(id=n, sentence=text) for n, text in enumerate(summary)])
    verified = verify_sentences(inputs).sentences
    assert [verdict.category for verdict in verified] == ["entity", "relation", "out_of_article", "none", UNSURE]
    assert verified[0].quote == split(STORY)[0]
    assert "Skye" in verified[0].reason
    assert "Sarn" in verified[0].reason
