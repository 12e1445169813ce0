"""The pictures of a dossier."""

from __future__ import annotations

from typing import Any, NamedTuple

from redraft.dossier.contents import Dossier


class Pictures(NamedTuple):
    """By part of the page."""

    rounds: tuple[Any, ...] = ()
    places: tuple[Any, ...] = ()
    calls: tuple[Any, ...] = ()


def pictures(dossier: Dossier) -> Pictures:
    """What there is to draw of a run."""
    del dossier
    return Pictures()
