"""What judging costs where a document is read whole: the bounds of `benchmarks.judging_cost`."""

from __future__ import annotations

import pytest

from benchmarks.common import SAMPLE
from benchmarks.judging_cost import LEAST_SHARED, MOST, VOCABULARY_NAME, Reader, share_in_prefixes, spent, tokens_of
from redraft.readers.documents import parse
from redraft.settings import USUAL_METRICS
from redraft.text.tokens import tokenizer_named


@pytest.mark.nightly
async def test_whole_document_is_read_few_times() -> None:
    document = parse(" ".join(SAMPLE.read_text("utf-8").split(" ")[:5_000]).encode(), name="book.txt")
    reader = Reader()
    first, second = map(tokens_of, await spent(document, 64_000, 250, USUAL_METRICS, reader))

    assert first <= MOST * tokenizer_named(VOCABULARY_NAME).count(document.text)
    assert second < first
    assert share_in_prefixes(reader.read) >= LEAST_SHARED


def test_shared_beginning_is_a_shared_prefix() -> None:
    assert share_in_prefixes([["one two three four"], ["one two three four"]]) == 1
    assert share_in_prefixes([["one two", "three four"], ["three four"]]) == 0
    assert share_in_prefixes([["one two"]]) == 1
