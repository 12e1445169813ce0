"""Chains of origins from a summary to the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from redraft.document import Span
from redraft.text.origins import MAX_PLACES, Link, SentenceOrigin


@dataclass(frozen=True, slots=True, eq=False)
class DerivedText:
    """A text that was written from `parents`, in the order of the `OriginTracer` that traced it."""

    traced: tuple[SentenceOrigin, ...]
    parents: tuple[DerivedText | int, ...]
    """Other derived texts, and excerpts of the document, each given by the offset at which it begins."""


@dataclass(frozen=True, slots=True)
class OriginPlace:
    """A place of the document that a sentence comes from, and the links that lead there."""

    span: Span
    weight: float
    """The least weight along the way."""
    way: tuple[Link, ...]
    """The links from the sentence down to the document."""


@dataclass(frozen=True, slots=True)
class ComposedOrigin:
    """A sentence, and the places of the document that it comes from through the intermediate texts."""

    span: Span
    places: tuple[OriginPlace, ...]
    """The best first, at most three."""
    lost: tuple[Link, ...] = ()
    """The links to the text in which the content first appeared, if no place is found."""


Known = dict[int, tuple[ComposedOrigin, ...]]
"""Composed texts by identity; its owner must keep the texts alive as well."""


def compose(text: DerivedText, composed: Known | None = None) -> tuple[ComposedOrigin, ...]:
    """Return the sentences of a text with their places in the document; texts in `composed` are not composed again."""
    composed = {} if composed is None else composed
    waiting = [text]
    # A running summary has hundreds of ancestors, too many for recursion.
    while waiting:
        below = [
            derived_text
            for derived_text in waiting[-1].parents
            if isinstance(derived_text, DerivedText) and id(derived_text) not in composed
        ]
        if below:
            waiting += below
        else:
            derived = waiting.pop()
            composed[id(derived)] = tuple(_followed(origin, derived.parents, composed) for origin in derived.traced)
    return composed[id(text)]


Drift = Literal["", "elsewhere", "nowhere", "bypassed"]
"""How a sentence's place differs from its composed one: not at all; the document has it `elsewhere`; the chain leads to
the document, which has it `nowhere`; or only the document has it, and not the intermediate texts."""


def drift(composed: ComposedOrigin, direct: SentenceOrigin, near: int = 0) -> Drift:
    """Return how the direct map of a sentence differs from the composed one; places at most `near` characters apart are
    the same."""
    if not composed.places:
        return "bypassed" if direct.links else ""
    if not direct.links:
        return "nowhere"
    met = any(
        place.span.start <= link.span.end + near and link.span.start <= place.span.end + near
        for place in composed.places
        for link in direct.links
    )
    return "" if met else "elsewhere"


def _followed(traced: SentenceOrigin, parents: Sequence[DerivedText | int], composed: Known) -> ComposedOrigin:
    """Return a sentence with its places in the document, by way of its parents, which are composed."""
    ways: list[list[OriginPlace]] = []
    lost: tuple[Link, ...] = ()
    for link in traced.links:
        parent = parents[link.text]
        if isinstance(parent, int):
            span = Span(link.span.start + parent, link.span.end + parent)
            ways.append([OriginPlace(span, link.weight, (link,))])
            continue
        below = [origin for origin in composed[id(parent)] if origin.span.overlaps(link.span)]
        places = [
            OriginPlace(place.span, min(link.weight, place.weight), (link, *place.way))
            for origin in below
            for place in origin.places
        ]
        ways.append(sorted(places, key=lambda place: -place.weight))
        if not places and not lost:
            lost = (link, *next((origin.lost for origin in below if origin.lost), ()))

    # The best place through each parent, and then the second best.
    best: dict[Span, OriginPlace] = {}
    for rank in range(MAX_PLACES):
        for place in sorted((way[rank] for way in ways if rank < len(way)), key=lambda place: -place.weight):
            if place.span not in best or best[place.span].weight < place.weight:
                best[place.span] = place
    return ComposedOrigin(traced.span, tuple(best.values())[:MAX_PLACES], () if best else lost)
