"""True vocabularies from the folder beside the data, and never from the network."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import pytest

from redraft.text import tokens
from redraft.text.tokens import ESTIMATE, Tokenizer, tokenizer_named

# Read before any fixture takes REDRAFT_* away.
DATA = Path(os.environ.get("REDRAFT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


@lru_cache
def true_vocabulary(name: str) -> Tokenizer | None:
    """The vocabulary of this name; None where it is not there."""
    folder = DATA.parent / "tiktoken"
    if not folder.is_dir():
        return None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        tokens._load.cache_clear()
        found = tokenizer_named(name)
        tokens._load.cache_clear()
    return None if found.name == ESTIMATE else found
