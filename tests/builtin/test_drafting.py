from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.builtin import draft
from redraft.builtin.facade import VERSION
from redraft.builtin.model import ExtractiveModel, handler_for
from redraft.errors import ModelError
from redraft.llm.base import Model, Request
from redraft.prompts.book import PROMPTS
from redraft.prompts.contract import Prompt
from redraft.prompts.summarization import (
    MERGE,
    ChunkInput,
    CompressInput,
    MergeInput,
    MergeOnwardInput,
    TidyInput,
    UpdateInput,
    WholeInput,
)
from redraft.text.sentences import ends_sentence, sentences
from redraft.text.words import count_words

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
    "chunk": lambda text, words: draft.summarize_part(ChunkInput(excerpt=text, words=words)),
    "query": lambda text, words: draft.summarize_part(ChunkInput(excerpt=text, words=words, query=QUERY)),
    "whole": lambda text, words: draft.summarize_whole(WholeInput(document=text, words=words)),
    "merge": lambda text, words: draft.merge(MergeInput(summaries=[text, OTHER], words=words)),
    "onward": lambda text, words: draft.merge_onward(MergeOnwardInput(context=text, summaries=[OTHER], words=words)),
    "update": lambda text, words: draft.update(UpdateInput(summary=text, excerpt=OTHER, words=words)),
    "compress": lambda text, words: draft.compress(CompressInput(summary=text, current_words=99, words=words + 1)),
}
drafters = pytest.mark.parametrize("draft", DRAFTERS.values(), ids=DRAFTERS.keys())


def parts_of(text: str) -> list[str]:
    return [" ".join(text[span.start : span.end].split()) for span in sentences(text)]


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_every_prompt_has_a_handler(prompt: Prompt) -> None:
    assert callable(handler_for(prompt))


def test_a_prompt_without_a_handler_is_named() -> None:
    with pytest.raises(ModelError, match="sing"):
        handler_for(Prompt("sing", ChunkInput, str, "a song"))


def test_the_model_says_who_it_is_what_it_used_and_what_it_wrote() -> None:
    model: Model = ExtractiveModel()
    reply = asyncio.run(model.ask(Request(MERGE, MergeInput(summaries=[STORY, OTHER], words=60))))
    assert model.identity == f"extractive:{VERSION}"
    assert reply.value == reply.text
    assert (reply.finish_reason, reply.cached, reply.usage.reported) == ("stop", False, False)
    assert reply.usage.prompt_tokens > reply.usage.completion_tokens > 0


@pytest.mark.slow
@drafters
@settings(max_examples=80, deadline=None)
@given(text=TEXT, words=st.integers(1, 60))
def test_any_text_gives_whole_sentences_within_the_limit_and_always_the_same(
    draft: Callable[[str, int], str], text: str, words: int
) -> None:
    summary = draft(text, words)
    assert count_words(summary) <= words
    assert draft(text, words) == summary
    if count_words(text):
        assert summary
        assert ends_sentence(summary)


@pytest.mark.slow
@drafters
@given(words=st.integers(30, 200))
@settings(max_examples=25, deadline=None)
def test_sentences_are_the_sources_and_keep_their_order(draft: Callable[[str, int], str], words: int) -> None:
    source = parts_of(STORY) + parts_of(OTHER)
    places = [source.index(sentence) for sentence in parts_of(draft(STORY, words))]
    assert places == sorted(set(places))


@pytest.mark.parametrize("drafter", sorted(DRAFTERS.keys() - {"query"}))
def test_the_limit_is_nearly_used_up(drafter: str) -> None:
    """A query is another matter: what has nothing to do with it is no filling."""
    assert 85 <= count_words(DRAFTERS[drafter](STORY, 100)) <= 100


@pytest.mark.parametrize("words", [40, 60, 80])
def test_told_sentences_come_before_speech_headings_and_asides(words: int) -> None:
    summary = draft.summarize_part(ChunkInput(excerpt=STORY, words=words))
    for poor in ("#", "Lamp\n", '"', "?", "It was dark", "I tell you", "But nobody"):
        assert poor not in summary


