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
_ABRUPT_LENGTH = 8
_FEW_ABRUPT, _FEW_OPEN = 2, 1
_REACH, _BACK = 12, 5
_LEAST_STANDING = 0.4


@answers(JUDGE_CHUNK)
def judge_chunk(given: ChunkGiven) -> ChunkMarks:
    """Statements that tell something new are the facts; a link ties one to another by cause, time or contrast."""
    facts = _facts(given.excerpt)
    connections = _connections(facts)
    complete, abrupt, loose = _wholeness(given.excerpt, facts)
    return ChunkMarks(
        major_facts=len(facts),
        connections=connections,
        explanation=f"{len(facts)} statements, {connections} links; {'complete' if complete else 'not complete'};"
        f" {abrupt} abrupt turns, {loose} open references.",
        validity=_graded(len(facts), _FEW_FACTS, _MANY_FACTS),
        coherence=_coherence(complete, abrupt, loose),
        cross_content=_graded(connections, _FEW_CONNECTIONS, _MANY_CONNECTIONS),
    )


def _facts(excerpt: str) -> list[Statement]:
    """The statements that say something new."""
    facts: list[Statement] = []
    known: list[frozenset[str]] = []
    for sentence in read([excerpt], language_of(excerpt)):
        statement = read_statement(sentence.text)
        terms = statement.terms
        if sentence.standing < _LEAST_STANDING or len(terms) < _FEWEST_TERMS or GESTURE.search(sentence.text):
            continue
        if not any(len(terms & other) >= _REPEATED * len(terms) for other in known):
            facts.append(statement)
            known.append(terms)
    return facts


def _connections(facts: Sequence[Statement]) -> int:
    """How many statements say why, when or against what, and share that with another not far before."""
    count = 0
    for at, fact in enumerate(facts):
        earlier = facts[max(0, at - _REACH) : at]
        linked = any(fact.terms & other.terms for other in earlier)
        count += linked and bool(REASONING.search(fact.text))
    return count


def _wholeness(excerpt: str, facts: Sequence[Statement]) -> tuple[bool, int, int]:
    """Whether the chunk begins and ends where something does; its abrupt turns, and its open references."""
    texts = [text for span in paragraphs(excerpt) if (text := plain(excerpt[span.start : span.end]))]
    if not texts:
        return False, 0, 1
    opens = texts[0][:1].islower() or bool(PERSONAL.match(texts[0])) or goes_on(texts[0])
    breaks_off = not ends_sentence(texts[-1])
    asks = texts[-1].rstrip("\"'”’»").endswith("?")
    complete = not opens and not breaks_off and len(facts) >= _FEWEST_FOR_A_WHOLE
    terms = [read_statement(text).terms for text in texts]
    long = [at for at, own in enumerate(terms) if len(own) >= _ABRUPT_LENGTH]
    abrupt = sum(not frozenset().union(*terms[max(0, at - _BACK) : at]) & terms[at] for at in long if at)
    open_references = opens + breaks_off + asks
    return complete, abrupt, open_references


def _coherence(complete: bool, abrupt: int, loose: int) -> int:
    many = abrupt > _FEW_ABRUPT or loose > _FEW_OPEN
    if not complete:
        return 1 if many else 2
    return max(3, 5 - abrupt - loose)


def _graded(count: int, few: int, many: int) -> int:
    """1 or 2 below `few`, 3 or 4 up to `many`, 5 beyond."""
    if count < few:
        return 1 if 2 * count < few else 2
    if count > many:
        return 5
    return 3 if 2 * count < few + many else 4
