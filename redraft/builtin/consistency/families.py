"""Families of English words: the forms of one verb or noun, and what is derived from it, under one key.

They let a sentence be found again that somebody has put in words of their own: decide and decision, sell and sold.
The forms of verbs by a dictionary, general rules of English word formation, and the commonest words that keep to none.
Words of other languages are families by themselves, but for an ending that looks English.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from redraft.builtin.verbs import plain_form
from redraft.text.wording import is_negation, is_number, keys

# What no rule leads to, beside the forms of verbs. The first of each stands for all.
_DERIVED = """
believe belief; choose choice; destroy destruction; die death dead died dying; fly flight; give gift; grow growth; know
knowledge; live life alive; lose loss; man men; marry marriage; prove proof; see sight; sell sale; sing song; sleep
asleep; speak speech; steal theft thief; suspect suspicion suspicious; woman women; child children
"""
# Endings and what they are put in the place of, the more telling before those that they end in.
_RULES = """
ificat:ify ification:ify isation: ization: ication:y anation:ain mission:mit ission:it ision:id asion:ad usion:ud
ension:end eption:eiv iption:ib ition: ation: ution: tion:t sion:s fulness: lessness: iness: ness: ability: ibility:
ity: ance:ant anc:ant ence:ent enc:ent ancy:ant ency:ent able: ible: abl: ibl: fully: ful: less: ously: ous: ively:
ive: iv: ship: hood: ism: ist: ery: ary: ory: ally: ily: ly: age: ag: ial: al: er: or: ment: ant: ent: ific: ic: at:
en: y: i:
"""
_ENDINGS = tuple((rule.partition(":")[0], rule.partition(":")[2]) for rule in _RULES.split())
_AT_MOST = 3
_SHORTEST_STEM = 4
_VOWELS = frozenset("aeiouy")


@cache
def _derived() -> Mapping[str, str]:
    """What stands for each word of the list."""
    groups = (keys(group) for group in _DERIVED.replace("\n", " ").split(";"))
    return {form: group[0] for group in groups for form in group}


def _first_form(stem: str) -> str:
    """What stands for an irregular word, or nothing. The key of a long one is without its last vowel."""
    if stem in _derived():
        return _derived()[stem]
    forms = (stem, f"{stem}e") if len(stem) >= _SHORTEST_STEM else (stem,)
    return next((keys(plain_form(form))[0] for form in forms if plain_form(form) != form), "")


@lru_cache(maxsize=100_000)
def family(key: str) -> str:
    """What stands for the key of a word and all that are formed from the same one."""
    if not key.isascii() or not key.isalpha() or is_negation(key) or is_number(key):
        return key
    stem = key
    for _ in range(_AT_MOST):
        if first := _first_form(stem):
            stem = first
            break
        shorter = _without_ending(stem)
        if shorter == stem:
            break
        stem = shorter
    return _plain(stem)


def _without_ending(stem: str) -> str:
    for ending, instead in _ENDINGS:
        rest = stem.removesuffix(ending)
        if rest != stem and len(rest) + len(instead) >= _SHORTEST_STEM and _VOWELS.intersection(rest):
            doubled = (
                ending[0] in "aeo" and len(rest) >= _SHORTEST_STEM and rest[-1] == rest[-2] and rest[-1] not in "ls"
            )
            return rest[:-1] if doubled else _plain(rest + instead)
    return stem


def _plain(stem: str) -> str:
    """A stem without the vowel that it may end in or not, as in carry, carries and carried."""
    while len(stem) >= _SHORTEST_STEM and stem[-1] in "eyi" and not is_negation(stem[:-1]):
        stem = stem[:-1]
    return stem
