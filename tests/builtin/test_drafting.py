from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.builtin.draft import summarize
from redraft.builtin.facade import VERSION, open_model
from redraft.llm.base import Model, Request
from redraft.prompts.summarization import (
    MERGE,
    CompressInput,
    MergeInput,
    MergeOnwardInput,
    UpdateInput,
)
from redraft.text.sentences import ends_sentence, sentences
from redraft.text.words import count_words, has_words
from tests.builtin.support import of_part, of_whole

STORY = """# The Lamp

Ada Quill kept the lighthouse on Skerry Rock for eleven years after her father drowned there in 1871. She had no wages
for the first two. The harbour board in Port Merrow paid her in coal, lamp oil and salted herring instead of money.

"Will you come down?" asked the mate.

"Never!" she cried. "I shall stay."

On 4 November the schooner Petrel struck the reef below the lighthouse with nineteen people aboard. Ada Quill rowed out
to the Petrel four times in a leaking dinghy and brought back every one of them. It was dark. You could see nothing, I
tell you. The harbour board offered Ada Quill a silver medal at a dinner in Port Merrow, which she refused to attend.

Captain Josiah Renn of the Petrel told the inquiry that the lamp had burned all night. The inquiry found that the board
had sold the spare lamp oil to a chandler named Voss. Voss confessed in the spring and the board was dissolved by
Parliament. But nobody repaid her. Ada Quill bought the dinghy from the board for one shilling and painted it with the
name of her father.
"""
OTHER = """The chandler Voss left Port Merrow in the summer with a trunk of stolen ledgers. Constable Mary Hale followed
Voss to Antwerp and found the ledgers in a pawnshop near the docks. The ledgers showed that the board had cheated nine
lighthouses. Judge Amory sentenced Voss to seven years and ordered the board's chairman to pay back the money."""
QUERY = "What became of the chandler Voss?"

_SCRAPS = [
    "Ada", "Voss", "the", "lamp", "reef.", "He", "She", "and,", "struck!", "went?", '"Come,"', "#", "*burned*",
    "1871",
]  # fmt: skip
_WORDS = [*_SCRAPS, "\n\n", "[note]", "灯塔。", "灯", "café;", "—", "..."]
TEXT = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(_WORDS), max_size=120).map(" ".join))

DRAFTERS: dict[str, Callable[[str, int], str]] = {
    "chunk": of_part,
    "query": lambda text, words: of_part(text, words, QUERY),
    "whole": of_whole,
    "merge": lambda text, words: summarize(MergeInput(summaries=[text, OTHER], words=words)),
    "onward": lambda text, words: summarize(MergeOnwardInput(context=text, summaries=[OTHER], words=words)),
    "update": lambda text, words: summarize(UpdateInput(summary=text, excerpt=OTHER, words=words)),
    "compress": lambda text, words: summarize(CompressInput(summary=text, current_words=99, words=words + 1)),
}
drafters = pytest.mark.parametrize("draft", DRAFTERS.values(), ids=DRAFTERS.keys())


def parts_of(text: str) -> list[str]:
    return [" ".join(text[span.start : span.end].split()) for span in sentences(text)]


def test_reply_has_identity_and_usage() -> None:
    model: Model = open_model()
    reply = asyncio.run(model.ask(Request(MERGE, MergeInput(summaries=[STORY, OTHER], words=60))))
    assert model.identity == f"extractive:{VERSION}"
    assert reply.value == reply.text
    assert (reply.finish_reason, reply.cached, reply.usage.reported) == ("stop", False, False)
    assert reply.usage.prompt_tokens > reply.usage.completion_tokens > 0


@pytest.mark.slow
@drafters
@settings(max_examples=80, deadline=None)
@given(text=TEXT, words=st.integers(1, 60))
def test_any_text_gives_sentences_within_limit(draft: Callable[[str, int], str], text: str, words: int) -> None:
    summary = draft(text, words)
    assert count_words(summary) <= words
    assert draft(text, words) == summary
    if has_words(text):
        assert summary
        assert ends_sentence(summary)


