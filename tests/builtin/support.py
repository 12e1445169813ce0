"""Asking the built-in model, as the evaluators do."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.builtin.draft import summarize
from redraft.builtin.judge import SourceText
from redraft.llm.nli import ClaimAnswer
from redraft.prompts.summarization import ChunkInput, WholeInput
from redraft.text.sentences import sentences
from tests.support import SAMPLE

STORY = (
    "Hester Vane came to the island of Sarn on Monday, 3 March 1924, with a letter from Mr. Philip Dunne. The "
    "carrier Tobias Wren had driven the cart over the causeway since he was nineteen. Matthias Crane never stole "
    "the money. The ledger was hidden in the lighthouse because nobody looked there. In November 1901 the Long Bank "
    "broke and nineteen people drowned. Ruth Crane kept her father's notebook for twenty-two years. The Northern "
    "Alkali Company offered £18,500 for the saltworks. Mr. Harrow did not repay the loan until September."
)


def split(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[span.start : span.end] for span in sentences(text)]


def checks(texts: Sequence[str], summary: Sequence[str]) -> list[ClaimAnswer]:
    """What some texts say about the sentences of a summary."""
    source = SourceText(texts)
    return [source.check(sentence) for sentence in summary]


def faults(texts: Sequence[str], summary: Sequence[str]) -> set[int]:
    """The sentences with a fault."""
    return {at for at, checked in enumerate(checks(texts, summary)) if checked.verdict != "supported"}


def of_part(text: str, words: int, query: str | None = None) -> str:
    """The summary of an excerpt."""
    return summarize(ChunkInput(excerpt=text, words=words, query=query))


def of_whole(text: str, words: int, query: str | None = None) -> str:
    """The summary of a document."""
    return summarize(WholeInput(document=text, words=words, query=query))


def sample() -> str:
    """The novella of the examples."""
    return SAMPLE.read_text("utf-8")
