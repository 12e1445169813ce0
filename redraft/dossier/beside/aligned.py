"""Questions and key facts of a document, each with its verdict in every run on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redraft.dossier.beside.contents import ItemBeside, Standing, Verdict
from redraft.dossier.beside.sides import Side
from redraft.dossier.contents import Item

ALIGNED = ("coverage", "keyfact_recall")
"""The metrics whose items are the document's, and so the same for every summary. Those of the others are the
summary's own sentences and claims."""
HALF = 0.5
"""What counts at least so much is there, where judges differ."""
_ORDER: tuple[Standing, ...] = ("flipped", "changed", "open", "same")


def aligned(sides: Mapping[str, Side], first: int) -> tuple[ItemBeside, ...]:
    """The items of the runs on one document, which are told by their names. They are numbered from `first`: what has
    flipped comes first, by metric and by place."""
    known = {name: {item.key: item for item in side.items if item.key} for name, side in sides.items()}
    every: dict[str, Item] = {}
    for of_one in known.values():
        for key, item in of_one.items():
            every.setdefault(key, item)
    found = [_beside(item, {name: of_one.get(key) for name, of_one in known.items()}) for key, item in every.items()]
    found.sort(key=_rank)
    return tuple(one.model_copy(update={"number": number}) for number, one in enumerate(found, first))


def _beside(item: Item, told: Mapping[str, Item | None]) -> ItemBeside:
    verdicts = tuple(_verdict(name, one) for name, one in told.items())
    expected = next((one.expected for one in told.values() if one and one.expected), item.expected)
    return ItemBeside(
        number=0,
        metric=item.metric,
        kind=item.kind,
        key=item.key,
        text=item.text,
        expected=expected,
        place=item.place,
        verdicts=verdicts,
        standing=standing(verdicts),
    )


def _verdict(name: str, item: Item | None) -> Verdict:
    if item is None:
        return Verdict(run=name, verdict="", value=None, found="", sentences=())
    return Verdict(run=name, verdict=item.verdict, value=item.value, found=item.found, sentences=item.sentences)


def standing(verdicts: Sequence[Verdict]) -> Standing:
    """Whether the summaries differ in an item."""
    values = [one.value for one in verdicts]
    if None in values:
        return "open"
    if len({value >= HALF for value in values if value is not None}) > 1:
        return "flipped"
    return "changed" if len({one.verdict for one in verdicts}) > 1 else "same"


def _rank(item: ItemBeside) -> tuple[int, int, int, str]:
    start = item.place.start if item.place else -1
    return (_ORDER.index(item.standing), ALIGNED.index(item.metric), start, item.key)
