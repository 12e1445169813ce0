"""The pictures of a dossier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import fmean
from typing import NamedTuple

from markupsafe import Markup

from redraft.report.dossier.contents import Dossier, JudgedItem, Positions, RoundEntry
from redraft.report.pages.formatting import spaced
from redraft.report.plots.curves import Curve, Densities
from redraft.report.plots.figure import figure
from redraft.report.plots.parts import DocumentPart, Parts
from redraft.report.plots.picture import NARROW, WIDE, Plot
from redraft.report.plots.round_scores import Metric, RoundScores
from redraft.report.plots.shares import ShareBar, Shares
from redraft.report.plots.waterfall import Waterfall, WaterfallCall

_FIFTHS = 5
# The quantile of the normal distribution for an interval of 95 %.
_QUANTILE = 1.959964
_OK = "ok"
_MEASURED = {
    "coverage": ("Questions answered", "questions answered"),
    "keyfact_recall": ("Key facts stated", "key facts stated"),
}


class DossierPictures(NamedTuple):
    """Figures as HTML, by part of the page."""

    rounds: tuple[Markup, ...]
    places: tuple[Markup, ...]
    calls: tuple[Markup, ...]


def pictures(dossier: Dossier) -> DossierPictures:
    """What there is to draw of a run."""
    return DossierPictures(
        tuple(map(_figure, _of_rounds(dossier))),
        tuple(map(_figure, _of_places(dossier))),
        tuple(map(_bare, _of_calls(dossier))),
    )


def _figure(plot: Plot) -> Markup:
    return Markup(figure(plot))  # noqa: S704 - plots escape what they are given


def _bare(plot: Plot) -> Markup:
    """Without the table behind it, which stands on the page as a list."""
    wide, narrow = plot.picture(WIDE), plot.picture(NARROW)
    drawn = Markup(f'<figure class="plot">{wide.svg}{narrow.svg}')  # noqa: S704 - plots escape what they are given
    return drawn + Markup("<figcaption>{}</figcaption></figure>").format(wide.caption)


def _of_rounds(dossier: Dossier) -> Iterator[Plot]:
    if len(dossier.rounds) < 2:
        return
    goals = {one.metric: one.goal for one in dossier.scores}
    names = list(dict.fromkeys(name for one in dossier.rounds for name in one.scores))
    metrics = [Metric(spaced(name), _scores(dossier.rounds, name), goals.get(name)) for name in names]
    yield RoundScores(metrics, [one.taken is not False for one in dossier.rounds])


def _scores(rounds: Sequence[RoundEntry], metric: str) -> list[float | None]:
    return [one.scores.get(metric) for one in rounds]


def _of_places(dossier: Dossier) -> Iterator[Plot]:
    if dossier.positions is not None:
        yield from _of_positions(dossier.positions)
    for metric, (title, measure) in _MEASURED.items():
        judged = [one for one in dossier.items if one.metric == metric and one.place is not None]
        if judged:
            parts = list(_parts(judged, dossier.document.characters))
            yield Parts(parts, f"share of {measure}", f"{title}, by part of the document")


def _of_positions(found: Positions) -> Iterator[Plot]:
    if found.density:
        yield Densities([Curve("this summary", found.density)], title="Where in the document the summary comes from")
    splits = [ShareBar("this summary", found.thirds)]
    yield Shares(splits, title="Which third of the document the summary comes from")


def _parts(items: Sequence[JudgedItem], characters: int) -> Iterator[DocumentPart]:
    """The document in fifths, each with the share of what was judged there."""
    fifths: list[list[JudgedItem]] = [[] for _ in range(_FIFTHS)]
    for one in items:
        start = one.place.start if one.place else 0
        fifths[min(_FIFTHS - 1, start * _FIFTHS // max(1, characters))].append(one)
    for at, within in enumerate(fifths):
        values = [one.value for one in within if one.value is not None]
        low, high = _interval(values)
        name = f"{at * 100 // _FIFTHS} to {(at + 1) * 100 // _FIFTHS} %"
        yield DocumentPart(name, fmean(values) if values else None, len(values), len(within) - len(values), low, high)


def _interval(values: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Wilson's interval for a share; nothing for nothing."""
    if not values:
        return None, None
    many, share, square = len(values), fmean(values), _QUANTILE**2
    middle = (share + square / (2 * many)) / (1 + square / many)
    reach = _QUANTILE / (1 + square / many) * sqrt(share * (1 - share) / many + square / (4 * many**2))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _of_calls(dossier: Dossier) -> Iterator[Plot]:
    own = [one for one in dossier.calls if not one.borrowed]
    if own:
        yield Waterfall(
            [WaterfallCall(spaced(one.prompt), one.began, one.began + one.seconds, one.outcome != _OK) for one in own]
        )
