"""How many of some spans of time are under way at once, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_ENDS, _BEGINS, _ENDS_AT_ONCE = range(3)


def under_way(spans: Iterable[tuple[float, float]], step_of: Callable[[float], int], steps: int) -> list[int]:
    """The most that are under way within each step of time, told by the number of the step of a moment.

    Of two, one of which ends when the other begins, only one is under way.
    """
    events: list[tuple[float, int]] = []
    for start, end in spans:
        events += [(start, _BEGINS), (end, _ENDS if end > start else _ENDS_AT_ONCE)]
    most, now, before = [0] * steps, 0, 0
    for moment, event in sorted(events):
        step = step_of(moment)
        for at in range(before + 1, step + 1):
            most[at] = now
        now += 1 if event == _BEGINS else -1
        most[step] = max(most[step], now)
        before = step
    return most
