"""The tokenizers and the stories that tests of text use; what is not on the machine is skipped."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from redraft.text import tokens
from redraft.text.tokens import ESTIMATE, Tokenizer
from tests.vocabularies import DATA, true_vocabulary


@pytest.fixture(scope="session", params=["o200k_base", "cl100k_base"])
def vocabulary(request: pytest.FixtureRequest) -> Tokenizer:
    """A tokenizer with a true vocabulary."""
    counter = true_vocabulary(request.param)
    if counter is None:
        pytest.skip("the vocabulary is not on this machine")
    return counter


@pytest.fixture(scope="session", params=["o200k_base", ESTIMATE])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    """A true vocabulary and the estimate, which is always there."""
    counter = Tokenizer() if request.param == ESTIMATE else true_vocabulary(request.param)
    if counter is None:
        pytest.skip("the vocabulary is not on this machine")
    return counter


@pytest.fixture(scope="session")
def stories() -> list[str]:
    """Public-domain stories of four to six thousand words."""
    path = DATA / "squality" / "dev.jsonl"
    if not path.is_file():
        pytest.skip("the stories are not on this machine")
    return [json.loads(line)["document"] for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def unloaded() -> Iterator[None]:
    """Vocabularies are loaded anew within the test, and what it loaded is forgotten."""
    tokens._loaded.clear()
    yield
    tokens._loaded.clear()
