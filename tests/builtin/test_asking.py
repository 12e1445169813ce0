"""How the extractive judge puts questions, and whether it finds an answer that is given in other words."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from redraft import Evaluation, Workshop
from redraft.builtin.coverage.asking import rank_questions
from redraft.builtin.coverage.phrasing import questions_about
from redraft.builtin.verbs import plain_form
from redraft.prompts.judging import Candidate, DocumentQuestion, RankGiven
from redraft.readers.documents import parse
from tests.builtin.support import STORY, UNANSWERABLE, UNDECIDED, answers, pack_of, said, split


@pytest.mark.parametrize(
    ("past", "plain"),
    [
        ("stopped", "stop"),
        ("moved", "move"),
        ("helped", "help"),
        ("carried", "carry"),
        ("died", "die"),
        ("agreed", "agree"),
        ("decided", "decide"),
        ("visited", "visit"),
        ("struck", "strike"),
        ("came", "come"),
        ("written", "write"),
        ("takes", "take"),
        ("carries", "carry"),
        ("eyed", "eye"),
        ("conceded", "concede"),
    ],
)
def test_the_plain_form_of_a_verb(past: str, plain: str) -> None:
    assert plain_form(past) == plain


@pytest.mark.parametrize(
    ("sentence", "question", "kind", "answer"),
    [
        ("Because the money was gone, Edgar Harrow stopped the upkeep.", "Why did Edgar Harrow stop the upkeep?", "why",
         "Because the money was gone"),
        ("Edgar Harrow opened the gate so that the water could run off.", "Why did Edgar Harrow open the gate?", "why",
         "so that the water could run off"),
        ("Ruth met Isaac Thorne at the lighthouse.", "Whom did Ruth meet at the lighthouse?", "who", "Isaac Thorne"),
        ("Hester went to the lighthouse to see a man about salt.", "Where did Hester go?", "where",
         "to the lighthouse"),
        ("Ruth sold the oars to a fisherman and walked home.", "What did Ruth sell to a fisherman?", "what",
         "the oars"),
        ("Strike takes the ship to Mars.", "What does Strike take to Mars?", "what", "the ship"),
    ],
)  # fmt: skip
def test_questions_in_good_english(sentence: str, question: str, kind: str, answer: str) -> None:
    people = {"Hester", "Vane", "Harrow", "Lamb", "Tobias", "Ruth", "Thorne", "Strike"}
    asked = questions_about(sentence, lambda name: bool(people & set(name.split())))
    assert (question, kind, answer) in set(asked)


@pytest.mark.parametrize(
    "sentence",
    [
        "He gave it to them because they had asked him.",
        "Nobody knew what to do.",
        "Ruth gave it back.",
        "\"Are you there?\" asked Ruth.",
        "そこには誰もいなかった。",
        "Sie ging nach Hause, weil es regnete.",
        "",
    ],
)  # fmt: skip
def test_nothing_is_asked_that_cannot_be_understood_alone(sentence: str) -> None:
    assert list(questions_about(sentence, lambda name: name == "Ruth")) == []


@pytest.mark.parametrize(
    ("question", "summary", "answer"),
    [
        # Other words, another order, a pronoun, two sentences for one.
        ("Why did Edgar Harrow stop the upkeep?", "Edgar stops the upkeep in order to save money.",
         "in order to save money"),
        ("Who stole the ledger from the works?", "The ledger was stolen from the works by Matthias Crane.",
         "Matthias Crane"),
        ("What did Hester decide to do?", "Hester decides to look for the book.", "to look for the book"),
        ("Where did Ruth live?", "Ruth now lives in a hut at the end of the bank.",
         "in a hut at the end of the bank"),
        ("How many people drowned?", "Nineteen people drowned in the flood of 1901.", "Nineteen"),
        # The people or the words are there, and the answer is not.
        ("Why did Edgar Harrow stop the upkeep?", "Edgar Harrow stopped the upkeep.", UNANSWERABLE),
        ("Why did Edgar Harrow stop the upkeep?", "Ruth measured the bank to see whether it sank.", UNANSWERABLE),
        ("Who stole the ledger?", "The ledger is green and heavy.", UNANSWERABLE),
        ("Who hid the stolen ledger inside the brewery cellar?", "Ruth hid a ledger.", UNANSWERABLE),
        ("What did Edgar Harrow buy for the bank?", "Edgar Harrow never bought the stone for the bank.", UNANSWERABLE),
        ("What did Matthias Crane write in the ledger?", "Ruth Crane wrote eleven letters.", UNANSWERABLE),
        # Words do not tell who somebody is, what became of somebody, and what two have to do with each other.
        ("What did Hester have to do with Ruth?", "Hester and Ruth are both there.", UNDECIDED),
        ("What happened to Samuel Lamb?", "Samuel Lamb had a wife and a son.", UNDECIDED),
        ("Who is Isaac Thorne?", "They visit Isaac Thorne, the old keeper.", UNDECIDED),
        ("How long did Tobias ring the bell?", "Tobias rang the bell for three hours.", "three"),
    ],
)  # fmt: skip
def test_an_answer_in_other_words_counts(question: str, summary: str, answer: str) -> None:
    one = DocumentQuestion(question=question, kind="what", answer="", quote="")
    assert said(answers([one], split(summary))[0]) == answer


RETOLD = (
    "In March 1924 Hester Vane travels to Sarn.",
    "Tobias Wren, a carrier, has been driving over the causeway from the age of nineteen.",
    "Because nobody looked there, somebody had hidden the ledger in the lighthouse.",
    "Nineteen people were drowned when the Long Bank broke in November 1901.",
    "The Northern Alkali Company wants to buy the works for £18,500.",
)


def test_of_a_retelling_in_other_words_it_is_never_said_that_it_does_not_answer() -> None:
    pack = pack_of(STORY, count=8)
    found = [said(one) for one in answers(pack, RETOLD, quoted=False)]
    assert UNDECIDED in found
    assert UNANSWERABLE not in found
    assert UNANSWERABLE in [said(one) for one in answers(pack, split(STORY)[:3])]


@pytest.mark.slow
def test_the_evaluator_leaves_open_what_cannot_be_told_and_asks_once(tmp_path: Path) -> None:
    async def judged(summary: str) -> Evaluation:
        async with Workshop(tmp_path / f"{len(summary)}.db") as shop:
            document = parse(STORY.encode(), name="story.txt")
            result = await shop.evaluate(document, summary, metrics=["coverage"])
            with closing(sqlite3.connect(shop.store.path)) as database:
                query = "SELECT count(*) FROM calls WHERE prompt = 'answer_from_summary'"
                assert database.execute(query).fetchone() == (1,)
            return result.evaluations["coverage"]

    retold = asyncio.run(judged(" ".join(RETOLD)))
    assert retold.unjudged > 0
    assert not retold.findings
    quoted = asyncio.run(judged(" ".join(split(STORY)[:3])))
    assert quoted.unjudged == 0
    assert {one.kind for one in quoted.findings} == {"unanswered"}


def test_a_sentence_more_takes_no_answer_away() -> None:
    pack = pack_of(STORY, count=8)
    told = split(STORY)
    for end in range(1, len(told)):
        before, after = answers(pack, told[:end]), answers(pack, told[: end + 1])
        assert not [1 for one, other in zip(before, after, strict=True) if said(other) == UNANSWERABLE != said(one)]


def test_what_happens_is_ranked_before_gestures_and_gaps() -> None:
    texts = [
        "Which name fills the gap: “____ looked at the ledger for a long time.”?",
        "Who looked at the ledger?",
        "Why did Harrow hide the ledger?",
    ]
    candidates = [Candidate(id=n, question=text, answer=f"answer {n}") for n, text in enumerate(texts)]
    assert rank_questions(RankGiven(candidates=candidates)).order == [2, 1, 0]
