"""How figures on a summary look that are no score: its statistics, and where in its document it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.cli.views.render import aligned, count, spaced
from redraft.domain import Evaluation
from redraft.settings import FIGURES
from redraft.text.cleaning import one_line

_LABEL, _TITLE = 14, 40
_POSITION, _SECTIONS = "position", 20
_THIRDS = ("first third", "second third", "last third")
_BARS = " ▁▂▃▄▅▆▇█"


def lines(one: Evaluation) -> Iterator[str]:
    """The figures in lines, a dash where there is none."""
    if one.metric in FIGURES:
        yield from _position(one) if one.metric == _POSITION else _statistics(one)
    else:
        yield f"{one.metric}: {_own(one)}"


def brief(one: Evaluation) -> str:
    """What of the figures is worth a look from one draft to the next."""
    if one.metric in FIGURES:
        return _brief_position(one) if one.metric == _POSITION else _brief_statistics(one)
    return f"{one.metric}: {_own(one)}"


def _own(one: Evaluation) -> str:
    """The figures of a metric that is none of redraft's: those that are numbers or words, by their names."""
    plain = {name: value for name, value in one.details.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{spaced(name)} {one_line(str(value), _TITLE)}" for name, value in plain.items()) or "measured"


def _position(one: Evaluation) -> Iterator[str]:
    details: Mapping[str, Any] = one.details
    beside: Mapping[str, Any] | None = details.get("reference")
    yield f"{one.metric}: {_traced(details)}"
    if beside:
        yield f"  {'reference':<{_LABEL}}{_traced(beside)}"
    rows = [("", "summary", *(["reference"] if beside else []), "even")]
    for at, name in enumerate(_THIRDS):
        other = [_percent(beside["thirds"][at])] if beside else []
        rows.append((name, _percent(details["thirds"][at]), *other, _percent(1 / len(_THIRDS))))
    for at, section in enumerate(details["sections"][:_SECTIONS]):
        other = [_percent(beside["sections"][at]["share"])] if beside else []
        rows.append(
            (one_line(section["title"], _TITLE), _percent(section["share"]), *other, _percent(section["expected"]))
        )
    yield from (f"  {line}" for line in aligned(rows))
    if len(details["sections"]) > _SECTIONS:
        yield f"  ... and {len(details['sections']) - _SECTIONS} more sections (--json shows them)"
    yield f"  {'tenths':<{_LABEL}}{' '.join(f'{share:.0%}' for share in details['bins'])}"
    yield f"  {'curve':<{_LABEL}}{_curve(details['density'])}"
    if beside:
        yield f"  {'':<{_LABEL}}{_curve(beside['density'])} (reference)"
    by_chance = _number(details["spread_by_chance"])
    yield f"  {'spread':<{_LABEL}}{_number(details['spread'])}, by chance {by_chance}" + (
        f", of the reference {_number(beside['spread'])}" if beside else ""
    )


def _brief_position(one: Evaluation) -> str:
    details: Mapping[str, Any] = one.details
    thirds = ", ".join(_percent(share) for share in details["thirds"])
    return f"{one.metric}: thirds {thirds}, spread {_number(details['spread'])}, {_traced(details)}"


def _traced(details: Mapping[str, Any]) -> str:
    nowhere = f", {details['untraced']:,} without a place found" if details["untraced"] else ""
    return f"{count(details['traced'], 'sentence')} traced to the document{nowhere}"


def _curve(heights: Sequence[float]) -> str:
    """A curve in a line of bars; as high as the middle one where it is even."""
    return "".join(_BARS[min(len(_BARS) - 1, round(height * len(_BARS) / 2))] for height in heights)


def _statistics(one: Evaluation) -> Iterator[str]:
    details: Mapping[str, Any] = one.details
    copied = details["extractive"]
    by_tokens, by_sentences = (_number(details["compression"][unit], 1) for unit in ("tokens", "sentences"))
    yield f"{one.metric}: {_lengths(details['summary'])}"
    rows = [
        ("source", _lengths(details["source"])),
        ("compression", f"{by_tokens} by tokens, {by_sentences} by sentences"),
        ("copied", f"coverage {_number(copied['coverage'])}, density {_number(copied['density'])}"),
        ("new n-grams", _by_size(details["novel_ngrams"])),
        ("repeated", _by_size(details["repeated_ngrams"])),
        ("redundancy", f"{_number(details['redundancy'])}, uniformity {_number(details['uniformity'])}"),
    ]
    yield from (f"  {label:<{_LABEL}}{figures}" for label, figures in rows)


def _brief_statistics(one: Evaluation) -> str:
    details: Mapping[str, Any] = one.details
    parts = [
        count(details["summary"]["sentences"], "sentence"),
        f"compression {_number(details['compression']['tokens'], 1)}",
        f"density {_number(details['extractive']['density'])}",
        f"new trigrams {_percent(details['novel_ngrams']['3'])}",
        f"repeated trigrams {_percent(details['repeated_ngrams']['3'])}",
    ]
    return f"{one.metric}: {', '.join(parts)}"


def _lengths(lengths: Mapping[str, int]) -> str:
    return ", ".join(count(lengths[unit], unit.removesuffix("s")) for unit in ("words", "sentences", "tokens"))


def _by_size(shares: Mapping[str, float | None]) -> str:
    return "  ".join(f"{size}: {_percent(share)}" for size, share in shares.items())


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _number(value: float | None, decimals: int = 2) -> str:
    return "-" if value is None else f"{value:,.{decimals}f}"
