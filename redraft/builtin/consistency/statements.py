"""Which lines of a text say that something is so; headings, questions and scraps do not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redraft.text.headings import is_heading
from redraft.text.wording import carries

_FEWEST_WORDS = 2
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*\s*$")


def states(text: str, keys: Sequence[str]) -> bool:
    """Whether a sentence with these words says that something is so."""
    if len(keys) < _FEWEST_WORDS or not any(map(carries, keys)):
        return False
    return not is_heading(text) and not _ASKS.search(text)
