"""Taking an English sentence apart: who or what does it, what is done, and what is said of why, when, where and how.

Only sentences that begin with a subject that is not hard to tell are taken apart; of the others nothing is claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from redraft.builtin.verbs import (
    AUXILIARIES,
    BE,
    MODALS,
    is_participle,
    is_past,
    is_present,
    plain_form,
)
from redraft.builtin.wording import DAYS, MONTHS, listed
from redraft.text.vectors import stop_words

_TOKEN = re.compile(r"[^\s—–]+")
_ENDS_WORD = '.,;:!?)("“”'
_TITLES = listed("mr. mrs. ms. dr. st. prof. capt. col. gen. lt. sgt. rev. no. vol.")
BEGINS_SUBJECT = listed("the a an his her their its my our every each both all many several two three four five six")
_WITHIN_NAME = listed("of the and & de van von la le du")
_BEGINS_CLAUSE = listed(
    "who which that if when where while because since although though but or nor so as what how why"
)
PREPOSITIONS = listed(
    "of to in on at by for from with into onto upon over under about against between among without within along"
    " across behind beyond toward towards through during inside outside near beside beneath above below around past"
    " aboard off out up down before after until"
)
_STOPS = listed(
    "who which whom whose when while as if although though where whereas until before after till unless than what"
    " how why whether"
)
_ADVERBS = listed(
    "never always also then now soon still just once again finally even ever not often later suddenly only"
    " meanwhile twice already"
)
_LONGEST_SUBJECT = 8
TIME = re.compile(
    r"\b(?:"
    + "|".join(sorted((MONTHS - {"may", "march"}) | DAYS))
    + r"|May \d|\d (?:May|March)|(?:in|of|that|since|by) (?:May|March)|1\d{3}|2\d{3}|o['’]clock|noon|midnight|dawn|dusk"
    r"|sunrise|sunset|(?:day|night|morning|evening|afternoon|week|month|year|hour|minute|spring|summer|autumn|winter"
    r"|century|decade)s?|\d+ (?:a|p)\.m)\b",
    re.IGNORECASE,
)


class Clause(NamedTuple):
    """A clause: the words of its subject, of its verb, and of what follows, up to its end."""

    opening: str
    """What stood before the subject, up to a comma."""
    subject: str
    helpers: tuple[str, ...]
    """The verb's auxiliaries, as "had been"."""
    verb: str
    rest: str
    beyond: str
    """What follows in the sentence."""
    reason: str = ""
    """What it is done for, where that stands before the verb."""

    @property
    def active(self) -> bool:
        """Whether the subject does what the verb says."""
        return not (set(self.helpers) & BE) or self.verb.endswith("ing")

    @property
    def plain(self) -> str:
        """The verb as a dictionary has it."""
        return plain_form(self.verb)

    @property
    def predicate(self) -> str:
        """All behind the subject."""
        return " ".join([*self.helpers, self.verb, self.rest]).strip()

    def asked_with(self, opening: str, rest: str) -> str:
        """The clause as a question that begins with `opening`, as "why", and ends with `rest`."""
        subject = lowered(self.subject)
        if self.helpers == ("had",) and self.verb != "been":
            return f"{opening} did {subject} {self.plain} {rest}".strip()
        if self.helpers == ("had", "been"):
            return f"{opening} was {subject} {self.verb} {rest}".strip()
        if not self.helpers:
            if is_present(self.verb):
                return f"{opening} does {subject} {self.plain} {rest}".strip()
            if self.verb in ("was", "were", "is", "are"):
                return f"{opening} {self.verb} {subject} {rest}".strip()
            return f"{opening} did {subject} {self.plain} {rest}".strip()
        return " ".join([opening, self.helpers[0], subject, *self.helpers[1:], self.verb, rest]).strip()


def lowered(subject: str) -> str:
    """A subject as it stands within a sentence."""
    first, _, others = subject.partition(" ")
    return f"{first.lower()} {others}" if first.lower() in BEGINS_SUBJECT else subject


