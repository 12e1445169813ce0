"""The trees that the extractive model makes, what it says for and against their facts, and what it asks about them."""

from __future__ import annotations

import contextlib
from functools import cache
from itertools import pairwise
from typing import Any, get_args

import pytest

import redraft.builtin.model  # noqa: F401  (which binds the handlers)
from benchmarks.keyfacts import failed, levelled
from redraft.builtin.facts.telling import tell
from redraft.builtin.registry import handler_for
from redraft.domain import Level, Perspective, Span
from redraft.errors import RejectedRequest
from redraft.prompts import factual
from redraft.prompts.contract import Prompt
from redraft.prompts.factual import (
    GROWING,
    QUERYING,
    AlignGiven,
    Fact,
    FactTree,
    GrowGiven,
    LevelledFact,
    QueryGiven,
    TreeFact,
    VerifyGiven,
    VetGiven,
)
from redraft.prompts.judging import Statement
from redraft.text.quotes import locate
from redraft.text.sentences import sentences
from redraft.text.words import count_words
from tests.builtin.support import sample

PERSPECTIVES: tuple[Perspective, ...] = get_args(Perspective)
BOTH = pytest.mark.parametrize("perspective", PERSPECTIVES)
CHUNK = 14_000
PRONOUNS = {"He", "She", "They", "It", "This", "That", "His", "Her", "Their", "But", "And", "So", "Then", "I", "You"}


@cache
def excerpts() -> list[str]:
    """The sample in chunks of about 4,096 tokens."""
    text = sample()
    ends = [0]
    for span in sentences(text):
        if span.end - ends[-1] >= CHUNK:
            ends.append(span.end)
    ends[-1] = len(text)
    return [text[start:end] for start, end in pairwise(ends)]


@cache
def tree(perspective: Perspective, number: int = 0) -> FactTree:
    return handler_for(GROWING[perspective])(GrowGiven(excerpt=excerpts()[number]))


def facts(perspective: Perspective, number: int = 0) -> list[tuple[Level, str]]:
    return levelled(tree(perspective, number))


def query(perspective: Perspective, some: list[tuple[Level, str]]) -> str:
    listed = [LevelledFact(id=number, level=level, fact=fact) for number, (level, fact) in enumerate(some, 1)]
    return handler_for(QUERYING[perspective])(QueryGiven(excerpt="", facts=listed)).query


def vetted(prompt: Prompt[VetGiven, Any], excerpt: str, *some: str) -> list[str]:
    given = VetGiven(excerpt=excerpt, facts=[TreeFact(id=n, level="leaf", fact=fact) for n, fact in enumerate(some)])
    found = handler_for(prompt)(given).facts
    assert [one.id for one in found] == list(range(len(some)))
    assert all(one.reason for one in found)
    return [one.verdict for one in found]


@BOTH
@pytest.mark.parametrize("number", range(4))
def test_a_tree_has_three_levels_in_proportion_to_the_excerpt(perspective: Perspective, number: int) -> None:
    grown = FactTree.model_validate(tree(perspective, number).model_dump())
    counts = [sum(level == each for level, _ in facts(perspective, number)) for each in ("root", "branch", "leaf")]
    assert 2 <= counts[0] <= 4
    assert 5 <= counts[1] <= 12
    assert 8 <= counts[2] <= 24
    assert all(len(root.branches) <= 4 and all(len(one.leaves) <= 4 for one in root.branches) for root in grown.roots)


@BOTH
def test_a_short_excerpt_has_a_small_tree(perspective: Perspective) -> None:
    short = handler_for(GROWING[perspective])(GrowGiven(excerpt=excerpts()[0][:2_500]))
    assert len(short.roots) == 1
    assert len(levelled(short)) <= 8


@BOTH
@pytest.mark.parametrize("number", range(4))
def test_no_fact_is_there_twice(perspective: Perspective, number: int) -> None:
    said = [fact.casefold() for _, fact in facts(perspective, number)]
    assert len(said) == len(set(said))


