"""Sizes of files as they are typed: 50MB, 1.5GB, or a number of bytes; and counts: 40, or 9-15."""

from __future__ import annotations

import re
from typing import Any

import click

from redraft import sources

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?(|B|kB|MB|GB)", re.IGNORECASE)
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


class Size(click.ParamType[int]):
    """A number of bytes, with a unit or without."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes that is meant."""
        found = _SIZE.fullmatch(str(value))
        if not found:
            self.fail(f"{value!r} is no size. Write it as 50MB or 2GB.", param, ctx)
        return int(float(found[1]) * _UNITS[found[2].upper()])


_COUNT = re.compile(r"\s*([0-9]{1,6})(?:\s*-\s*([0-9]{1,6}))?\s*")


class Count(click.ParamType["int | tuple[int, int]"]):
    """A number, or a range of numbers: 40, or 9-15."""

    name = "count"

    def __init__(self, most: int) -> None:
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | tuple[int, int]:
        """The number, or the two ends of the range."""
        found = _COUNT.fullmatch(str(value))
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if found is None or not 1 <= first <= last <= self._most:
            self.fail(
                f"{value!r} is no number from 1 to {self._most:,}, and no range of them such as 9-15.", param, ctx
            )
        return (first, last) if found[2] else first


def allow(context: click.Context, parameter: click.Parameter, most: int) -> None:  # noqa: ARG001
    """Let sources be as large as an option says."""
    sources.allow(most)