@pytest.mark.slow
@drafters
@given(words=st.integers(30, 200))
@settings(max_examples=25, deadline=None)
def test_sentences_keep_the_order_of_sources(draft: Callable[[str, int], str], words: int) -> None:
    source = parts_of(STORY) + parts_of(OTHER)
    places = [source.index(sentence) for sentence in parts_of(draft(STORY, words))]
    assert places == sorted(set(places))


@pytest.mark.parametrize("drafter", sorted(DRAFTERS.keys() - {"query"}))
def test_the_limit_is_nearly_used_up(drafter: str) -> None:
    """A query is another matter: what has nothing to do with it is no filling."""
    assert 85 <= count_words(DRAFTERS[drafter](STORY, 100)) <= 100


@pytest.mark.parametrize("words", [40, 60, 80])
def test_narration_precedes_speech_and_headings(words: int) -> None:
    summary = of_part(STORY, words)
    for poor in ("#", "Lamp\n", '"', "?", "It was dark", "I tell you", "But nobody"):
        assert poor not in summary


def test_drafts_follow_query_sources_and_order() -> None:
    summary = of_whole(STORY + OTHER, 60, QUERY)
    assert all("Voss" in sentence or "ledgers" in sentence for sentence in parts_of(summary))
    other_end = "Queen Maud opened the new lighthouse at Skerry Rock on 1 May 1880 before nine hundred guests."
    summary = summarize(MergeInput(summaries=[STORY, OTHER, other_end], words=120))
    source = (parts_of(STORY), parts_of(OTHER), [other_end])
    assert all(any(sentence in part for sentence in parts_of(summary)) for part in source)
    before = of_part(STORY, 100)
    summary = parts_of(summarize(UpdateInput(summary=before, excerpt=OTHER, words=100)))
    kept_words = sum(count_words(sentence) for sentence in summary if sentence in parts_of(before))
    assert 60 <= kept_words < 100
    assert any(sentence in parts_of(OTHER) for sentence in summary)
    story = "Captain Harald Voss sailed the Meridian from Bergen to Cork in March 1902 with a cargo of salt. " * 3
    note = "The town of Bergen and every harbour of this tale are invented by Marta Lind in Oslo in 1931."
    text = f"## Chapter 1\n\n{story}\n\n## Author's note\n\n{note}\n\n{note.replace('town', 'city')}"
    assert "invented" not in of_part(text, 60)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("灯塔看守人每晚点亮灯火，船只因此得以平安归港，直到那年冬天风暴来临", 12),
        ("灯塔看守人点亮了灯。船只平安归港。风暴在冬天来临。", 12),
        ("the keeper lit the lamp and " * 400, 50),
        ("# One\n\n## Two\n\n### Three", 4),
        ("- milk\n- eggs\n- bread", 10),
        ("He came, and she went, and they met again by the sea, where it rained for a hundred days without end.", 9),
        ("[Transcriber's Note: This etext was produced from Planet Stories.]", 6),
    ],
)
def test_odd_texts_still_give_a_sentence(text: str, words: int) -> None:
    summary = of_part(text, words)
    assert 1 <= count_words(summary) <= words
    assert ends_sentence(summary)
    assert not set("#*") & set(summary)


DATA = Path(os.environ.get("REDRAFT_DATA", Path(__file__).parents[3] / "shared" / "data")) / "squality" / "dev.jsonl"


@pytest.mark.parametrize(
    "note",
    [
        "[1] The causeway of Sarn was built by Alban Frere in 1820 for the Harbour Board.",
        "* The causeway of Sarn was built by Alban Frere in 1820. [Editor's note.]",
        "Footnote 3: The causeway of Sarn was built by Alban Frere in 1820 for the Harbour Board.",
    ],
)
def test_footnote_is_omitted(note: str) -> None:
    text = f"Hester Vane came to Sarn in March 1901 to weigh the salt.[1]\n\n{note}\n\n"
    text += "Edgar Harrow locked the ledger away."
    drawn = of_part(text, 60)
    assert drawn == "Hester Vane came to Sarn in March 1901 to weigh the salt. Edgar Harrow locked the ledger away."
