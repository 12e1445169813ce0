"""The sentences of a text that can stand as facts: short, self-contained, and in the words of the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from redraft.builtin.facts.statements import Statement, leading_name, read_statement
from redraft.builtin.grammar import first_clause
from redraft.builtin.lexicon import FIRST_PERSON, GESTURE, PERSONAL, SECOND_PERSON
from redraft.builtin.pointing import points_back
from redraft.builtin.prose import LAST_RESORT, finish, plain, read
from redraft.text.languages import language_of
from redraft.text.ranking import rank
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.wording import listed
from redraft.text.words import count_words

_FEWEST_WORDS, _MOST_WORDS = 4, 45
_LONG = 28
_SPOKEN_OR_ASIDE = re.compile(r"[\"“”«»「」()\[\]…]|\.\.\.|(?<!\w)['‘]\w")
_ASKS = re.compile(r"[?!][\"'”’»)]*$")
_SUBJECT = re.compile(r"(?:He|She)\b(?!['’])|(?:His|Her)\b(?= [a-z])")
# What has to be looked for elsewhere, wherever it stands in a sentence.
_LOOSE = re.compile(r"\b(?:him|them|theirs|this|these|those|there|here|then|so|such|it)\b", re.IGNORECASE)
_POSSESSIVE = frozenset(["His", "Her"])
_STATIVE = listed(
    "be have know think seem believe love mean want need like hate own belong consist contain depend resemble"
    " hope fear wish suppose appear remain stand lie feel understand trust doubt matter deserve live lay sit"
)
_COPULA = re.compile(r"\b(?:was|were|is|are)\b(?! \w+(?:ed|en|ing)\b)|\bhad been\b")
_ADRIFT = 0.35
_SAME = 0.7


class Told(NamedTuple):
    """A sentence that can stand as a fact."""

    fact: str
    at: int
    """Which sentence of the text it is."""
    worth: float
    """How central it is, beside the average sentence, with an eye on how well it reads by itself."""
    happens: bool
    """Whether something happens, and it does not say how things are."""
    terms: frozenset[str]


def tell(excerpt: str) -> list[Told]:
    """What `excerpt` says that can be understood sentence by sentence, in its order."""
    judged = {sentence.text: sentence for sentence in read([excerpt], language_of(excerpt))}
    if not judged:
        return []
    ranks = rank(SentenceVectors(list(judged))) * len(judged)
    central = dict(zip(judged, map(float, ranks), strict=True))
    told: list[Told] = []
    before: Statement | None = None
    seen: set[str] = set()
    for at, span in enumerate(sentences(excerpt)):
        text = finish(plain(excerpt[span.start : span.end]))
        sentence = judged.get(text)
        statement = read_statement(text)
        if sentence and sentence.standing > LAST_RESORT and text not in seen and (fact := _fact(text, before)):
            seen.add(text)
            own = read_statement(fact)
            worth = central[text] * sentence.standing**0.5 * _clearness(fact, own)
            told.append(Told(fact, at, worth, _happens(fact, own), own.terms))
        before = statement if not _SPOKEN_OR_ASIDE.search(text) else None
    return told


def any_sentence(excerpt: str) -> list[Told]:
    """Every sentence with a word, for a text that has none that reads well."""
    texts = dict.fromkeys(finish(plain(excerpt[span.start : span.end])) for span in sentences(excerpt))
    kept = [text for text in texts if count_words(text)]
    return [Told(text, at, 1.0, True, read_statement(text).terms) for at, text in enumerate(kept)]


def _fact(text: str, before: Statement | None) -> str:
    """The sentence, or what of it can stand alone; nothing where it cannot be understood alone."""
    if _SPOKEN_OR_ASIDE.search(text) or _ASKS.search(text) or FIRST_PERSON.search(text) or SECOND_PERSON.search(text):
        return ""
    fact = first_clause(text)
    if count_words(fact) < _FEWEST_WORDS or count_words(fact) > _MOST_WORDS:
        return ""
    if pronoun := _SUBJECT.match(fact):
        name = _meant(before)
        if not name:
            return ""
        owner = f"{name}’s" if pronoun.group() in _POSSESSIVE else name
        fact = owner + fact[pronoun.end() :]
    if points_back(fact):
        return ""
    own = read_statement(fact)
    pointing = PERSONAL.search(fact)
    if pointing and not any(own.words[name.first].start < pointing.start() for name in own.names):
        return ""
    return fact


def _meant(before: Statement | None) -> str:
    """Whom a pronoun at the beginning of a sentence stands for, where the one before speaks of one person only."""
    if before is None:
        return ""
    firm = {name.keys for name in before.names if name.sure}
    leading = leading_name(before)
    if leading is None or len(firm) != 1 or leading.before:
        return ""
    return leading.spelt


def _clearness(fact: str, own: Statement) -> float:
    """How well a fact would be understood by somebody who has only the fact: 1 is best."""
    clear = _ADRIFT if _LOOSE.search(fact) else 1.0
    firm = sum(name.sure for name in own.names)
    clear *= (0.6, 1.0, 1.1, 1.0)[min(firm, 3)] * (1.1 if own.numbers else 1.0)
    clear *= _ADRIFT if GESTURE.search(fact) else 1.0
    return clear * min(1.0, _LONG / max(1, count_words(fact)))


def _happens(fact: str, own: Statement) -> bool:
    verb = own.verb
    return verb is not None and verb.plain not in _STATIVE and not _COPULA.search(fact, 0, own.words[verb.at].start)


def distinct(told: Sequence[Told]) -> list[Told]:
    """Those that say something that none before them says."""
    kept: list[Told] = []
    for one in told:
        if not any(_say_the_same(one, other) for other in kept):
            kept.append(one)
    return kept


def _say_the_same(one: Told, other: Told) -> bool:
    if not one.terms or not other.terms:
        return one.fact.casefold() == other.fact.casefold()
    return len(one.terms & other.terms) >= _SAME * min(len(one.terms), len(other.terms))