@BOTH
@pytest.mark.parametrize("number", range(4))
def test_every_fact_is_found_in_the_excerpt(perspective: Perspective, number: int) -> None:
    excerpt = excerpts()[number]
    found = enumerate(facts(perspective, number))
    given = VetGiven(excerpt=excerpt, facts=[TreeFact(id=at, level=level, fact=fact) for at, (level, fact) in found])
    for fact, support in zip(given.facts, handler_for(factual.FACTS_FAITHFUL)(given).facts, strict=True):
        assert support.quote in excerpt
        assert support.verdict == "pass", fact.fact
        said, whole = fact.fact.rstrip("."), [Span(0, len(excerpt))]
        # A name may stand for a pronoun: then the rest of it is there.
        assert locate(excerpt, said, whole) or said.partition(" had ")[2] in excerpt


@BOTH
@pytest.mark.parametrize("number", range(4))
def test_a_fact_can_be_understood_alone(perspective: Perspective, number: int) -> None:
    for _, fact in facts(perspective, number):
        assert fact.split()[0] not in PRONOUNS
        assert not set(fact) & set('"“”#?!')
        assert count_words(fact) <= 45


def test_a_pronoun_becomes_the_name_that_it_stands_for() -> None:
    excerpt = (
        "Mrs. Marta Kovel came down to the quay in a storm. She carried a lantern and a rope of forty feet. The harbour"
        " was empty. Jonas Brandt lowered the ferry before the others had seen the wave. Emil Brandt and Jonas Brandt"
        " rowed together towards the wreck. He lost an oar on the way to the rocks."
    )
    said = [told.fact for told in tell(excerpt)]
    assert "Mrs. Marta Kovel carried a lantern and a rope of forty feet." in said
    assert not any("lost an oar" in fact for fact in said), "either of them may have"


@pytest.mark.parametrize("number", range(4))
def test_the_perspectives_differ(number: int) -> None:
    analytical, narrative = ({fact for _, fact in facts(each, number)} for each in PERSPECTIVES)
    assert len(analytical & narrative) < 0.67 * len(analytical)
    assert {root.fact for root in tree("analytical", number).roots} != {
        root.fact for root in tree("narrative", number).roots
    }


def test_a_narrative_tree_goes_in_the_order_of_the_text() -> None:
    excerpt = excerpts()[0]
    for root in tree("narrative").roots:
        places = [excerpt.find(branch.fact.rstrip(".")[-25:]) for branch in root.branches]
        assert places == sorted(places)


def test_what_happens_is_told_by_one_tree_and_how_things_are_by_the_other() -> None:
    states = [f"{name} was the owner of a {thing} because the law was old." for name, thing in _PEOPLE]
    events = [f"{name} sold the {thing} on the way to the market." for name, thing in _PEOPLE]
    excerpt = " ".join(sentence for pair in zip(states, events, strict=True) for sentence in pair)
    shares = {}
    for each in PERSPECTIVES:
        said = [fact for _, fact in levelled(handler_for(GROWING[each])(GrowGiven(excerpt=excerpt)))]
        shares[each] = sum("sold" in fact for fact in said) / len(said)
    assert shares["narrative"] > shares["analytical"]


_PEOPLE = [
    ("Agnes", "windmill"),
    ("Bruno", "ferry"),
    ("Cecily", "vineyard"),
    ("Dietrich", "tannery"),
    ("Edith", "quarry"),
]

EXCERPT = (
    "Captain Harrow borrowed nine hundred pounds from the bank in 1901 because the sea wall was broken. The wall was"
    " never mended. Harrow told the clerk, Matthias Crane, to change the ledger. Crane refused, and Harrow dismissed"
    " him. The rain ran down the windows. Crane took the ledger to Harrow's son in secret. In November the wall"
    " broke and nineteen people drowned. Harrow blamed Crane for the missing money. A dog lay by the door."
    " Crane's daughter kept the ledger for twenty years, and Harrow lived in fear of it."
)


def test_a_fact_that_the_excerpt_does_not_bear_out_fails() -> None:
    assert vetted(
        factual.FACTS_FAITHFUL,
        EXCERPT,
        "Captain Harrow borrowed nine hundred pounds from the bank in 1901.",
        "Captain Harrow borrowed six hundred pounds from the bank in 1901.",
        "Matthias Crane dismissed Harrow.",
        "Harrow emigrated to Brazil with a circus.",
    ) == ["pass", "fail", "unsure", "fail"]


