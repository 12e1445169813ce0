"""Which places a sentence comes from: those that have half of its telling words, together with those before them."""

from __future__ import annotations

from redraft.builtin.registry import answers
from redraft.prompts.origins import TRACE_SENTENCES, AllSources, Sources, TraceGiven
from redraft.text.languages import language_of
from redraft.text.wording import telling

_SHARE = 0.5
_MOST = 3


@answers(TRACE_SENTENCES)
def trace_sentences(given: TraceGiven) -> AllSources:
    """The best place, and those that have more of the sentence, if all of them together have enough."""
    language = language_of("\n".join(place.passage for place in given.places))
    there = {place.id: telling(place.passage, language) for place in given.places}
    return AllSources(
        sentences=[
            Sources(id=one.id, places=_places(telling(one.sentence, language), there)) for one in given.sentences
        ]
    )


def _places(wanted: frozenset[str], there: dict[int, frozenset[str]]) -> list[int]:
    left, found = wanted, list[int]()
    while left and len(found) < _MOST and there:
        best = max(there, key=lambda place: len(left & there[place]))
        if not left & there[best]:
            break
        found.append(best)
        left -= there[best]
    return found if wanted and len(wanted - left) >= _SHARE * len(wanted) else []
