"""The sentences of the summary, with where they come from and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.dossier.contents import FindingEntry, Positions, Sentence, Source
from redraft.dossier.places import Places
from redraft.history.lineage import DRIFTS, By, Lineage, Origin
from redraft.text.headings import is_heading
from redraft.text.positions import Mass, bins, density, shares, spread

_BINS = 10


def sentence_numbers(lineage: Lineage) -> dict[str, int]:
    """The number of each sentence by its words; of the first where several have the same."""
    found: dict[str, int] = {}
    for one in lineage.sentences:
        found.setdefault(one.text, one.number)
    return found


def sentences(lineage: Lineage, places: Places, findings: Sequence[FindingEntry]) -> Iterator[Sentence]:
    """Each sentence of a draft."""
    about: dict[int, list[int]] = {}
    for finding in findings:
        if finding.sentence is not None and finding.state == "open":
            about.setdefault(finding.sentence, []).append(finding.number)
    for one in lineage.sentences:
        heading = is_heading(one.text)
        yield Sentence(
            number=one.number,
            start=one.span.start,
            end=one.span.end,
            text=one.text,
            sources=() if heading else tuple(_source(origin, places, one.by) for origin in one.places),
            drift=DRIFTS[one.drift] if one.drift and not heading else "",
            invented=one.invented if not one.places and not heading else "",
            findings=tuple(about.get(one.number, ())),
        )


def _source(origin: Origin, places: Places, by: By) -> Source:
    return Source(place=places.known(origin.span), weight=round(origin.weight, 3), way=origin.way, by=by)


def positions(lineage: Lineage) -> Positions:
    """From where in the document the draft comes: each sentence counts one, parted among its places."""
    length = max(1, len(lineage.document.text))
    told = [one for one in lineage.sentences if not is_heading(one.text)]
    traced = [one for one in told if one.places]
    found = [
        Mass((origin.span.start + origin.span.end) / 2 / length, origin.weight / sum(o.weight for o in one.places))
        for one in traced
        for origin in one.places
    ]
    return Positions(
        traced=len(traced),
        untraced=len(told) - len(traced),
        thirds=tuple(shares(found, bins(3))),
        bins=tuple(shares(found, bins(_BINS))),
        density=tuple(density(found)),
        spread=spread(found, min(len(traced), _BINS)),
    )
