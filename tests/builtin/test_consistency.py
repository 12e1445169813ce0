"""What the extractive judge finds consistent with a document, and what not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.common import stories
from benchmarks.trust_swaps import swaps
from redraft.builtin.questions import answer_from_document, ask_summary, ask_whether, read_claim
from redraft.prompts.qa import AnswerFromDocumentInput, AskSummaryInput, QuestionItem, SummaryLine
from redraft.text.words import count_words
from tests.builtin.support import STORY, UNANSWERABLE, UNDECIDED, consistency, found_in, judge, said, sample, split
from tests.text.hostile import raw_texts


def _questions(sentence: str, at_most: int = 3) -> list[str]:
    given_ = AskSummaryInput(sentences=[SummaryLine(id=7, sentence=sentence)], at_most=at_most)
    (entry,) = ask_summary(given_).sentences
    assert entry.id == 7
    return [question.answer for question in entry.questions]


def test_all_of_a_sentence_is_asked_about_just_once() -> None:
    sentence = split(STORY)[0]
    for at_most in range(1, 6):
        assert _questions(sentence, at_most) == [sentence]


@pytest.mark.parametrize("sentence", ["The clerk [sic] stole it.", "“Ada” met “Bo”.", "Is this so: “no”? he asked."])
def test_a_sentence_with_marks_of_its_own_is_read_as_it_was_written(sentence: str) -> None:
    assert read_claim(ask_whether(sentence)) == sentence


@pytest.mark.parametrize(
    "scrap",
    [
        "Chapter 1: The Causeway",
        "What Hester Found",
        "",
        "# The Causeway",
        "**The Causeway**",
        "---",
        "…",
        "The Causeway",
        "Who went?",
        "Gov.",
        "The of and.",
    ],
)
def test_what_claims_nothing_is_not_asked_about(scrap: str) -> None:
    assert _questions(scrap) == []


@pytest.mark.parametrize(
    "claim", ["He died.", "- Hester, book", "Hester finds the ledger in the tower", "今日は雨です。"]
)
def test_what_claims_something_is(claim: str) -> None:
    assert len(_questions(claim)) == 1


def test_nothing_is_asked_when_nothing_may_be() -> None:
    assert _questions(split(STORY)[0], 0) == []


def _verbatim(passages: list[str], summary: list[str]) -> None:
    for verdict in judge(passages, summary):
        assert verdict.document == verdict.summary, verdict
        assert any(verdict.quote in passage for passage in passages)


@pytest.mark.slow
def test_the_document_bears_itself_out() -> None:
    text = sample()[:40_000]
    _verbatim([text], split(text))


@pytest.mark.slow
@pytest.mark.skipif(not stories(), reason="needs $REDRAFT_DATA")
def test_every_story_bears_itself_out() -> None:
    for story in stories()[::12]:
        _verbatim([story["document"]], split(story["document"]))


def test_brackets_within_what_is_copied_change_nothing() -> None:
    text = "(The lamp went out. The lamp went out. The lamp went out. ]The lamp went out."
    _verbatim([text], [text])


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(raw_texts, min_size=1, max_size=4), st.data())
def test_whatever_is_copied_is_borne_out(passages: list[str], data: st.DataObject) -> None:
    said = [sentence for passage in passages for sentence in split(passage)]
    _verbatim(passages, data.draw(st.lists(st.sampled_from(said), max_size=4)) if said else [])


def test_sentences_that_differ_in_a_word_are_told_apart() -> None:
    text = "The price of salt was 3 pounds in May. The price of salt was 5 pounds in June. Ada met Bo. Ada met Cy."
    _verbatim([text], split(text))


def test_an_empty_summary_claims_nothing() -> None:
    assert judge([STORY], []) == []


def test_without_passages_nothing_is_borne_out() -> None:
    assert {verdict.document for verdict in judge([], split(STORY))} == {UNANSWERABLE}


@pytest.mark.slow
def test_a_summary_of_another_text_is_not_borne_out() -> None:
    for passages, summary in (
        ([sample()], [sentence for story in stories()[:3] for sentence in split(story["document"])]),
        ([STORY], split(sample())[100:200]),
    ):
        verdicts = judge(passages, summary)
        assert sum((verdict.share or 0.0) > 0.8 for verdict in verdicts) <= 0.02 * len(verdicts)


@pytest.mark.slow
@pytest.mark.skipif(not stories(), reason="needs $REDRAFT_DATA")
def test_people_s_own_words_are_not_called_wrong_and_those_about_another_story_are() -> None:
    told = stories()[12:20]
    references = [split(story["questions"][0]["responses"][0]["response_text"]) for story in told]

    def accused(of: list[list[str]]) -> float:
        pairs = list(zip(told, of, strict=True))
        found = sum(len(found_in([story["document"]], reference)) for story, reference in pairs)
        return found / sum(map(len, of))

    assert accused(references) <= 0.03
    assert accused(references[1:] + references[:1]) > 0.3


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Hester Vane came to the island of Skye on Monday, 3 March 1924.", "Sarn"),
        ("Hester Vane came to the island of Sarn on Monday, 3 March 1926.", "Monday, 3 March 1924"),
        ("The carrier Edgar Harrow had driven the cart over the causeway since he was nineteen.", "Tobias Wren"),
        ("The carrier Tobias Wren had driven the cart over the causeway since he was twenty.", "nineteen"),
        ("Matthias Crane stole the money.", "No"),
        ("Mr. Harrow did repay the loan until September.", "No"),
        ("In November 1902 the Long Bank broke.", "November 1901"),
        ("Robert Louis Stevenson invented the steam engine in Glasgow.", UNANSWERABLE),
        ("The price of the saltworks was £75,000.", UNANSWERABLE),
        ("He was a man of few words.", UNDECIDED),
        ("The ledger was not hidden in the lighthouse because nobody looked there.", "No"),
        ("Ruth Crane never kept her father's notebook for twenty-two years.", "No"),
        ("The Northern Alkali Company offered £81,500 for the saltworks.", "18,500"),
    ],
)
def test_the_document_answers_what_it_has_instead(wrong: str, right: str) -> None:
    assert right in {verdict.document for verdict in judge([STORY], [wrong])}


@pytest.mark.parametrize(
    "fair",
    [
        "Hester Vane came to Sarn on Monday, 3 March 1924.",
        "Tobias Wren had driven the cart since he was 19.",
        "Matthias Crane never stole the money.",
        "In November 1901 the Long Bank broke and 19 people drowned.",
    ],
)
def test_a_shortened_sentence_is_borne_out(fair: str) -> None:
    assert found_in([STORY], [fair]) == set()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["name", "number", "negation added", "negation removed"])
def test_a_swap_is_found_in_its_very_sentence(kind: str) -> None:
    """In a summary of the document's own sentences, one of which has been falsified."""
    rnd = random.Random(kind)
    text = sample()[:40_000]
    said = [sentence for sentence in split(text) if count_words(sentence) > 5 and _questions(sentence)]
    names = ["Hester Vane", "Tobias Wren", "Ruth Crane", "Isaac Thorne", "Wickmouth", "Sarn", "Harrow", "Norwich"]
    wrong = [(at, new) for at, of, new in swaps(said, rnd, names) if of == kind]
    assert len(wrong) > 20
    found = found_in([text], [new for _, new in wrong])
    missed = [new for n, (_, new) in enumerate(wrong) if n not in found]
    assert len(missed) <= 0.05 * len(wrong), missed
    assert found_in([text], said) == set()
    at, falsified = rnd.choice([swap for n, swap in enumerate(wrong) if n in found])
    summary = said[at : at + 5]
    assert consistency([text], summary) == 1.0
    assert found_in([text], [falsified, *summary[1:]]) == {0}
    assert consistency([text], [falsified, *summary[1:]]) == 0.8


def test_questions_of_others_are_answered_too() -> None:
    asked = {
        "Who had driven the cart over the causeway since he was nineteen?": "Tobias Wren",
        "When did the Long Bank break and nineteen people drown?": "November 1901",
        "Why was the ledger hidden in the lighthouse?": "because nobody looked there",
        "How much did the Northern Alkali Company offer for the saltworks?": "18,500",
        "Who painted the ceiling of the chapel?": UNANSWERABLE,
    }
    given_ = AnswerFromDocumentInput(
        passages=[STORY],
        questions=[QuestionItem(id=number, question=question) for number, question in enumerate(asked)],
    )
    for answer, expected in zip(answer_from_document(given_).answers, asked.values(), strict=True):
        assert expected in said(answer)
        assert answer.quote in STORY
        assert bool(answer.quote) == (expected != UNANSWERABLE)
