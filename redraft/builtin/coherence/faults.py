"""What is wrong with a sentence beyond doubt, however its signs weigh: it is broken, hangs in the air, or points at
nobody."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from redraft.builtin.coherence.reading import Line
from redraft.builtin.coherence.tables import PEOPLE, PERSON
from redraft.builtin.pointing import Cast, points_at_nobody
from redraft.builtin.verbs import AUXILIARIES, KNOWN, is_past, is_present
from redraft.text.sentences import ends_sentence
from redraft.text.wording import listed

Fault = Literal["doubled word", "cut short", "open mark", "no verb", "no antecedent", "no tie"]

_DOUBLED = re.compile(r"\b([a-z]+) \1\b")
_MAY_BE_DOUBLED = listed("had that is so very no ha bye knock long many far more")
_HANGING = listed(
    "a an the and or but of to in on at by for from with into onto as that which who whose when while because his her"
    " their its my our your is are was were has have had will would could should not"
)
_LITTLE_WORDS = listed("the a an and of to in is was her his their with for that by on at from")
_LEFT_OPEN = re.compile(r"[,;:–—-]$")
_VERBAL = re.compile(r"['’]|(?:ing|ate|i[sz]e|ify)$")
_FEWEST_WORDS = 5
_FEWEST_LITTLE_WORDS = 2
# Among fewer sentences, that one has nothing in common with the others says little.
_FEWEST_LINES = 5
# A pronoun stands for somebody in the last few sentences; one that begins a sentence, in fewer.
_REACH, _REACH_OF_OPENER = 3, 2
_POINTING = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|such|both|we|our|us|I|my|me"
    r"|(?:him|her|it|them)sel(?:f|ves))\b",
    re.IGNORECASE,
)


def faults(lines: Sequence[Line], *, is_part: bool = False) -> list[tuple[Fault, ...]]:
    """What is wrong with each sentence of a summary, or of a part that begins somewhere in the middle of one."""
    about = Counter(key for line in lines for key in line.topics | line.names)
    open_marks = [_is_open(line.text) for line in lines]
    people = Cast([line.text for line in lines])
    found: list[tuple[Fault, ...]] = []
    for at, line in enumerate(lines):
        broken = _broken(line)
        alone = not (at and open_marks[at - 1]) and not (at + 1 < len(lines) and open_marks[at + 1])
        if open_marks[at] and alone:
            broken.append("open mark")
        if not (is_part and at < _REACH) and (
            _points_at_nobody(line, lines[max(0, at - _REACH) : at])
            or points_at_nobody(line.text, [one.text for one in lines[max(0, at - _REACH_OF_OPENER) : at]], people)
        ):
            broken.append("no antecedent")
        if at and len(lines) >= _FEWEST_LINES and _is_untied(line, about):
            broken.append("no tie")
        found.append(tuple(broken))
    return found


def _broken(line: Line) -> list[Fault]:
    found: list[Fault] = []
    if any(word not in _MAY_BE_DOUBLED for word in _DOUBLED.findall(line.text)):
        found.append("doubled word")
    written = [line.surface(at).lower() for at in range(len(line.words))]
    if len(written) < _FEWEST_WORDS or sum(word in _LITTLE_WORDS for word in written) < _FEWEST_LITTLE_WORDS:
        return found
    if not ends_sentence(line.text):
        if _LEFT_OPEN.search(line.text) or written[-1] in _HANGING:
            found.append("cut short")
    elif line.text.endswith(".") and line.text[0].isupper() and not any(map(_may_be_verb, written)):
        found.append("no verb")
    return found


def _may_be_verb(word: str) -> bool:
    return is_past(word) or is_present(word) or word in AUXILIARIES or word in KNOWN or bool(_VERBAL.search(word))


def _is_open(text: str) -> bool:
    """Whether a quotation mark or bracket has no other half."""
    halves = (("“", "”"), ("(", ")"), ("[", "]"))
    return text.count('"') % 2 == 1 or any(text.count(one) != text.count(other) for one, other in halves)


def _points_at_nobody(line: Line, before: Sequence[Line]) -> bool:
    """Whether "he" or "she" stands for nobody whom this sentence or those just before speak of."""
    pronoun = PERSON.search(line.text)
    if pronoun is None or line.mentions or line.text.isupper() or PEOPLE.search(line.text):
        return False
    return not any(one.mentions or PEOPLE.search(one.text) or PERSON.search(one.text) for one in before)


def _is_untied(line: Line, about: Counter[str]) -> bool:
    """Whether a sentence has not one word or name in common with any other, and points to nothing."""
    if len(line.words) < _FEWEST_WORDS or not line.topics or _POINTING.search(line.text):
        return False
    return all(about[key] == 1 for key in line.topics | line.names)
