"""Questions about a document, and what a summary answers to them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.common import stories
from redraft.builtin.questions import ask_document, ask_whether, question_about, rank_questions, read_claim
from redraft.builtin.references import NamedPeople
from redraft.prompts.qa import AskDocumentInput, Candidate, DocumentQuestion, RankInput
from redraft.text.words import count_words
from tests.builtin.support import (
    STORY,
    UNANSWERABLE,
    UNDECIDED,
    answers,
    contradicted,
    coverage,
    pack_of,
    sample,
    split,
)
from tests.builtin.support import said as verdict
from tests.text.hostile import raw_texts


def _asked(excerpt: str, count: int = 6) -> list[DocumentQuestion]:
    return ask_document(AskDocumentInput(excerpt=excerpt, count=count)).questions


@pytest.mark.slow
def test_questions_are_quoted_mixed_and_from_all_parts() -> None:
    asked = _asked(sample(), 12)
    assert len(asked) == len({one.question for one in asked}) == 12
    assert all(one.quote in sample() and one.question.endswith("?") for one in asked)
    assert all(one.answer.rstrip(".") in " ".join(one.quote.split()) for one in asked)
    places = sorted(sample().index(one.quote) / len(sample()) for one in asked)
    assert max(after - before for before, after in pairwise(places)) < 0.25


def test_a_question_is_who_or_what_or_whether_a_sentence_is_so() -> None:
    asked = [one.question for one in _asked(sample(), 30)]
    short = [one for one in asked if not read_claim(one)]
    assert {one.split()[0] for one in short} == {"Who", "What"}
    assert all(count_words(one) <= 18 and '"' not in one for one in short)
    pointing = {"he", "him", "it", "they", "them", "this", "that", "there", "i", "you", "we"}
    assert not [one for one in short if pointing & set(one.lower().rstrip("?").split())]


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        (
            "Hester Vane came to the island of Sarn in a carrier's cart.",
            "Who came to the island of Sarn in a carrier's cart?",
            "Hester Vane",
        ),
        (
            "The ship had struck the reef below the lighthouse, and nobody was awake.",
            "What had struck the reef below the lighthouse?",
            "The ship",
        ),
        (
            "The counting house of the saltworks stood at the head of the quay.",
            "What stood at the head of the quay?",
            "The counting house of the saltworks",
        ),
        ("The woman rowed out to the schooner in a boat.", "Who rowed out to the schooner in a boat?", "The woman"),
    ],
)
def test_good_english(sentence: str, question: str, answer: str) -> None:
    people = NamedPeople(["Hester Vane said that she was glad of it.", "Then Hester Vane ate her egg."])
    assert question_about(sentence, people) == (question, answer)


@pytest.mark.parametrize(
    "sentence",
    [
        "He gave it to them because they had asked him.",
        "Ruth gave it back to the old keeper of the light.",
        "The schooner had struck the reef below the lighthouse.",
        "The steady pressure as the truss contracted was felt on every deck.",
        "The keeper said: the lamp of the old tower is out.",
        "Sie ging nach Hause, weil es regnete.",
        "",
    ],
)
def test_of_a_sentence_that_makes_no_good_question_nothing_short_is_asked(sentence: str) -> None:
    assert question_about(sentence, NamedPeople([])) is None


def test_an_excerpt_without_sentences_gives_no_questions() -> None:
    assert [_asked(text) for text in ("", "# Contents\n\n1. Salt\n2. Sea", "…", " \n")] == [[]] * 4
    assert _asked(STORY, 0) == []


@pytest.mark.slow
def test_a_document_answers_its_own_questions() -> None:
    for text in (sample()[:25_000], *(story["document"] for story in stories()[::16])):
        pack = pack_of(text)
        said = answers(pack, split(text))
        assert [one.question for one, answer in zip(pack, said, strict=True) if verdict(answer) == UNANSWERABLE] == []
        pairs = [(one.question, one.answer, answer.answer) for one, answer in zip(pack, said, strict=True)]
        assert [pair for pair, wrong in zip(pairs, contradicted(pairs), strict=True) if wrong] == []


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(raw_texts, max_size=4).map("\n\n".join), st.integers(1, 5))
def test_any_text_answers_its_own_questions(text: str, count: int) -> None:
    pack = _asked(text, count)
    assert len(pack) <= count
    assert all(one.quote in text for one in pack)
    if pack:
        assert coverage(pack, [one.quote for one in pack]) == 1.0


def test_an_empty_summary_answers_nothing() -> None:
    pack = pack_of(STORY)
    assert coverage(pack, []) == coverage(pack, ["", "…"]) == 0.0


@pytest.mark.slow
def test_a_summary_of_another_text_answers_next_to_nothing() -> None:
    texts = [sample(), *(story["document"] for story in stories()[12:18])]
    packs = [pack_of(text) for text in texts]
    covered = [coverage(pack, split(texts[n - 1])[:60]) for n, pack in enumerate(packs)]
    assert len(texts) == 1 or sum(covered) / len(covered) < 0.1


def test_the_answer_rests_on_the_sentence_that_has_it() -> None:
    pack = _asked(STORY, 8)
    for one, answer in zip(pack, answers(pack, split(STORY)), strict=True):
        assert split(STORY)[answer.sentences[-1]] == one.quote or one.quote in [
            split(STORY)[n] for n in answer.sentences
        ]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Hester Vane came to the island of Sarn in a carrier's cart.", "Hester Vane came to the island of Sarn"),
        ("Hester Vane came to the island of Skye in a carrier's cart.", "Hester Vane came to the island of Skye"),
        ("Tobias Wren lit the lamp.", UNANSWERABLE),
    ],
)
def test_whether_a_sentence_is_so_is_answered_by_what_the_summary_has_for_it(said: str, answer: str) -> None:
    asked = ask_whether("Hester Vane came to the island of Sarn in a carrier's cart.")
    one = DocumentQuestion(question=asked, kind="what", answer="Sarn", quote="")
    assert verdict(answers([one], ["The sea was calm.", said])[0]).startswith(answer)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Hester Vane was made clerk and treasurer of the works.", "Hester Vane"),
        ("Tobias Wren was made clerk and treasurer of the works.", "Tobias Wren"),
        ("Mr. Harrow was made chairman and treasurer of the works.", UNDECIDED),
    ],
)
def test_who_it_was_is_said_only_where_all_else_is_said(said: str, answer: str) -> None:
    asked = "Who was made clerk and treasurer of the works?"
    one = DocumentQuestion(question=asked, kind="who", answer="Hester Vane", quote="")
    assert verdict(answers([one], ["The clerk went home.", said])[0]) == answer


@pytest.mark.parametrize(
    ("document", "summary", "wrong"),
    [
        ("Sarn", "Skye", True),
        ("Tobias Wren", "Mr. Edgar Harrow", True),
        ("Tobias Wren", "Wren", False),
        ("nineteen", "19 people", False),
        ("nineteen", "twenty", True),
        ("Monday, 3 March 1924", "in March 1924", False),
        ("in 1924", "in 1926", True),
        ("Yes", "No, never", True),
        ("He did not steal the money", "He stole the money", True),
        ("because he was afraid", "out of fear", False),
        ("the old counting house", "a building", False),
        ("", "Skye", False),
        ("今日", "明日", False),
    ],
)
def test_what_contradicts(document: str, summary: str, wrong: bool) -> None:
    assert contradicted([("What?", document, summary), ("What?", summary, document)]) == [wrong, wrong]


def test_two_dates_of_one_year_are_two_dates() -> None:
    assert contradicted([("When?", "3 March 1924", "5 March 1924")]) == [True]


def test_the_central_comes_first() -> None:
    texts = [
        ("Who broke the Long Bank on Sarn?", "the harbour board"),
        ("Who painted a boat?", "Ada"),
        ("Who broke the Long Bank on Sarn?", "the harbour board"),
        ("When did the Long Bank on Sarn break?", "in November"),
        ("What did the harbour board owe to Sarn?", "the money for the Long Bank"),
    ]
    candidates = [Candidate(id=10 + n, question=asked, answer=answer) for n, (asked, answer) in enumerate(texts)]
    order = rank_questions(RankInput(candidates=candidates)).minor
    assert sorted(order) == [10, 11, 12, 13, 14]
    assert order.index(11) > order.index(14)
    assert rank_questions(RankInput(candidates=[])).weights == {}


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(raw_texts, max_size=8))
def test_every_question_is_ranked_once(texts: list[str]) -> None:
    candidates = [Candidate(id=n, question=text, answer="") for n, text in enumerate(texts)]
    assert sorted(rank_questions(RankInput(candidates=candidates)).minor) == list(range(len(texts)))
