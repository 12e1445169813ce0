"""English verbs, by a dictionary: which words are forms of one, and of which."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from lemminflect import getAllLemmas, getInflection

from redraft.text.wording import listed

BE = listed("be am is are was were been being")
MODALS = listed("would could should might must will can may shall")
AUXILIARIES = BE | MODALS | listed("had have has did does do")
# Past tenses of rare verbs, and such as are spelt like the verb, that are nearly always another word.
_SELDOM = listed("wicked feed weed crew fit wet bet upset resent rent rid output sacred naked")
_SHORTEST_REGULAR = 4  # what ends in -ed and is in no dictionary


def is_past(word: str) -> bool:
    """Whether a word may be a past tense, or a participle in -ed; an auxiliary like "was" is none by itself."""
    return _is_form(word, "VBD")


def is_participle(word: str) -> bool:
    """Whether a word may be a past participle."""
    return _is_form(word, "VBN") or (word.endswith("ed") and is_past(word))


def is_present(word: str) -> bool:
    """Whether a word behind a name may be a present tense: "Strike takes"."""
    return word not in AUXILIARIES and _is_form(word, "VBZ")


@lru_cache(maxsize=20_000)
def plain_form(word: str) -> str:
    """The plain form of a verb, as it stands behind "did" and "does"."""
    return next(iter(_plain_forms(word)), word)


@lru_cache(maxsize=20_000)
def _is_form(word: str, tag: str) -> bool:
    """Whether a word is the form of a verb that the Penn Treebank has under a tag."""
    if not (word.isascii() and word.islower()) or word in _SELDOM | BE | MODALS:
        return False
    if tag != "VBZ" and word.endswith("ed") and len(word) >= _SHORTEST_REGULAR and not getAllLemmas(word):
        return True
    return any(word in getInflection(plain, tag) for plain in _plain_forms(word))


@lru_cache(maxsize=20_000)
def _plain_forms(word: str) -> tuple[str, ...]:
    return getAllLemmas(word, upos="VERB").get("VERB", ()) if word.isalpha() else ()


INTRANSITIVE = listed(
    "go come travel arrive live work return appear disappear happen stand sit lie fall rise walk sleep wait stay"
    " head crawl look smile remain die vanish flow sprawl react march occur exist belong"
)
"""Plain forms of verbs that nobody does to anything."""

KNOWN = listed(
    "arise awake bear beat become begin bend bind bite bleed blow break breed bring build burn burst buy cast catch"
    " choose cling come cost creep cut deal dig do draw dream drink drive eat fall feed feel fight find flee fling fly"
    " forbid forget forgive freeze get give go grind grow hang have hear hide hit hold hurt keep kneel know lay lead"
    " leap learn leave lend let lie light lose make mean meet mistake overcome overhear pay put quit read rebuild ride"
    " ring rise run say see seek sell send set sew shake shed shine shoot show shrink shut sing sink sit sleep slide"
    " speak spend spin split spread spring stand steal stick sting strike strive swear sweep swim swing take teach"
    " tear tell think throw thrust undergo understand undertake wake wear weave weep win wind withdraw withstand write"
    " want try decide agree plan refuse offer promise attempt intend hope threaten manage fail wish propose start"
    " demand determine expect prepare need help ask order force allow cause permit persuade convince invite warn urge"
    " advise enable seem appear continue happen tend use remain like love hate prefer die kill"
)
"""Plain forms of well-known verbs, with all those that are irregular."""


@cache
def irregular() -> Mapping[str, str]:
    """The plain form of every irregular past and participle."""
    forms = {form: plain for plain in sorted(KNOWN) for tag in ("VBN", "VBD") for form in getInflection(plain, tag)}
    regular = {form for form, plain in forms.items() if form.endswith("ed") and len(form) > len(plain)}
    return {form: plain for form, plain in forms.items() if form.isalpha() and form not in regular}
