"""How well a chunk of a text lends itself to drawing a tree of facts from it, by counting."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.builtin.facts.statements import Statement, read_statement
from redraft.builtin.lexicon import GESTURE, PERSONAL, REASONING
from redraft.builtin.pointing import goes_on
from redraft.builtin.prose import plain, read
from redraft.builtin.registry import answers
from redraft.prompts.factual import JUDGE_CHUNK, ChunkGiven, ChunkMarks
from redraft.text.languages import language_of
from redraft.text.sentences import ends_sentence, paragraphs

_FEWEST_TERMS = 5
# A statement that has this share of its words from one before it tells nothing new.
_REPEATED = 0.75
_FEW_FACTS, _MANY_FACTS = 25, 35
_FEW_CONNECTIONS, _MANY_CONNECTIONS = 8, 16
# A chunk with fewer statements has no beginning, middle and end.
_FEWEST_FOR_A_WHOLE = 6
_REACH = 12
_LEAST_STANDING = 0.4


@answers(JUDGE_CHUNK)
def judge_chunk(given: ChunkGiven) -> ChunkMarks:
    """Statements that tell something new are the facts; a link ties one to another by cause, time or contrast."""
    facts = _facts(given.excerpt)
    connections = _connections(facts)
    complete, loose = _wholeness(given.excerpt, facts)
    return ChunkMarks(
        major_facts=len(facts),
        connections=connections,
        explanation=f"{len(facts)} statements, {connections} links; {'complete' if complete else 'not complete'};"
        f" {loose} open references.",
        validity=_graded(len(facts), _FEW_FACTS, _MANY_FACTS),
        coherence=5 - loose if complete else 1 + (loose < 2),
        cross_content=_graded(connections, _FEW_CONNECTIONS, _MANY_CONNECTIONS),
    )


def _facts(excerpt: str) -> list[Statement]:
    """The statements that say something new."""
    facts: list[Statement] = []
    for sentence in read([excerpt], language_of(excerpt)):
        statement = read_statement(sentence.text)
        terms = statement.terms
        if sentence.standing < _LEAST_STANDING or len(terms) < _FEWEST_TERMS or GESTURE.search(sentence.text):
            continue
        if not any(len(terms & other.terms) >= _REPEATED * len(terms) for other in facts):
            facts.append(statement)
    return facts


def _connections(facts: Sequence[Statement]) -> int:
    """How many statements say why, when or against what, and share that with another not far before."""
    return sum(
        bool(REASONING.search(fact.text)) and any(fact.terms & other.terms for other in facts[max(0, at - _REACH) : at])
        for at, fact in enumerate(facts)
    )


def _wholeness(excerpt: str, facts: Sequence[Statement]) -> tuple[bool, int]:
    """Whether the chunk begins and ends where something does; how many of its ends lie open."""
    texts = [text for span in paragraphs(excerpt) if (text := plain(excerpt[span.start : span.end]))]
    if not texts:
        return False, 1
    opens = texts[0][:1].islower() or bool(PERSONAL.match(texts[0])) or goes_on(texts[0])
    breaks_off = not ends_sentence(texts[-1])
    asks = texts[-1].rstrip("\"'”’»").endswith("?")
    complete = not opens and not breaks_off and len(facts) >= _FEWEST_FOR_A_WHOLE
    return complete, opens + breaks_off + asks


def _graded(count: int, few: int, many: int) -> int:
    """1 or 2 below `few`, 3 or 4 up to `many`, 5 beyond."""
    if count < few:
        return 1 if 2 * count < few else 2
    if count > many:
        return 5
    return 3 if 2 * count < few + many else 4
