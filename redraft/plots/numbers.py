"""Numbers of pictures: what is known, how a coordinate is written, and how a value is shown to a reader."""

from __future__ import annotations

import math

Number = float | None
"""None is what was not measured. It leaves a hole, and is never drawn as zero."""

_MINUS = "−"
# Beyond these a number is told by its power of ten.
_LARGEST, _SMALLEST = 1e15, 1e-4
_GROUPED = 1000
_FINEST = 0.0005


def finite(value: Number) -> Number:
    """The value if it is a number that can be drawn; what is not a number, or without bounds, was not measured."""
    return float(value) if value is not None and math.isfinite(value) else None


def written(value: float) -> str:
    """A coordinate, at two decimals at most."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def shown(value: Number) -> str:
    """A value for a reader, at three digits; a dash where there is none."""
    value = finite(value)
    if value is None:
        return "–"
    size = abs(value)
    if size >= _LARGEST or 0 < size < _SMALLEST:
        text = f"{value:.3g}"
    elif size >= _GROUPED:
        text = f"{value:,.0f}"
    elif 0 < size < _FINEST:
        text = f"{value:.1g}"
    else:
        text = f"{value or 0.0:.3f}" if size < 1 else f"{value:.3g}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", _MINUS)


def signed(value: Number) -> str:
    """A difference for a reader, with its sign."""
    value = finite(value)
    if value is None or not _FINEST <= abs(value) < _GROUPED:
        text = shown(value)
        return f"+{text}" if value is not None and value > 0 else text
    return f"{value:+.3f}".replace("-", _MINUS)


def percent(share: Number) -> str:
    """A share for a reader, in whole percent; what is there, if ever so little, is not nothing."""
    share = finite(share)
    if share is None:
        return "–"
    if abs(share) >= _GROUPED:
        return f"{shown(share * 100)} %"
    return "< 1 %" if 0 < share < 0.005 else f"{round(share * 100)} %".replace("-", _MINUS)


def count(number: int, one: str, many: str = "") -> str:
    """So many of something, in words: "1 call", "2 calls"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def interval(value: Number, low: Number, high: Number) -> str:
    """A value with its interval, as far as they are known."""
    low, high = finite(low), finite(high)
    return shown(value) if low is None or high is None else f"{shown(value)} [{shown(low)}, {shown(high)}]"