def test_a_sentence_that_points_back_follows_the_one_it_points_to() -> None:
    source = parts_of(STORY)
    summary = parts_of(draft.summarize_part(ChunkInput(excerpt=STORY, words=110)))
    for at, sentence in enumerate(summary):
        if sentence.startswith(("She ", "It ", "But ")):
            assert at > 0
            assert summary[at - 1] == source[source.index(sentence) - 1]


def test_a_query_decides_what_is_kept() -> None:
    summary = draft.summarize_whole(WholeInput(document=STORY + OTHER, words=60, query=QUERY))
    assert all("Voss" in sentence or "ledgers" in sentence for sentence in parts_of(summary))


def test_a_merge_keeps_beginning_middle_and_end() -> None:
    other_end = "Queen Maud opened the new lighthouse at Skerry Rock on 1 May 1880 before nine hundred guests."
    summary = draft.merge(MergeInput(summaries=[STORY, OTHER, other_end], words=120))
    source = (parts_of(STORY), parts_of(OTHER), [other_end])
    assert all(any(sentence in part for sentence in parts_of(summary)) for part in source)


def test_a_merge_onward_repeats_nothing_of_the_context() -> None:
    given_ = MergeOnwardInput(context=OTHER, summaries=[OTHER + " " + STORY], words=150)
    summary = parts_of(draft.merge_onward(given_))
    assert len(summary) == len(set(summary))


def test_an_update_keeps_most_of_the_summary_and_takes_in_the_news() -> None:
    before = draft.summarize_part(ChunkInput(excerpt=STORY, words=100))
    summary = parts_of(draft.update(UpdateInput(summary=before, excerpt=OTHER, words=100)))
    kept = sum(count_words(sentence) for sentence in summary if sentence in parts_of(before))
    assert 60 <= kept < 100
    assert any(sentence in parts_of(OTHER) for sentence in summary)


@pytest.mark.parametrize("words", [60, 90, 120])
def test_a_compression_comes_near_to_its_target(words: int) -> None:
    given_ = CompressInput(summary=STORY, current_words=count_words(STORY), words=words)
    assert 0.8 * words <= count_words(draft.compress(given_)) < words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("灯塔看守人每晚点亮灯火，船只因此得以平安归港，直到那年冬天风暴来临", 12),
        ("灯塔看守人点亮了灯。船只平安归港。风暴在冬天来临。", 12),
        ("the keeper lit the lamp and " * 400, 50),
        ("x" * 5_000, 3),
        ("# One\n\n## Two\n\n### Three", 4),
        ("Chapter One", 1),
        ("- milk\n- eggs\n- bread", 10),
        ("He came, and she went, and they met again by the sea, where it rained for a hundred days without end.", 9),
        ("[Transcriber's Note: This etext was produced from Planet Stories.]", 6),
    ],
)
def test_odd_texts_still_give_a_sentence(text: str, words: int) -> None:
    summary = draft.summarize_part(ChunkInput(excerpt=text, words=words))
    assert 1 <= count_words(summary) <= words
    assert ends_sentence(summary)
    assert not set("#*") & set(summary)


@pytest.mark.parametrize("text", ["_", "_ _", "* _ *"])
def test_a_text_of_marks_that_count_as_words_is_not_lost(text: str) -> None:
    assert draft.summarize_part(ChunkInput(excerpt=text, words=1))


@pytest.mark.slow
def test_a_long_summary_has_paragraphs() -> None:
    text = (Path(__file__).parents[2] / "examples" / "the-salt-ledger.md").read_text(encoding="utf-8")
    summary = draft.summarize_whole(WholeInput(document=text, words=300))
    paragraphs = summary.split("\n\n")
    assert 2 <= len(paragraphs) <= 6
    assert all(count_words(paragraph) >= 40 for paragraph in paragraphs)


