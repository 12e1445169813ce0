"""What judging costs: little more than 2.5 times the document for a first draft, a small part of that for a second."""

from __future__ import annotations

from benchmarks.common import SAMPLE
from benchmarks.judging_cost import VOCABULARY_NAME, spent
from redraft.graphs.plan import DEFAULT_WORDS
from redraft.readers.documents import parse
from redraft.settings import USUAL_METRICS
from redraft.text.tokens import tokenizer_named

# What is asked is 2.5 and 0.15; docs/numbers.md says why a document of this length does not quite keep to it.
# By the vocabulary's own count it comes to 2.79 and 0.150, by the estimate that tests count with to 2.75 and 0.147.
FIRST, SECOND = 2.8, 0.155


async def test_judging_costs_no_more_than_it_did_in_the_smallest_window() -> None:
    document = parse(" ".join(SAMPLE.read_text("utf-8").split(" ")[:10_000]).encode(), name="book.txt")
    first, second = await spent(document, 8_192, DEFAULT_WORDS, USUAL_METRICS, "standard")

    assert first.tokens <= FIRST * tokenizer_named(VOCABULARY_NAME).count(document.text)
    assert second.tokens <= SECOND * first.tokens
