"""Sizes of files as they are typed: 50MB, 1.5GB, or a number of bytes."""

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


def allow(context: click.Context, parameter: click.Parameter, most: int) -> None:  # noqa: ARG001
    """Let sources be as large as an option says."""
    sources.allow(most)