def test_tidying_leaves_a_clean_summary_alone() -> None:
    text = "Ada kept the lamp.  She was paid\nin coal.\n\nVoss stole the oil.\n"
    assert draft.tidy(TidyInput(summary=text)) == text


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("Ada kept the lamp. The ISBN is 1. Voss fled.", "Ada kept the lamp. Voss fled."),
        ("All rights reserved.\n\nVoss fled.", "Voss fled."),
        ("Ada rowed.\n\nSee the Project Gutenberg licence. The ISBN is 1.\n\nVoss fled.", "Ada rowed.\n\nVoss fled."),
        ("Ada rowed\nto the reef.\nThe ISBN is 1.\nVoss  fled.", "Ada rowed\nto the reef.\nVoss  fled."),
        ("Ada kept the lamp. The author's note thanks the coast guard.", "Ada kept the lamp."),
        ("Ada kept the lamp. The next segment is his.", "Ada kept the lamp. The next segment is his."),
    ],
)
def test_tidying_takes_out_what_stands_around_the_text(text: str, tidied: str) -> None:
    assert draft.tidy(TidyInput(summary=text)) == tidied


def test_tidying_never_leaves_nothing() -> None:
    text = "This is a table of contents."
    assert draft.tidy(TidyInput(summary=text)) == text


@given(TEXT)
@settings(max_examples=80, deadline=None)
def test_tidying_any_text_adds_nothing_and_is_done_at_once(text: str) -> None:
    tidied = draft.tidy(TidyInput(summary=text))
    assert count_words(tidied) <= count_words(text)
    assert bool(tidied.strip()) == bool(text.strip())


DATA = Path(os.environ.get("REDRAFT_DATA", Path(__file__).parents[3] / "shared" / "data")) / "squality" / "dev.jsonl"


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="squality/dev.jsonl is not there")
def test_summaries_of_stories_resemble_peoples_more_than_their_first_words_do() -> None:
    scorers = pytest.importorskip("rouge_score.rouge_scorer")
    scorer = scorers.RougeScorer(["rouge2"])
    ours, leads = [], []
    for line in DATA.read_text(encoding="utf-8").splitlines()[12:18]:
        record = json.loads(line)
        summary = draft.summarize_whole(WholeInput(document=record["document"], words=250))
        lead = " ".join(record["document"].split()[:250])
        for answer in record["questions"][0]["responses"]:
            ours.append(scorer.score(answer["response_text"], summary)["rouge2"].fmeasure)
            leads.append(scorer.score(answer["response_text"], lead)["rouge2"].fmeasure)
    assert mean(ours) > 1.1 * mean(leads)


def test_what_stands_under_the_heading_of_an_authors_note_is_no_part_of_the_story() -> None:
    story = "Captain Harald Voss sailed the Meridian from Bergen to Cork in March 1902 with a cargo of salt. " * 3
    note = "The town of Bergen and every harbour of this tale are invented by Marta Lind in Oslo in 1931."
    text = f"## Chapter 1\n\n{story}\n\n## Author's note\n\n{note}\n\n{note.replace('town', 'city')}"

    assert "invented" not in draft.summarize_part(ChunkInput(excerpt=text, words=60))


@pytest.mark.parametrize(
    "note",
    [
        "[1] The causeway of Sarn was built by Alban Frere in 1820 for the Harbour Board.",
        "The causeway of Sarn was built by Alban Frere in 1820 for the Harbour Board.—ED.",
        "* The causeway of Sarn was built by Alban Frere in 1820. [Editor's note.]",
        "Footnote 3: The causeway of Sarn was built by Alban Frere in 1820 for the Harbour Board.",
        "† The causeway of Sarn was built by Alban Frere in 1820 for the Harbour Board.",
        "[^1]: The causeway of Sarn was built by Alban Frere in 1820 for the Harbour Board.",
    ],
)
def test_a_footnote_is_no_sentence_of_a_summary(note: str) -> None:
    text = f"Hester Vane came to Sarn in March 1901 to weigh the salt.[1]\n\n{note}\n\n"
    text += "Edgar Harrow locked the ledger away."
    drawn = draft.summarize_part(ChunkInput(excerpt=text, words=60))
    assert drawn == "Hester Vane came to Sarn in March 1901 to weigh the salt. Edgar Harrow locked the ledger away."


def test_numbered_paragraphs_are_no_footnotes() -> None:
    text = "[1] Hester Vane came to Sarn in March 1901.\n\n[2] Edgar Harrow locked the ledger away in June."
    assert "Harrow" in draft.summarize_part(ChunkInput(excerpt=text, words=60))