# "He'd", of which nobody knows whether it had or would.
_SHORTENED = re.compile(r"['’](?:d|ll|re|ve)\b")
# What joins a sentence to the one before it, or says in what manner.
_LEADING = re.compile(
    r"^(?:(?:and|but|so|then|now|yet|still|finally|at last|at once|suddenly|instead|however|meanwhile|soon|later"
    r"|eventually|afterwards?|[a-z]{3,}ly),? )+",
    re.IGNORECASE,
)


def clauses_of(sentence: str) -> Iterator[Clause]:
    """The clauses of a sentence whose subjects are not hard to tell: from its beginning on, and those within."""
    seen: set[tuple[str, str]] = set()
    for start in (0, *(found.end() for found in _INNER.finditer(sentence))):
        clause = take_apart(sentence[start:]) if start == 0 or _begins_subject(sentence[start:]) else None
        for _ in range(_MOST_CLAUSES):
            if clause is None or (clause.subject, clause.verb) in seen:
                break
            seen.add((clause.subject, clause.verb))
            yield clause
            clause = _following(clause)


# Behind these words another clause begins, and it is said to be so; not behind "if".
_INNER = re.compile(
    r"(?:\b(?:that|because|when|while|as|until|before|after|since|where|and|but|so|though|although)|[;:—])"
    r" (?=[A-Z]|the |an? )"
)
_MOST_CLAUSES = 4
_JOINED = re.compile(r"^(?:(?:and|but|then|and then|so)[,]? )+")


def _following(clause: Clause) -> Clause | None:
    """The clause that is joined to one: with the same subject, or with one of its own."""
    joined = _JOINED.match(clause.beyond)
    if not joined:
        return None
    text = clause.beyond[joined.end() :]
    tokens = text.split()
    if not tokens:
        return None
    if is_past(tokens[0].rstrip(_ENDS_WORD)):
        return _with_verb("", clause.subject, tokens, 0)
    return take_apart(text) if tokens[0][:1].isupper() or tokens[0] in ("the", "a", "an") else None


def take_apart(sentence: str) -> Clause | None:
    """The first clause of a sentence; None where its subject or its verb is hard to tell."""
    text = _LEADING.sub("", sentence.rstrip(" ."))
    text = text[:1].upper() + text[1:]
    opening = ""
    if _OPENS_PHRASE.match(text) or not _begins_subject(text):
        opening, text = _after_opening(text)
        if not text:
            return None
    tokens = [match.group() for match in _TOKEN.finditer(text)]
    at = _end_of_subject(tokens)
    reason = ""
    if not at and (aside := _ASIDE.match(text)):
        tokens = [match.group() for match in _TOKEN.finditer(f"{aside.group(1)} {text[aside.end() :]}")]
        at = _end_of_subject(tokens)
        at = at if at == len(aside.group(1).split()) else 0
        reason = found.group() if (found := _PURPOSE_ASIDE.match(aside.group(2))) else ""
    if not at or _SHORTENED.search(" ".join(tokens[: at + 1])):
        return None
    clause = _with_verb(opening, " ".join(tokens[:at]), tokens, at)
    return clause._replace(reason=reason) if clause and reason else clause


def _after_opening(text: str) -> tuple[str, str]:
    """What stands before the subject, up to a comma or to a name that a verb stands behind; and the rest."""
    opening, comma, rest = text.partition(", ")
    # A date has commas within: "On Monday, 3 March 1924, Hester came".
    while comma and rest[:1].isdigit():
        more, comma, rest = rest.partition(", ")
        opening = f"{opening}, {more}"
    if comma and _begins_subject(rest) and _may_open(opening):
        return opening, rest
    tokens = [match.group() for match in _TOKEN.finditer(text)]
    if tokens and _OPENS_PHRASE.match(text):
        for at in range(2, min(_LONGEST_OPENING, len(tokens))):
            begins = tokens[at] == "the" or (tokens[at][:1].isupper() and not tokens[at - 1][:1].isupper())
            apart = tokens[at - 1].lower() not in PREPOSITIONS | BEGINS_SUBJECT
            if begins and apart and _end_of_subject(tokens[at:]):
                return " ".join(tokens[:at]), " ".join(tokens[at:])
    return "", ""


_LONGEST_OPENING = 9
_OPENS_PHRASE = re.compile(r"(?:In|On|At|By|During|After|Before|From|Until|Since|For|With) (?!one\b)")


