"""The words of a name that are its own."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.builtin.details import TITLES
from redraft.text.wording import carries


def own_words(name: Sequence[str]) -> Sequence[str]:
    """The words of a name without titles and little words; all of it where there is nothing else."""
    return [word for word in name if word not in TITLES and carries(word)] or name
