"""Key sentences: which a document has, which of them a summary has, and the key facts made of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.builtin.judge import (
    align_facts,
    answer_from_summary,
    ask_document,
    ask_query,
    grow,
    key_sentences,
    validate_facts,
    write_answer,
)
from redraft.builtin.prose import plain
from redraft.errors import RejectedRequest
from redraft.prompts.factual import (
    AlignInput,
    ExtractFactsInput,
    Fact,
    FactWithLevel,
    QueryInput,
    TreeFact,
    ValidateFactsInput,
)
from redraft.prompts.qa import (
    KEY_SENTENCE,
    AnswerFromSummaryInput,
    AnswerInput,
    AskDocumentInput,
    QuestionItem,
    Statement,
    SummaryLine,
    sentence_in,
)
from tests.builtin.support import STORY, sample, split
from tests.text.hostile import raw_texts


def _held(sentences: list[str], summary: list[str]) -> list[tuple[bool | str | None, list[int]]]:
    """Which key sentences a summary has, and where."""
    inputs = AnswerFromSummaryInput(
        sentences=[SummaryLine(id=number, sentence=text) for number, text in enumerate(summary, 1)],
        questions=[
            QuestionItem(id=number, question=f"{KEY_SENTENCE}{text}") for number, text in enumerate(sentences, 1)
        ],
    )
    return [(answer.answered, answer.sentences) for answer in answer_from_summary(inputs).answers]


def test_key_sentences_are_chosen_and_found() -> None:
    text = plain(sample())
    chosen = key_sentences(sample(), 12)
    assert len(chosen) == len(set(chosen)) == 12
    places = sorted(text.index(sentence.rstrip(".")) / len(text) for sentence in chosen)
    assert max(after - before for before, after in pairwise(places)) < 0.3
    questions = ask_document(AskDocumentInput(excerpt=STORY, count=3)).questions
    assert [sentence_in(question.question) for question in questions] == [question.answer for question in questions]
    assert {question.answer for question in questions} <= set(split(STORY))
    assert sentence_in("Who came?") == ""
    first, second = split(STORY)[0], split(STORY)[4]
    shortened = "In November 1901 the Long Bank broke."
    assert _held([first, second], ["It rained.", first, shortened]) == [(True, [2]), (True, [3])]
    assert _held([first, second], ["It rained.", "Hester came."]) == [(False, []), (False, [])]
    assert _held([first], []) == [(False, [])]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(raw_texts, max_size=4).map("\n\n".join), st.integers(1, 5))
def test_key_sentences_keep_to_their_count(text: str, count: int) -> None:
    assert len(key_sentences(text, count)) <= count


def _facts(excerpt: str) -> list[list[str]]:
    """The facts of each root: itself, its branches, their leaves."""
    roots = grow(ExtractFactsInput(excerpt=excerpt)).roots
    return [
        [
            root.fact,
            *(branch.fact for branch in root.branches),
            *(leaf for branch in root.branches for leaf in branch.leaves),
        ]
        for root in roots
    ]


def test_key_facts_are_key_sentences() -> None:
    excerpt = sample()[:14_000]
    trees = _facts(excerpt)
    assert 2 <= len(trees) <= 4
    facts = [fact for tree in trees for fact in tree]
    assert len(facts) == len(set(facts)) > 15
    assert all(fact.rstrip(".") in plain(excerpt) for fact in facts)
    assert len(_facts(STORY)) == 1
    facts = [split(STORY)[2], "Matthias Crane stole the money.", "The lighthouse was old."]
    inputs = ValidateFactsInput(
        excerpt=STORY, facts=[TreeFact(id=n, level="leaf", fact=fact) for n, fact in enumerate(facts)]
    )
    assert [(fact.id, fact.verdict) for fact in validate_facts(inputs).facts] == [(0, "pass")]

    def query(fact: str) -> str:
        return ask_query(QueryInput(facts=[FactWithLevel(id=1, level="root", fact=fact)])).query

    assert query("Ruth met Isaac Thorne.") == "What is said about this: “Ruth met Isaac Thorne.”?"
    assert query("The Key Fact lay there.") == "What happens, and why?"
    facts = [split(STORY)[2], "Then came Zebedee to the party."]
    inputs = AlignInput(
        sentences=[Statement(id=10 + n, sentence=text) for n, text in enumerate(split(STORY))],
        facts=[Fact(id=n, fact=fact) for n, fact in enumerate(facts)],
    )
    assert [(fact.stated, fact.sentences) for fact in align_facts(inputs).facts] == [("yes", [12]), ("no", [])]


@pytest.mark.parametrize("text", ["", "# A heading", "Ada rowed.", "…"])
def test_short_text_has_no_tree(text: str) -> None:
    with pytest.raises(RejectedRequest):
        grow(ExtractFactsInput(excerpt=text))


def test_question_is_answered_by_matching_sentences() -> None:
    inputs = AnswerInput(passages=[STORY], question="When did the Long Bank break?", words=50)
    answer = write_answer(inputs)
    assert answer.answered
    assert [sentence.quote for sentence in answer.sentences] == [split(STORY)[4]]
    for question in ("Who painted the ceiling?", "Did the Titanic sink when the Bank broke?"):
        assert not write_answer(inputs.model_copy(update={"question": question})).answered
    longer = inputs.model_copy(update={"question": "Why did Harrow of the Northern Company break the old Long Bank?"})
    assert write_answer(longer).answered, "additional words lose no answer"
    emphasized = AnswerInput(passages=["*Statement of Amos. He told all.*"], question="Who is Amos?", words=50)
    (sentence,) = write_answer(emphasized).sentences
    assert (sentence.quote, sentence.sentence) == ("*Statement of Amos.", "Statement of Amos.")