def _with_verb(opening: str, subject: str, tokens: Sequence[str], at: int) -> Clause | None:
    """The clause whose verb begins at word `at`."""
    verb = _verb(tokens, at)
    if verb is None:
        return None
    helpers, place = verb
    rest, beyond = _cut(tokens[place + 1 :]) if tokens[place][-1] not in _ENDS_WORD else ([], tokens[place + 1 :])
    return Clause(
        opening, subject.rstrip(","), helpers, tokens[place].rstrip(_ENDS_WORD), " ".join(rest), " ".join(beyond)
    )


# "Matthias Crane, the clerk, sent", "Hester, who noticed things, saw".
_ASIDE = re.compile(r"((?:[A-Z][\w’'-]*\.? ?){1,4}|The [a-z]+(?: [a-z]+)?), ([a-z][^,;:—\"“”]{2,90}), ")
_PURPOSE_ASIDE = re.compile(r"(?:to (?!the|a|an|his|her)[a-z]+|because|for fear of) .+")


def _begins_subject(text: str) -> bool:
    first = text.split(" ", 1)[0]
    bare = re.split(r"['’]", first.lower())[0].rstrip(_ENDS_WORD)
    return bare in BEGINS_SUBJECT or (first[:1].isupper() and (bare not in stop_words() or first.lower() in _TITLES))


_OPENS = listed("in on at by during after before since until from for to because when while with despite that one the")


def _may_open(opening: str) -> bool:
    return opening.split(" ", 1)[0].lower() in _OPENS and '"' not in opening


def _end_of_subject(tokens: Sequence[str]) -> int:
    """Behind how many words the subject ends and the verb, or an adverb before it, begins; 0 where that is not told."""
    article = tokens[0].lower() in BEGINS_SUBJECT or tokens[0].endswith(("'s", "’s", "s'", "s’"))
    for at, token in enumerate(tokens[: _LONGEST_SUBJECT + 1]):
        word = token.rstrip(_ENDS_WORD)
        if at and _begins_verb(tokens, at, article=article):
            return at
        marked = token[-1] in _ENDS_WORD and token.lower() not in _TITLES and not re.fullmatch(r"(?:[A-Z]\.)+", token)
        if marked and token.endswith(",") and at + 1 < len(tokens):
            return 0
        if marked or (at and not _goes_on(word, article=article)):
            return 0
    return 0


def _goes_on(word: str, *, article: bool) -> bool:
    if word[:1].isupper() or word.lower() in _WITHIN_NAME:
        return True
    if word in ("later", "ago", "after"):
        return False
    return (
        article
        and word.lower() not in _BEGINS_CLAUSE
        and word.isalpha() | ("-" in word) | ("’" in word) | ("'" in word)
    )


def _begins_verb(tokens: Sequence[str], at: int, *, article: bool) -> bool:
    word = tokens[at].rstrip(_ENDS_WORD)
    if word in AUXILIARIES or word in _PRESENT or (not article and is_present(word) and _names(tokens[:at])):
        return True
    if word in _ADVERBS or (word.endswith("ly") and word.islower() and not article):
        following = tokens[at + 1].rstrip(_ENDS_WORD) if at + 1 < len(tokens) else ""
        return following in AUXILIARIES or is_past(following) or following in _PRESENT
    if not is_past(word) or tokens[at - 1].lower() in BEGINS_SUBJECT:
        return False
    if (
        word in ("named", "called", "known", "labeled", "labelled", "headed", "marked", "titled")
        and tokens[at + 1 : at + 2]
        and tokens[at + 1][:1].isupper()
    ):
        return False
    if not article or not (word.endswith("ed") or word in _ALSO_NOUNS):
        return True
    # "The tarred posts", "the wounded man": a word in -ed before a noun is no verb.
    after = tokens[at + 1].lower().strip(_ENDS_WORD) if at + 1 < len(tokens) else ""
    return (
        tokens[at][-1] in _ENDS_WORD
        or not after
        or after in _AFTER_VERB
        or after.endswith("ly")
        or (tokens[at + 1][:1].isupper())
    )