def test_a_fact_that_judges_or_guesses_fails_unless_somebody_in_the_text_does() -> None:
    assert vetted(
        factual.FACTS_OBJECTIVE,
        EXCERPT,
        "Harrow dismissed Crane.",
        "Harrow was a despicable and heartless man.",
        "Harrow must have known about the wall.",
        "The ledger symbolizes the guilt of the town.",
        "Crane thought that Harrow was a despicable man.",
        "The Great Wonderful Circus left Sarn.",
    ) == ["pass", "fail", "fail", "fail", "pass", "pass"]


def test_a_fact_on_which_nothing_hangs_fails() -> None:
    assert vetted(
        factual.FACTS_SIGNIFICANT,
        EXCERPT,
        "Harrow told Matthias Crane to change the ledger.",
        "In November the wall broke and nineteen people drowned.",
        "A dog lay by the door.",
        "The rain ran down the windows.",
    ) == ["pass", "pass", "fail", "fail"]


@pytest.mark.slow
def test_more_leaves_are_pruned_than_branches_and_few_roots() -> None:
    fails: dict[Level, list[bool]] = {"root": [], "branch": [], "leaf": []}
    for number in range(4):
        for perspective in PERSPECTIVES:
            some = facts(perspective, number)
            for (level, _), gone in zip(some, failed(excerpts()[number], some), strict=True):
                fails[level].append(gone)
    rates = {level: sum(gone) / len(gone) for level, gone in fails.items()}
    assert rates["root"] <= 0.15
    assert rates["root"] < rates["leaf"]
    assert rates["branch"] < rates["leaf"]
    assert 0.1 <= rates["leaf"] <= 0.5


@BOTH
def test_a_query_is_one_question_about_the_names_of_its_tree(perspective: Perspective) -> None:
    asked = [query(perspective, facts(perspective, number)) for number in range(4)]
    assert len(set(asked)) == 4
    for number, question in enumerate(asked):
        assert question.count("?") == 1
        assert question.endswith("?")
        assert count_words(question) <= 40
        said = " ".join(fact for _, fact in facts(perspective, number))
        names = {word.strip(",?.") for word in question.split()[1:] if word[:1].isupper()}
        assert len(names) >= 2
        assert all(name in said for name in names)


def test_the_queries_of_two_perspectives_differ() -> None:
    assert query("analytical", facts("analytical")) != query("narrative", facts("narrative"))


@BOTH
@pytest.mark.parametrize(
    "some",
    [
        [],
        [("root", "雨が降る。")],
        [("root", "Excerpt Key Facts Ltd was sold."), ("branch", "The excerpt came to Leaf and Branch.")],
        [("root", "it rained")],
        [("leaf", "Alone Alone Alone " * 40)],
    ],
)
def test_a_query_is_never_refused(perspective: Perspective, some: list[tuple[Level, str]]) -> None:
    assert factual.Query.model_validate({"query": query(perspective, some)})


@pytest.mark.slow
def test_marks_rise_with_the_chunk() -> None:
    judge = handler_for(factual.JUDGE_CHUNK)
    small, large = (judge(factual.ChunkGiven(excerpt=sample()[: size * 4])) for size in (1_000, 4_000))
    assert small.major_facts < 25 < 35 < large.major_facts
    assert small.validity <= 2
    assert large.validity == 5
    assert small.connections < large.connections
    assert small.cross_content < large.cross_content
    assert count_words(large.explanation) < 25


def test_a_chunk_that_breaks_off_is_less_coherent() -> None:
    judge = handler_for(factual.JUDGE_CHUNK)
    whole = sample()[: sample().index("## Chapter 2")]
    cut = whole[whole.index("She was thirty-two") + 30 : -40]
    assert judge(factual.ChunkGiven(excerpt=cut)).coherence <= 2 < judge(factual.ChunkGiven(excerpt=whole)).coherence


