"""English verbs, by a dictionary: which words are forms of one, and of which."""

from __future__ import annotations

from functools import lru_cache

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