def _names(tokens: Sequence[str]) -> bool:
    """Whether these words are a name, whose own is not spoken of."""
    return tokens[-1][:1].isupper() and not tokens[-1].endswith(("s", "’", "'"))


# Irregular pasts that are nouns or adjectives as well: "a slow beat of drums".
_ALSO_NOUNS = listed(
    "beat cut set hit put cast cost shot saw felt left ground light lit wound rose bound spread burst read thought"
    " split bit dug fell drove lost broken found shut"
)
_PRESENT = listed(
    "says takes makes gives goes comes finds tells leads leaves becomes begins lives wants meets sees dies"
)
_AFTER_VERB = PREPOSITIONS | listed(
    "a an the his her its their him them it that not all no some as and but one two three four back away together"
    " because until only"
)


def _verb(tokens: Sequence[str], at: int) -> tuple[tuple[str, ...], int] | None:
    """The auxiliaries of the verb that begins at `at`, and where the verb itself is."""
    helpers: list[str] = []
    for place in range(at, min(at + 6, len(tokens))):
        word = tokens[place].rstrip(_ENDS_WORD)
        if word in ("not", "never") or word.endswith(("n't", "n’t")):
            return None
        if word in _ADVERBS or (word.endswith("ly") and word != "only"):
            continue
        last = helpers[-1] if helpers else ""
        if word in AUXILIARIES:
            helpers.append(word)
            if tokens[place][-1] in _ENDS_WORD:
                return None
        elif not helpers:
            return ((), place) if is_past(word) or is_present(word) else None
        elif last in MODALS or last in ("did", "does", "do"):
            return (tuple(helpers), place) if word.isalpha() and word.islower() else None
        elif last in BE and word == "to" and tokens[place + 1 : place + 2] == ["be"]:
            helpers.append(word)  # "was to be sold"
        elif is_participle(word) or (last in BE and word.endswith("ing")):
            return tuple(helpers), place
        else:
            return _as_main_verb(helpers, place)
    return None


def _as_main_verb(helpers: list[str], place: int) -> tuple[tuple[str, ...], int] | None:
    """ "Was" or "had" as a verb of its own: the last of the words taken for auxiliaries."""
    return (tuple(helpers[:-1]), place - 1) if helpers[-1] in ("was", "were", "had", "been") else None


def _cut(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """What belongs to the clause, and what follows."""
    rest: list[str] = []
    for at, token in enumerate(tokens):
        word = token.rstrip(_ENDS_WORD).lower()
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        bare = after.rstrip(_ENDS_WORD)
        if word in _STOPS and not (word in ("before", "after", "until", "than") and _opens_noun(tokens, at + 1)):
            return _trimmed(rest), list(tokens[at:])
        if word in ("and", "but", "or") and (
            word == "but"
            or bare.lower() in _BREAKS
            or is_past(bare)
            or bare in AUXILIARIES
            or bare.endswith("ly")
            or _clause_follows(tokens[at + 1 :])
            or any(is_past(word) for word in tokens[at + 2 : at + 4])
        ):
            return _trimmed(rest), list(tokens[at:])
        if token[:1] in '"“(' or token in ("—", "–", "-"):
            return _trimmed(rest), list(tokens[at:])
        rest.append(token)
        if token[-1] in ',;:!?)"”' and not (token[-1] == "," and after[:1].isdigit()):
            return _trimmed(rest), list(tokens[at + 1 :])
    return _trimmed(rest), []


def _trimmed(tokens: Sequence[str]) -> list[str]:
    """Without the mark at the end."""
    return [*tokens[:-1], tokens[-1].rstrip(',;:!?)"”')] if tokens else []


_BREAKS = listed("he she it they i we you then so there that this who which not")


def _opens_noun(tokens: Sequence[str], at: int) -> bool:
    """Whether a noun follows, and no clause."""
    return at < len(tokens) and not _clause_follows(tokens[at:])


def _clause_follows(tokens: Sequence[str]) -> bool:
    """Whether a subject with its verb begins here."""
    if not tokens:
        return False
    if tokens[0].lower() in _BREAKS:
        return True
    return bool(_begins_subject(tokens[0])) and bool(_end_of_subject(tokens))
