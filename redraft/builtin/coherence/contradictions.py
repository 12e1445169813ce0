"""Two sentences of one summary that say opposite things about the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from redraft.builtin.coherence.reading import Line
from redraft.builtin.consistency.families import family
from redraft.text.wording import is_negation, is_number, keys, listed

_OPPOSITES = (
    "alive dead,alive die,survive die,win lose,rich poor,accept refuse,accept reject,agree refuse,guilty innocent,"
    "love hate,buy sell,remember forget,married single,married unmarried,married divorced,succeed fail,open shut,"
    "open close,true false,start end,old young,north south,east west,arrive leave,find lose,trust distrust,"
    "free imprison,spare kill,save kill,first last,forgive blame,oldest youngest,elder younger,ally enemy,friend enemy"
)
_HE = listed("brother father son uncle husband boyfriend king prince nephew grandfather stepfather man boy")
_SHE = listed("sister mother daughter aunt wife girlfriend queen princess niece grandmother stepmother woman girl")
# So much of what the shorter of the two sentences says the other says as well.
_SAME_THING = 0.6
_FEWEST_SHARED = 2
# A word in more sentences than this brings no two of them together.
_MOST_HOLDERS = 20


def contradictions(lines: Sequence[Line]) -> list[int | None]:
    """For each sentence, the first one before it that it contradicts."""
    holders: dict[str, list[int]] = defaultdict(list)
    called: dict[tuple[str, ...], tuple[str, int]] = {}
    found: list[int | None] = []
    for at, line in enumerate(lines):
        against = _called_otherwise(line, at, called)
        if against is None:
            near = sorted({other for topic in line.topics for other in holders[topic][:_MOST_HOLDERS]})
            against = next((other for other in near if _contradict(lines[other], line)), None)
        found.append(against)
        for topic in line.topics:
            holders[topic].append(at)
    return found


def _called_otherwise(line: Line, at: int, called: dict[tuple[str, ...], tuple[str, int]]) -> int | None:
    """The sentence in which one who is a brother here is a sister."""
    against = None
    for mention in line.mentions:
        first = mention.detail.first
        beside = first > 0 and line.text[line.words[first - 1].end : mention.detail.start] == " "
        word = line.surface(first - 1) if beside else ""
        kind = "he" if word in _HE else "she" if word in _SHE else ""
        if kind:
            known, where = called.setdefault(mention.own, (kind, at))
            if known != kind and where != at:
                against = where
    return against


def _contradict(one: Line, other: Line) -> bool:
    if not (one.names <= other.names or other.names <= one.names):
        return False
    here, there = _core(one), _core(other)
    turned = _negated(one) != _negated(other)
    numbers = _numbers(one), _numbers(other)
    differs = bool(numbers[0] - numbers[1] and numbers[1] - numbers[0])
    opposed = any(there & _opposites().get(word, frozenset()) for word in here - there)
    if turned + differs + opposed != 1:
        return False
    if opposed:
        swapped = {word for word in here if there & _opposites().get(word, frozenset())}
        swapped |= {word for word in there if here & _opposites().get(word, frozenset())}
        here, there = here - swapped, there - swapped
        needed = 1 if one.names else _FEWEST_SHARED
    else:
        needed = _FEWEST_SHARED
    shared = len(here & there)
    return shared >= max(needed, _SAME_THING * min(len(here), len(there))) and shared >= len(here | there) / 2


def _core(line: Line) -> frozenset[str]:
    return frozenset(topic for topic in line.topics if not is_negation(topic))


def _negated(line: Line) -> bool:
    return any(is_negation(key) for key in line.keys)


def _numbers(line: Line) -> frozenset[str]:
    return frozenset(key for key in line.keys if is_number(key))


@cache
def _opposites() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for pair in _OPPOSITES.split(","):
        one, other = (family(keys(word)[0]) for word in pair.split())
        found[one].add(other)
        found[other].add(one)
    return {word: frozenset(others) for word, others in found.items()}
