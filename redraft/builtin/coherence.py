"""What of a summary confuses its readers beyond doubt, and which of two the document contradicts, by words alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redraft.builtin.support import ground_of, reason
from redraft.prompts.coherence import (
    Choice,
    Confusion,
    ConfusionGiven,
    Confusions,
    ErrorType,
    PreferGiven,
    Preferred,
)
from redraft.prompts.contract import UNSURE, Unsure
from redraft.text.cleaning import one_line
from redraft.text.sentences import worded
from redraft.text.words import same_words, words_key

_FEWEST_SAID = 4
_POINTS_BACK = re.compile(r"(?:he|she|they|it|his|hers?|theirs?|its)\b", re.IGNORECASE)
_CANNOT_TELL = "The built-in judge cannot tell: it sees nothing that the document contradicts in one of the two alone."
_NOT_READ = "The built-in judge cannot tell without the document; a language model can (--judge)."


def find_confusion(given: ConfusionGiven) -> Confusions:
    """A verdict on each sentence that confuses beyond doubt, in their order; the others are left open."""
    said = [words_key(text) for text in worded(given.summary)]
    found = {one.id: _doubt(one.id, one_line(one.sentence), said) for one in given.sentences}
    return Confusions(
        sentences=[
            Confusion(id=number, questions=[doubt[1]] if doubt else [], types=[doubt[0] if doubt else UNSURE])
            for number, doubt in found.items()
        ]
    )


def _doubt(number: int, sentence: str, said: Sequence[str]) -> tuple[ErrorType, str] | None:
    key = words_key(sentence)
    # A part of a long summary is numbered as the whole: there the first of two that are the same may be meant.
    if len(key.split()) >= _FEWEST_SAID and key in said[: number - 1] and said.count(key) > 1:
        return "duplication", "Why is this said twice?"
    opening = _POINTS_BACK.match(sentence) if number == 1 and [key] == said[:1] else None
    return ("entity omission", f'Who or what is meant by "{opening.group().lower()}"?') if opening else None


def prefer_summary(given: PreferGiven) -> Preferred:
    """The one with which nothing is wrong, beside one with which something is. Of all else counting tells nothing."""
    if same_words(given.first, given.second):
        return _preferred("Both say the same.", "tie", "tie")
    if not given.document:
        return _preferred(_NOT_READ)
    held = [list(map(ground_of((given.document,)).hold, worded(text))) for text in (given.first, given.second)]
    first, second = ([one for one in own if one.is_accused] for own in held)
    if bool(first) == bool(second):
        return _preferred(_CANNOT_TELL)
    better: Choice = "second" if first else "first"
    return _preferred(f"Of the other summary: {reason((first or second)[0])}", better)


def _preferred(why: str, overall: Choice | Unsure = UNSURE, other: Choice | Unsure = UNSURE) -> Preferred:
    return Preferred(reason=why, detail=other, structure=other, logic=other, overall=overall)
