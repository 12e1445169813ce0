"""The pictures of a comparison."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from redraft.dossier.beside.contents import RunsBeside


class Pictures(NamedTuple):
    """By part of the page."""

    scores: tuple[Markup, ...] = ()
    places: tuple[Markup, ...] = ()


def pictures(beside: RunsBeside) -> Pictures:
    """What there is to draw of a comparison."""
    del beside
    return Pictures()
