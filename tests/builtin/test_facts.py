"""Key facts by the built-in model: trees of sentences, what is said for and against them, and where they are stated."""

from __future__ import annotations

import pytest

from redraft.builtin.facts import (
    align_facts,
    ask_query,
    facts_faithful,
    facts_objective,
    facts_significant,
    grow,
    judge_chunk,
    split_facts,
    verify_sentences,
)
from redraft.builtin.prose import plain
from redraft.domain import Level
from redraft.errors import RejectedRequest
from redraft.prompts.contract import UNSURE
from redraft.prompts.factual import (
    AlignInput,
    ExtractFactsInput,
    Fact,
    FactWithLevel,
    JudgeChunkInput,
    QueryInput,
    SplitFactsInput,
    TreeFact,
    ValidateFactsInput,
    VerifyInput,
)
from redraft.prompts.qa import Statement
from tests.builtin.support import STORY, sample, split


def _facts(excerpt: str) -> list[list[str]]:
    """The facts of each root: itself, its branches, their leaves."""
    roots = grow(ExtractFactsInput(excerpt=excerpt)).roots
    return [
        [root.fact, *(one.fact for one in root.branches), *(leaf for one in root.branches for leaf in one.leaves)]
        for root in roots
    ]


def test_a_tree_is_of_sentences_of_the_excerpt_each_once() -> None:
    excerpt = sample()[:14_000]
    found = _facts(excerpt)
    assert 2 <= len(found) <= 4
    facts = [fact for root in found for fact in root]
    assert len(facts) == len(set(facts)) > 15
    assert all(fact.rstrip(".") in plain(excerpt) for fact in facts)


def test_a_short_excerpt_has_one_root() -> None:
    assert len(_facts(STORY)) == 1


@pytest.mark.parametrize("text", ["", "# A heading", "Ada rowed.", "…"])
def test_of_a_text_without_two_sentences_there_is_no_tree(text: str) -> None:
    with pytest.raises(RejectedRequest):
        grow(ExtractFactsInput(excerpt=text))


def _vet(*facts: str) -> ValidateFactsInput:
    return ValidateFactsInput(
        excerpt=STORY, facts=[TreeFact(id=n, level="leaf", fact=fact) for n, fact in enumerate(facts)]
    )


def test_a_fact_is_vetted_by_its_words() -> None:
    wrong = "Matthias Crane stole the money."
    faithful = facts_faithful(_vet(split(STORY)[2], wrong, "The lighthouse was old.")).facts
    assert [one.verdict for one in faithful] == ["pass", "fail", UNSURE]
    objective = facts_objective(_vet(wrong, "Perhaps Ruth hid the ledger.")).facts
    assert [one.verdict for one in objective] == ["pass", "fail"]
    significant = facts_significant(_vet("Crane never stole the money.", "Zebras graze.")).facts
    assert [one.verdict for one in significant] == ["pass", "fail"]


@pytest.mark.parametrize(
    ("facts", "query"),
    [
        (["Ruth met Isaac Thorne.", "Isaac Thorne hid."], "What is said about Isaac Thorne and Ruth?"),
        (["nothing is named here."], "What happens, and why?"),
        (["The Key Fact lay there."], "What happens, and why?"),
    ],
)
def test_a_query_names_those_whom_most_facts_are_about(facts: list[str], query: str) -> None:
    level: Level = "root"
    given = QueryInput(facts=[FactWithLevel(id=n, level=level, fact=fact) for n, fact in enumerate(facts)])
    assert ask_query(given).query == query


def test_a_fact_is_stated_where_a_sentence_has_its_words() -> None:
    facts = [split(STORY)[2], "Matthias Crane stole the money.", "Then came Zebedee.", "The lighthouse was old."]
    given = AlignInput(
        sentences=[Statement(id=10 + n, sentence=text) for n, text in enumerate(split(STORY))],
        facts=[Fact(id=n, fact=fact) for n, fact in enumerate(facts)],
    )
    found = align_facts(given).facts
    assert [(one.stated, one.sentences) for one in found] == [("yes", [12]), ("no", []), ("no", []), (UNSURE, [])]


def test_a_wrong_sentence_has_the_kind_of_its_error_and_the_line_that_shows_it() -> None:
    said = [
        "Hester Vane came to the island of Skye on Monday, 3 March 1924.",
        "Matthias Crane stole the money.",
        "Robert Louis Stevenson invented the steam engine.",
        split(STORY)[3],
        "The lighthouse was old.",
    ]
    given = VerifyInput(document=STORY, sentences=[Statement(id=n, sentence=text) for n, text in enumerate(said)])
    found = verify_sentences(given).sentences
    assert [one.category for one in found] == ["entity", "relation", "out_of_article", "none", UNSURE]
    assert found[0].quote == split(STORY)[0]
    assert "Skye" in found[0].reason
    assert "Sarn" in found[0].reason


def test_a_sentence_that_claims_something_is_one_fact() -> None:
    said = ["Ada rowed, and Voss fled.", "Who rowed?"]
    given = SplitFactsInput(sentences=[Statement(id=n, sentence=text) for n, text in enumerate(said)])
    assert [one.facts for one in split_facts(given).sentences] == [["Ada rowed, and Voss fled."], []]


def test_marks_rise_with_the_chunk_and_fall_where_it_breaks_off() -> None:
    small, large = (judge_chunk(JudgeChunkInput(excerpt=text)) for text in (STORY, sample()[:14_000]))
    assert small.major_facts < large.major_facts
    assert small.validity < large.validity
    assert judge_chunk(JudgeChunkInput(excerpt=f"{STORY} And then the")).coherence < small.coherence
