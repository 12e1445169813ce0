"""True vocabularies from the folder beside the data, and never from the network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import pytest
import tiktoken

from redraft.text import tokens
from redraft.text.tokens import ESTIMATE, Tokenizer, tokenizer_named

# Read before any fixture takes REDRAFT_* away.
DATA = Path(os.environ.get("REDRAFT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
_FOLDER = DATA.parent / "tiktoken"


@lru_cache
def true_vocabulary(name: str) -> Tokenizer | None:
    """The vocabulary of this name; None where it is not there."""
    if not _FOLDER.is_dir():
        return None
    with _beside_the_data():
        tokens._loaded.clear()
        vocabulary = tokenizer_named(name)
        tokens._loaded.clear()
    return None if vocabulary.name == ESTIMATE else vocabulary


@lru_cache
def tiktokens_own(name: str) -> tiktoken.Encoding:
    """The same without any of our code."""
    with _beside_the_data():
        return tiktoken.get_encoding(name)


@contextmanager
def _beside_the_data() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(_FOLDER))
        # Where tiktoken remembers what it has loaded: other tests would count by it, or not, by which ran before.
        patch.setattr("tiktoken.registry.ENCODINGS", {})
        yield
