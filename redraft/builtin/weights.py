"""How telling a word is: whether it says what a text is about, or is in every text, or only holds others together."""

from __future__ import annotations

from functools import cache

from redraft.builtin.consistency.families import family
from redraft.text.wording import carries, keys, listed

# Words that are in every text, and say little of which.
_LIGHT = listed(
    "say tell ask answer reply speak talk call go come get give take put make let keep hold have see look know"
    " think feel seem appear want need like find use try turn begin start stop stand sit lie stay remain leave"
    " become happen set show bring run walk move man woman people person someone somebody everyone thing something"
    " anything way time day night year moment hour minute week month morning place room hand eye head face voice"
    " side part end good bad big great little small long old new young high low large own first last next right"
    " left whole one two three not never no none nothing story main character able open close pull push throw drop"
    " raise lift shut sound light dark floor wall door window chair table second far near back front top bottom"
    " half word idea fact point case matter kind sort bit number name nod smile laugh shrug sigh shake glance stare"
    " watch hear listen wait pause step reach touch follow cross lean catch carry send sink rise float slide snap"
    " draw care wonder suppose suddenly slowly quickly carefully heavy hard soft cold hot white black red blue"
    " green bright thin thick wide middle edge corner direction distance body skin hair mouth shoulder finger arm"
    " leg foot expression six seven ten four five hundred order really actually simply certain different"
)


@cache
def _light() -> frozenset[str]:
    return frozenset(family(key) for word in _LIGHT for key in keys(word))


LIGHT = 0.35
"""The weight of a word that is in every text."""
_MIDDLING = 0.6
# Words that are in every text too, and yet say what happens.
_MOVES = listed("find go want use need learn become begin leave")


@cache
def _moving() -> frozenset[str]:
    return frozenset(family(keys(word)[0]) for word in _MOVES)


def weight(key: str) -> float:
    """How much a word says of what a text is about: nothing, little or all of 1."""
    if not carries(key):
        return 0.0
    return (_MIDDLING if family(key) in _moving() else LIGHT) if family(key) in _light() else 1.0
