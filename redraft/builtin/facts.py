"""Key facts: sentences of a text as a tree by centrality, and which of them a summary states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from redraft.builtin.draft import centrality, with_dependent_last
from redraft.builtin.prose import read
from redraft.builtin.questions import is_statement
from redraft.builtin.references import TITLES, details
from redraft.builtin.support import SentenceSupport, SourceChecker, checker_for, reason
from redraft.errors import RejectedRequest
from redraft.prompts import factual
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.factual import AllFacts, SentenceFacts, SplitFactsInput
from redraft.text.languages import language_of
from redraft.text.sanitizer import one_line
from redraft.text.sentences import ends_sentence
from redraft.text.vectors import SentenceVectors
from redraft.text.word_keys import keys, telling, words
from redraft.text.words import count_words

# Words of an excerpt per root with its branches and leaves; about as many as in people's trees.
_WORDS_PER_ROOT, _MAX_ROOTS, _BRANCHES, _LEAVES = 1_000, 4, 3, 2
_MIN, _LONGEST_FACT = 2, 45
_GUESSES = re.compile(
    r"\b(?:perhaps|maybe|probabl[ey]|possibly|apparently|supposedly|seem(?:s|ed)|as if|in my opinion|I think)\b",
    re.IGNORECASE,
)
_RECURS = 2
_LINKS = re.compile(r"\b(?:because|since|therefore|so that|although|but|however|after|before|when|until|while|if)\b")
_USUAL_FACTS, _USUAL_LINKS = 30, 12
_MAX_NAMES, _LONGEST_QUERY, _ANY = 3, 40, "What happens, and why?"


def grow(given: factual.ExtractFactsInput) -> factual.FactTree:
    """Build a tree for each stretch: the most central sentence as root, the next ones below it, and the rest below
    them."""
    language = language_of(given.excerpt)
    prose = with_dependent_last(read([given.excerpt], language), language)
    if len(prose) < _MIN:
        raise RejectedRequest("it does not have two sentences that can serve as facts")
    worth = dict(zip(prose, centrality(SentenceVectors([sentence.text for sentence in prose]), prose), strict=True))
    proper = [
        sentence
        for sentence in prose
        if sentence.is_suitable and sentence.words <= _LONGEST_FACT and is_statement(sentence.text)
    ]
    usable = proper if len(proper) >= _MIN else prose
    count = max(1, min(_MAX_ROOTS, round(count_words(given.excerpt) / _WORDS_PER_ROOT), len(usable) // _MIN))
    stretches = [usable[len(usable) * at // count : len(usable) * (at + 1) // count] for at in range(count)]
    ranked = [[sentence.text for sentence in sorted(own, key=lambda one: -worth[one])] for own in stretches]
    return factual.FactTree(roots=[_root(own) for own in ranked])


def _root(facts: Sequence[str]) -> factual.Root:
    branches, leaves = facts[1 : 1 + _BRANCHES], facts[1 + _BRANCHES : 1 + _BRANCHES * (1 + _LEAVES)]
    found = [factual.Branch(fact=one, leaves=list(leaves[at :: len(branches)])) for at, one in enumerate(branches)]
    return factual.Root(fact=facts[0], branches=found)


def facts_faithful(given: factual.ValidateFactsInput) -> factual.FactSupports:
    """Pass a fact if the closest sentence of the excerpt does not contradict it."""
    ground = checker_for((given.excerpt,))
    return factual.FactSupports(facts=[_support(ground, fact) for fact in given.facts])


def _support(ground: SourceChecker, one: factual.TreeFact) -> factual.FactSupport:
    held = ground.check(one.fact)
    verdict: factual.Pass | Unsure = "fail" if held.is_accused else "pass" if held.verdict == "borne out" else UNSURE
    return factual.FactSupport(id=one.id, reason=reason(held), quote=ground.text_of(held.line), verdict=verdict)


def facts_objective(given: factual.ValidateFactsInput) -> factual.FactAssessments:
    """Fail a fact that contains a word of speculation."""
    return _opinions(given, lambda fact: not _GUESSES.search(fact), "free of guesses")


def facts_significant(given: factual.ValidateFactsInput) -> factual.FactAssessments:
    """Pass a fact with a content word that the excerpt repeats."""
    often = Counter(keys(given.excerpt))
    recurs = "about a recurring subject of the excerpt"
    return _opinions(given, lambda fact: any(often[key] >= _RECURS for key in telling(fact)), recurs)


def _opinions(given: factual.ValidateFactsInput, passes: Callable[[str], bool], what: str) -> factual.FactAssessments:
    assessments: list[factual.FactAssessment] = []
    for fact in given.facts:
        verdict: factual.Pass = "pass" if passes(fact.fact) else "fail"
        said = f"Judging by its words, the fact is {'' if verdict == 'pass' else 'not '}{what}."
        assessments.append(factual.FactAssessment(id=fact.id, reason=said, verdict=verdict))
    return factual.FactAssessments(facts=assessments)


def ask_query(given: factual.QueryInput) -> factual.Query:
    """Ask what the text says about the names that most facts mention; a general question where there are none."""
    found: Counter[str] = Counter()
    for text in (fact.fact for fact in given.facts):
        named = [text[it.start : it.end] for it in details(text, words(text)) if it.kind == "name" and it.sure]
        found.update(one_line(name) for name in named if not TITLES.issuperset(keys(name)))
    names = [name for name, _ in found.most_common(_MAX_NAMES)]
    query = f"What is said about {' and '.join(names)}?"
    try:
        return factual.Query(query=query if names and count_words(query) <= _LONGEST_QUERY else _ANY)
    except ValueError:  # words that are refused in a reply
        return factual.Query(query=_ANY)


def align_facts(given: factual.AlignInput) -> factual.Alignments:
    """Align facts: stated if a sentence has nearly the same words, missing if one contradicts it."""
    ground = checker_for(tuple(statement.sentence for statement in given.sentences), whole=True)
    alignments: list[factual.Alignment] = []
    for fact in given.facts:
        held = ground.check(fact.fact)
        line = held.line if held.verdict == "borne out" else None
        said: factual.YesNo | Unsure = "no" if held.is_accused else UNSURE if line is None else "yes"
        on = [] if line is None else [given.sentences[ground.lines[line].of].id]
        alignments.append(factual.Alignment(id=fact.id, stated=said, sentences=on))
    return factual.Alignments(facts=alignments)


def verify_sentences(given: factual.VerifyInput) -> factual.Verifications:
    """Verify each sentence by the closest line: the same, contradicted, or undecided."""
    ground = checker_for(tuple(given.texts))
    held = [(statement.id, ground.check(statement.sentence)) for statement in given.sentences]
    verifications = [
        factual.Verification(
            id=at, reason=reason(support), quote=ground.text_of(support.line), category=_category(support)
        )
        for at, support in held
    ]
    return factual.Verifications(sentences=verifications)


def _category(held: SentenceSupport) -> factual.Category | Unsure:
    if held.verdict == "contradicted":
        return "relation" if held.wrong == "negation" else "entity"
    return "none" if held.verdict == "borne out" else "out_of_article" if held.verdict == "absent" else UNSURE


def judge_chunk(given: factual.JudgeChunkInput) -> factual.ChunkRating:
    """Grade a chunk: statements count as facts, and words of cause, time or contrast as their relations."""
    sentences = read([given.excerpt], language_of(given.excerpt))
    told = [sentence.text for sentence in sentences if sentence.is_suitable and is_statement(sentence.text)]
    links = sum(bool(_LINKS.search(text)) for text in told)
    loose = given.excerpt.lstrip()[:1].islower() + (not ends_sentence(given.excerpt.rstrip()))
    return factual.ChunkRating(
        major_facts=len(told),
        connections=links,
        explanation=f"{len(told)} statements, {links} of them linked to others; {loose} loose ends.",
        validity=_graded(len(told) / _USUAL_FACTS),
        coherence=5 - 2 * loose,
        cross_content=_graded(links / _USUAL_LINKS),
    )


def _graded(share: float) -> int:
    """Return a grade from 1 to 5; 3 is the usual number."""
    return min(5, max(1, round(3 * share)))


def split_facts(given: SplitFactsInput) -> AllFacts:
    """Return each statement as one fact; splitting sentences takes a reader."""
    told = [(statement.id, one_line(statement.sentence)) for statement in given.sentences]
    facts = [SentenceFacts(id=at, facts=[text] if is_statement(text) else []) for at, text in told]
    return AllFacts(sentences=facts)
