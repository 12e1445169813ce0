"""The question that a tree of key facts answers, made of the names and matters that its facts are about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from redraft.builtin.details import TITLES
from redraft.builtin.facts.statements import Name, read_statement
from redraft.builtin.registry import answers
from redraft.prompts.factual import QUERY_ANALYTICAL, QUERY_NARRATIVE, LevelledFact, Query, QueryGiven
from redraft.text.wording import carries, keys
from redraft.text.words import count_words

_WEIGHT = {"root": 3, "branch": 2, "leaf": 1}
_MOST_NAMES, _MOST_MATTERS = 3, 3
_LONGEST_NAME, _LONGEST_QUERY = 5, 40
_LONGEST_QUOTE = 60
_MATTER = re.compile(
    r"\b[Tt]he ((?:[a-z]+[- ])?[a-z]{4,})"
    r"(?=[.,;:]|$| (?:of|in|on|at|to|for|from|with|by|and|that|was|is|had|were|has)\b)"
)
_TOO_PLAIN = "other same first second third last next thing way day time night morning reason rest part end"
_VERB_BEHIND = re.compile(r"(?<=\w) \w+ed$")


@answers(QUERY_ANALYTICAL)
def query_analytical(given: QueryGiven) -> Query:
    """How those whom the facts are about stand to each other, and what the rest shows of that."""
    names, matters = _names(given.facts), _matters(given.facts)
    about = names[:_MOST_NAMES] or matters[:_MOST_MATTERS]
    shown = [one for one in [*matters, *names[_MOST_NAMES:]] if one not in about][:_MOST_MATTERS]
    if not about:
        return _about_words(given.facts, "What does the text say about {}, and how is it borne out?")
    alone = len(about) == 1
    asked = f"What is known of {about[0]}" if alone else f"How do {_listed(about)} stand to each other"
    borne = ", and what is it that shows this?"
    if shown:
        borne = (
            f", and what {'does' if len(shown) == 1 else 'do'} {_listed(shown)} show of {'this' if alone else 'them'}?"
        )
    return _fitting(asked + borne, given.facts)


@answers(QUERY_NARRATIVE)
def query_narrative(given: QueryGiven) -> Query:
    """What happens to those whom the facts are about."""
    names, matters = _names(given.facts), _matters(given.facts)
    about = names[:_MOST_NAMES] or matters[:_MOST_MATTERS]
    if not about:
        return _about_words(given.facts, "What happens around {}, and in which order?")
    others = [matter for matter in matters if matter not in about][:_MOST_MATTERS]
    course = ", and in which order?"
    if others:
        course = f", and what {'has' if len(others) == 1 else 'have'} {_listed(others)} to do with it?"
    return _fitting(f"What happened to {_listed(about)}{course}", given.facts)


def _fitting(question: str, facts: Sequence[LevelledFact]) -> Query:
    """The question, or one about fewer matters where it is too long or speaks of what nobody knows."""
    names = _names(facts)[:_MOST_NAMES]
    shorter = f"What happens around {_listed(names)}, and why?" if names else "What happens, and why?"
    for asked in (question, shorter):
        if count_words(asked) <= _LONGEST_QUERY:
            try:
                return Query(query=asked)
            except ValueError:  # a name or matter of the text is a word by which the reply is refused
                continue
    return Query(query="What happens, and why?")


def _about_words(facts: Sequence[LevelledFact], frame: str) -> Query:
    """A question about the words of the first fact: of texts without names, or not in English."""
    quoted = next(
        (" ".join(fact.fact.split())[:_LONGEST_QUOTE].rstrip(" .。") for fact in facts if keys(fact.fact)), ""
    )
    return _fitting(frame.format(f"“{quoted}”") if quoted else "", facts)


def _names(facts: Sequence[LevelledFact]) -> list[str]:
    """Whom and what the facts are about, those first that weigh most, each as it is written out most fully."""
    weight: Counter[frozenset[str]] = Counter()
    surface: dict[frozenset[str], str] = {}
    found: list[tuple[Name, str, int]] = []
    for fact in facts:
        for name in read_statement(fact.fact).names:
            if name.sure and name.keys - TITLES and count_words(name.spelt) <= _LONGEST_NAME:
                found.append((name, "the " * (name.before == "the") + name.spelt, _WEIGHT[fact.level]))
    for name, text, own in sorted(found, key=lambda one: -len(one[0].keys)):
        known = next((other for other in surface if name.keys - TITLES <= other), name.keys)
        surface.setdefault(known, text)
        weight[known] += own
    order = sorted(surface, key=lambda one: -weight[one])
    return [surface[one] for one in order]


@cache
def _too_plain() -> frozenset[str]:
    return frozenset(keys(_TOO_PLAIN))


def _matters(facts: Sequence[LevelledFact]) -> list[str]:
    """The things that the facts speak of as known, as "the ledger"."""
    weight: Counter[str] = Counter()
    for fact in facts:
        for matter in _matters_in(fact.fact):
            weight[matter] += _WEIGHT[fact.level]
    return [f"the {matter}" for matter, _ in weight.most_common()]


def _matters_in(fact: str) -> Iterator[str]:
    for found in _MATTER.finditer(fact):
        matter = _VERB_BEHIND.sub("", found.group(1))
        own = keys(matter)
        if own and all(map(carries, own)) and not _too_plain().intersection(own):
            yield matter


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