HOSTILE = {
    "empty": "",
    "blank": " \n\t ",
    "one word": "Sarn",
    "marks": "--- *** ___ …",
    "headings": "# One\n\n## Two\n\n### Three\n",
    "chinese": "雨が降る。王小明在一九二四年把磨坊卖给了李华。" * 20,
    "arabic": "باع أحمد الطاحونة في عام ١٩٢٤. ثم سافر إلى القاهرة. " * 20,
    "controls": "Anna\x00 sold\x07 the mill\x1b. \x85 She\u2028left\x0b town.\ud800 ",
    "400 sentences": " ".join(f"Anna Kovel sold mill number {n} to Jonas Brandt in {1500 + n}." for n in range(400)),
    "one sentence": "Anna sold " + "the mill and " * 3_000 + "the house.",
    "commas": ", and ; " * 2_000,
    "capitals": "ANNA SOLD THE MILL. " * 50,
    "numbers": "1,000,000 2 3.5 40 twenty-two hundred thousand million. " * 50,
}


@pytest.mark.parametrize("text", ["", " \n", "Anna", "# Contents", "Anna sold the mill."])
def test_of_a_text_without_two_facts_there_is_no_tree(text: str) -> None:
    for perspective in PERSPECTIVES:
        with pytest.raises(RejectedRequest, match="two sentences"):
            handler_for(GROWING[perspective])(GrowGiven(excerpt=text))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_breaks_a_handler(name: str) -> None:
    text = HOSTILE[name]
    some = [Fact(id=0, fact=text), Fact(id=1, fact="Anna sold the mill."), Fact(id=2, fact="")]
    in_tree = [TreeFact(id=one.id, level="leaf", fact=one.fact) for one in some]
    statements = [Statement(id=0, sentence=text), Statement(id=1, before=text, sentence="She sold the mill.")]
    for perspective in PERSPECTIVES:
        # What holds no facts is declined in words; anything else would be a crash.
        with contextlib.suppress(RejectedRequest):
            for _, fact in levelled(handler_for(GROWING[perspective])(GrowGiven(excerpt=text))):
                assert any(map(str.isalnum, fact))
        query(perspective, [("root", text), ("leaf", "Anna sold the mill.")])
    for prompt in (factual.FACTS_FAITHFUL, factual.FACTS_OBJECTIVE, factual.FACTS_SIGNIFICANT):
        assert len(handler_for(prompt)(VetGiven(excerpt=text, facts=in_tree)).facts) == 3
    for given in (statements, []):
        assert len(handler_for(factual.ALIGN_FACTS)(AlignGiven(sentences=given, facts=some)).facts) == 3
        reply = handler_for(factual.VERIFY_SENTENCES)(VerifyGiven(passages=[text], sentences=given))
        assert len(reply.sentences) == len(given)
    handler_for(factual.VERIFY_SENTENCES)(VerifyGiven(passages=[], sentences=statements))
    marks = handler_for(factual.JUDGE_CHUNK)(factual.ChunkGiven(excerpt=text))
    assert all(1 <= mark <= 5 for mark in (marks.validity, marks.coherence, marks.cross_content))


def test_three_hundred_facts_are_held_against_four_hundred_sentences_in_their_order() -> None:
    lines = sentences(sample())[:400]
    statements = [Statement(id=9 * at, sentence=sample()[span.start : span.end]) for at, span in enumerate(lines)]
    some = [Fact(id=1_000 - at, fact=statements[at].sentence) for at in range(300)]
    found = handler_for(factual.ALIGN_FACTS)(AlignGiven(sentences=statements, facts=some)).facts
    assert [one.id for one in found] == [fact.id for fact in some]


def test_a_text_bears_out_its_own_tree_and_an_empty_one_nothing() -> None:
    statements = [
        Statement(id=at, sentence=excerpts()[0][span.start : span.end])
        for at, span in enumerate(sentences(excerpts()[0]), 1)
    ]
    for perspective in PERSPECTIVES:
        some = [Fact(id=at, fact=fact) for at, (_, fact) in enumerate(facts(perspective))]
        align = handler_for(factual.ALIGN_FACTS)
        stated = [one.stated for one in align(AlignGiven(sentences=statements, facts=some)).facts]
        # A fact that names whom the text calls "he" may be about somebody else.
        assert set(stated) <= {"yes", "unsure"}
        assert stated.count("yes") >= 0.9 * len(stated)
        assert {one.stated for one in align(AlignGiven(sentences=[], facts=some)).facts} == {"no"}
