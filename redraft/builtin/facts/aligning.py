"""Which facts a summary states."""

from __future__ import annotations

from redraft.builtin.facts.weighing import Ground, Weighed
from redraft.builtin.registry import answers
from redraft.prompts.factual import ALIGN_FACTS, AlignGiven, Alignment, Alignments
from redraft.prompts.judging import Statement

# Of what a fact says, with this share somewhere in the summary somebody who has only the summary knows it.
_KNOWN = 0.6


@answers(ALIGN_FACTS)
def align_facts(given: AlignGiven) -> Alignments:
    """A fact is stated where one sentence, with a neighbour, says most of it and nothing else in its place."""
    ground = Ground([[one.sentence for one in given.sentences]], [one.before for one in given.sentences])
    return Alignments(facts=[_align(ground, given.sentences, fact.id, fact.fact) for fact in given.facts])


def _align(ground: Ground, sentences: list[Statement], number: int, fact: str) -> Alignment:
    weighed = ground.weigh(fact)
    if not weighed or not all(_is_stated(part) for part in weighed):
        return Alignment(id=number, stated="no", sentences=[])
    lines = {line for part in weighed for line in (part.line, part.beside) if line is not None}
    return Alignment(id=number, stated="yes", sentences=[sentences[line].id for line in sorted(lines)])


def _is_stated(part: Weighed) -> bool:
    return part.is_borne_out and part.share >= _KNOWN
