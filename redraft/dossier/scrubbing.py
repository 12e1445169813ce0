"""Takes out of what is sent to others what is nobody's business: paths of the machine, and passwords in addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# A path has at least two names. What comes before it is no part of an address or of a word.
_PATH = re.compile(r"(?<![\w/.~\\])(?:(?<!:)|(?!//))(?:~|[A-Za-z]:)?(?:[/\\]+[^\s/\\\"'<>|:;,()]+){2,}[/\\]?")
_USER = re.compile(r"(?<=://)[^/@\s]*@")


def scrubbed(text: str) -> str:
    """The text with the last name of each path in place of it, and addresses without a user."""
    return _PATH.sub(lambda found: re.split(r"[/\\]", found[0].rstrip("/\\"))[-1], _USER.sub("", text))


def scrubbed_all(value: Any) -> Any:
    """The same of every text within a value."""
    if isinstance(value, str):
        return scrubbed(value)
    if isinstance(value, Mapping):
        return {scrubbed(str(key)): scrubbed_all(one) for key, one in value.items()}
    if isinstance(value, Sequence):
        return [scrubbed_all(one) for one in value]
    return value
