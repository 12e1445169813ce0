"""What the built-in judge makes of names and other words; and key sentences, and the key facts made of them."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

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
from redraft.builtin.prose import LAST_RESORT, details, has_outside_reference, plain, read
from redraft.errors import RejectedRequest
from redraft.prompts.factual import (
    AlignInput,
    ExcerptInput,
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
from redraft.text.languages import ENGLISH
from redraft.text.word_keys import keys, words
from tests.builtin.support import STORY, checks, faults, sample, split
from tests.support import chapter
from tests.text.hostile import raw_texts

# Nothing of this stands in the story word for word.
TOLD = [
    "Her employer, Philip Dunne, wants her to certify that the ledgers are complete.",
    "Tobias Wren confesses that Crane sent him to ring the church bell.",
    "A letter to Ruth and the ledger, wrapped in oiled silk, are in the cask.",
    "Harrow has to repay the £960 with interest to the Trust.",
    "Under the cut slate stand the nineteen names of those who drowned.",
]


@pytest.mark.parametrize("sentence", TOLD)
def test_paraphrases_are_not_wrong(sentence: str) -> None:
    assert faults([sample()], [sentence]) == set()


@pytest.mark.parametrize(
    ("at", "right", "wrong"), [(0, "Philip Dunne", "Bartholomew Quigg"), (3, "960", "1,395"), (2, "Ruth", "Zebediah")]
)
def test_absent_detail_is_wrong(at: int, right: str, wrong: str) -> None:
    sentence = TOLD[at].replace(right, wrong)
    assert sentence != TOLD[at]
    assert faults([sample()], [sentence]) == {0}


@pytest.mark.parametrize(
    "fair",
    [
        "The works were bought by J. R. Harrow in 1885, with his wife's money.",
        "The works were bought by Harrow in 1885, with his wife's money.",
        "The works were bought by Josiah in 1885, with his wife's money.",
    ],
)
def test_variant_of_a_name_is_no_contradiction(fair: str) -> None:
    text = "The works were bought by Josiah Rudd Harrow in 1885, with his wife's money. He had a son, Edgar Harrow."
    assert faults([text], [fair]) == set()


@pytest.mark.parametrize("other", ["Isaac Thorne", "Edgar Harrow", "Thorne", "Mrs. Thorne"])
def test_another_name_is_a_contradiction(other: str) -> None:
    text = "The works were bought by Josiah Rudd Harrow in 1885, with money. Edgar Harrow and Isaac Thorne had none."
    assert faults([text], [f"The works were bought by {other} in 1885, with money."]) == {0}


def test_titles_and_negations_distinguish() -> None:
    text = "The letter was written by Mr. Thorne on the evening before the flood. Mrs. Thorne had gone to bed."
    assert faults([text], [text.partition(". Mrs")[0].replace("Mr.", "Mrs.") + "."]) == {0}
    assert faults([text], ["The letter was written by Isaac Thorne on the evening before the flood."]) == {0}
    named_text = f"{text} Isaac Thorne was his name."
    assert faults([named_text], ["The letter was written by Isaac Thorne on the evening before the flood."]) == set()
    text = "Mr. Frere found that Matthias Crane had taken no part in it but to discover it."
    pairs = [(text, text.replace("no part", wrong)) for wrong in ("a great part", "part")]
    for source, sentence in (*pairs, (pairs[0][1], text)):
        (checked,) = checks([source], [sentence])
        assert checked.category == "relation"


def test_named_subjects_stand_alone_and_pronouns_do_not() -> None:
    alone = [
        "Ada Quill rowed out to the Petrel four times in her dinghy.",
        "Tobias Renn told the inquiry that his lamp had burned all night.",
        "A keeper of the lamp lost his wages.",
        "On 4 November the Petrel struck the reef.",
    ]
    dependent = [
        "She rowed out to the Petrel four times.",
        "The inquiry found that he had sold the oil.",
        "It was dark on the reef.",
        "The man sold the oil to the board.",
        "Then Ada Quill bought the dinghy.",
        "Ada Quill knew nothing of this.",
        "Another of them drowned.",
    ]
    assert [text for text in alone if has_outside_reference(text)] == []
    assert [text for text in dependent if not has_outside_reference(text)] == []


@pytest.mark.parametrize(
    "scrap",
    [
        "Andy asked.",
        "said the mate quietly.",
        "Trader Tom said with enthusiasm.",
        "Monday, 4 June 1962.",
        "Day 3.",
    ],
)
def test_tags_and_dates_are_no_sentences(scrap: str) -> None:
    prose = read([f"Ada Quill kept the lamp on the rock. {scrap} The board paid Ada Quill in coal."], ENGLISH)
    assert [sentence.suitability <= LAST_RESORT for sentence in prose] == [False, True, False]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hester's ledger", "hester 's ledger"),
        ("He didn’t go", "He did not go"),
        ("She can't", "she cannot"),
        ("10,000 people", "10, 000 people"),
        ("nineteen men", "19 men"),
        ("He says the boards", "he says the board"),
        ("He noted it", "he note it"),
        ("She tried", "she tries"),
    ],
)
def test_spelling_makes_no_difference(one: str, other: str) -> None:
    assert keys(one) == keys(other)


@pytest.mark.parametrize(("one", "other"), [("He went", "He did not go"), ("3 men", "4 men"), ("Sarn", "Skye")])
def test_different_words_stay_different(one: str, other: str) -> None:
    assert keys(one) != keys(other)


@pytest.mark.parametrize(
    ("sentence", "names", "numbers"),
    [
        ("Hester Vane came to Sarn on Monday, 3 March 1924.", ["Hester Vane", "Sarn"], ["Monday, 3 March 1924"]),
        ("Mr. Philip Dunne of Lomax & Dunne paid £18,500.", ["Mr. Philip Dunne", "Lomax & Dunne"], ["18,500"]),
        ("It runs from may 27 until june 7.", [], ["may 27", "june 7"]),
        ("One of them went first. I saw no second.", [], []),
        ("He may march on.", [], []),
        ("“Never,” said Tobias Wren’s mother.", ["Tobias Wren"], []),
    ],
)
def test_names_and_numbers(sentence: str, names: list[str], numbers: list[str]) -> None:
    sure_details = [detail for detail in details(sentence, words(sentence)) if detail.sure]
    assert [sentence[d.start : d.end] for d in sure_details if d.kind == "name"] == names
    assert [sentence[d.start : d.end] for d in sure_details if d.kind == "number"] == numbers


# What it does with a document: key facts, questions, a draft, claims about that, judgments, revisions.
_WORK = """
import asyncio, redraft, sys
from redraft import JudgeConfig, Session, Store

GOALS = {"goals": {"coverage": 0.5, "consistency": 0.9}}

async def main():
    with Store(":memory:") as store:
        async with Session(store) as session:
            facts = await session.build(sys.argv[1], "keyfacts")
            draft = await session.summarize(sys.argv[1], words=100, **GOALS)
        print(store.keyfacts.get(facts.run.judging.keyfacts))
        print(draft.summary, draft.scores, [one.findings for one in draft.evaluations.values()])

asyncio.run(main())
"""


def _outputs(script: str, *arguments: str) -> set[str]:
    """Return the outputs of a script under three hash seeds."""
    outputs = set()
    for seed in ("1", "9", "77"):
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        outputs.add(done.stdout)
    return outputs


@pytest.mark.nightly
def test_built_in_model_ignores_hash_seeds(tmp_path: Path) -> None:
    document = tmp_path / "chapter.md"
    document.write_text(chapter(), "utf-8")
    assert len(_outputs(_WORK, str(document))) == 1


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
    roots = grow(ExcerptInput(excerpt=excerpt)).roots
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
        grow(ExcerptInput(excerpt=text))


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
