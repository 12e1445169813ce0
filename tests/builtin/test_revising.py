"""How the built-in writer drafts and revises a summary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.agents.reviser import read_reply
from redraft.builtin.draft import edit, revise, summarize
from redraft.builtin.facade import VERSION, open_model
from redraft.domain import Task
from redraft.llm.base import Model, Request
from redraft.prompts.revision import EditInput, Point, ReviseInput
from redraft.prompts.summarization import (
    MERGE,
    CompressInput,
    MergeInput,
    MergeOnwardInput,
    UpdateInput,
)
from redraft.text.sentences import ends_sentence, sentences
from redraft.text.words import count_words, has_words
from tests.builtin.support import STORY, checks, of_part, of_whole, split
from tests.text.hostile import raw_texts

SENTENCES = split(STORY)
SUMMARY = f"{SENTENCES[0]} {SENTENCES[3]}\n\n{SENTENCES[5]} {SENTENCES[6]}"


def _revised(
    *points: Point, summary: str = SUMMARY, words: int = 250, needed: Sequence[str] = (), **more: object
) -> str:
    return revise(ReviseInput.model_validate({"summary": summary, "points": points, "words": words, **more}), needed)


def _add(evidence: str, **more: str) -> Point:
    return Point(id=1, task="add", instruction="Say this.", evidence=evidence, **more)


def _correct(sentence: str, answer: str = "", evidence: str = "", question: str = "") -> Point:
    return Point(
        id=1,
        task="correct",
        instruction="Wrong.",
        sentence=sentence,
        answer=answer,
        evidence=evidence,
        question=question,
    )


def test_sentences_are_added_where_they_belong() -> None:
    assert _revised() == SUMMARY
    assert _revised(summary=f"\n {SUMMARY} \n") == f"\n {SUMMARY} \n"
    revised = _revised(_add(SENTENCES[4]), document=STORY)
    assert revised == SUMMARY.replace("\n\n", f" {SENTENCES[4]}\n\n")
    assert _revised(_add(SENTENCES[0]), summary=SENTENCES[3], document=STORY) == f"{SENTENCES[0]} {SENTENCES[3]}"
    assert _revised(_add("Zebras graze.")).endswith("Zebras graze.")
    point = _add("# A heading\n\nZebras graze. Captain Renn met *Ada Quill* at noon. It rained.", answer="Ada Quill")
    assert set(split(_revised(point))) - set(split(SUMMARY)) == {"Captain Renn met Ada Quill at noon."}
    evidence = "It was late. Matthias Crane sat at the bottom of the stairs. He had been dead for two days."
    changed = _revised(_add(evidence, question="How long had Matthias been dead?", answer="two days"))
    assert "He had been dead" not in changed
    assert _revised(_add(SENTENCES[3]), _add("x"), _add("")) == _revised(_add("x"))
    assert _revised(_add(SENTENCES[4]), _add(SENTENCES[4])).count(SENTENCES[4]) == 1


@pytest.mark.parametrize(
    ("at", "wrong", "right", "answer"),
    [
        (0, "Skye", "Sarn", "Sarn"),
        (0, "3 March 1926", "3 March 1924", "Monday, 3 March 1924"),
        (5, "Hester Vane", "Ruth Crane", "Ruth Crane"),
        (6, "£81,500", "£18,500", "18,500"),
    ],
)
def test_a_detail_is_corrected_in_place(at: int, wrong: str, right: str, answer: str) -> None:
    wrong_sentence = SENTENCES[at].replace(right, wrong)
    assert wrong_sentence != SENTENCES[at]
    revised = _revised(
        _correct(wrong_sentence, answer, SENTENCES[at]), summary=SUMMARY.replace(SENTENCES[at], wrong_sentence)
    )
    assert revised == SUMMARY


def test_faults_of_the_check_are_corrected() -> None:
    wrong_summary = SUMMARY.replace("Sarn", "Skye").replace("twenty-two", "thirty")
    points = [
        _correct(sentence, checked.correction, checked.quote)
        for sentence, checked in zip(split(wrong_summary), checks([STORY], split(wrong_summary)), strict=True)
        if checked.verdict != "supported"
    ]
    assert len(points) == 2
    assert _revised(*points, summary=wrong_summary) == SUMMARY


def _remove(sentence: str) -> Point:
    return Point(id=1, task="remove", instruction="The document does not say this.", sentence=sentence)


def test_wrong_and_second_sentences_go() -> None:
    sentence = "The ledger was burnt by pirates."
    summary = SUMMARY.replace(SENTENCES[3], sentence)
    assert _revised(_correct(sentence, "No", SENTENCES[3]), summary=summary) == SUMMARY
    assert _revised(_correct(sentence), summary=summary) == SUMMARY.replace(f" {SENTENCES[3]}", "")
    assert _revised(_correct("Nobody said this."), summary=summary) == summary
    assert _revised(_point("drop", SENTENCES[3])) == SUMMARY.replace(f" {SENTENCES[3]}", "")
    assert _revised(_point("drop", SENTENCES[0]), summary=f"{SUMMARY} {SENTENCES[0]}") == SUMMARY
    assert _revised(_point("drop", "Nobody said this.")) == SUMMARY
    assert _revised(_point("drop", SENTENCES[3]), needed=[SENTENCES[3]]) == SUMMARY
    room = count_words(SUMMARY)
    revised = _revised(
        _add(SENTENCES[4]), _add(SENTENCES[1]), _add(SENTENCES[2]), words=room, needed=[SENTENCES[3], SENTENCES[5]]
    )
    revised_sentences = split(revised)
    assert {SENTENCES[3], SENTENCES[4], SENTENCES[5]} <= set(revised_sentences)
    assert count_words(revised) <= room
    assert _revised(_correct(SENTENCES[3], "x", "y"), needed=[SENTENCES[3]]) == SUMMARY


@pytest.mark.parametrize(
    "sentence", ["Zebras graze on the moon.", "Zebras and giraffes graze quietly while a forgotten notebook rusts."]
)
def test_unsupported_sentence_is_dropped(sentence: str) -> None:
    summary = SUMMARY.replace(SENTENCES[5], sentence)
    assert _revised(_remove(sentence), summary=summary, document=STORY) == SUMMARY.replace(f"{SENTENCES[5]} ", "")


def test_edit_corrects_and_leaves_requests() -> None:
    wrong = SENTENCES[6].replace(".", ", and it was burnt by pirates.")
    inputs = EditInput(
        summary=SUMMARY.replace(SENTENCES[6], wrong),
        points=[_correct(wrong, "No", SENTENCES[6])],
        may_go=[SENTENCES[3]],
        words=250,
        document=STORY,
    )
    assert edit(inputs) == SUMMARY
    # What a person asked for stays.
    assert wrong in edit(inputs.model_copy(update={"keep": [wrong]}))
    text, points = read_reply(_revised(Point(id=1, task="change", instruction="Make it sadder.")))
    assert text == SUMMARY
    assert [*points.values()] == [("left", "the built-in model cannot follow requests in words")]
    point = Point(id=1, task="change", instruction="Tell of the flood.", evidence=SENTENCES[4])
    assert SENTENCES[4] in _revised(point)


def _point(task: str, sentence: str, **more: str) -> Point:
    return Point.model_validate({"id": 1, "task": task, "instruction": "x", "sentence": sentence, **more})


_POINTS = st.builds(
    Point,
    id=st.just(1),
    task=st.sampled_from(get_args(Task)),
    instruction=st.just("x"),
    sentence=st.sampled_from([*SENTENCES, "Zebras graze.", ""]),
    answer=st.sampled_from(["Sarn", "1924", "UNANSWERABLE", ""]),
    evidence=raw_texts,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.one_of(raw_texts, st.just(SUMMARY)),
    st.lists(_POINTS, max_size=4),
    st.integers(1, 120),
    st.sampled_from(SENTENCES),
)
def test_limit_and_needed_sentences_are_kept(summary: str, points: list[Point], words: int, keep: str) -> None:
    revised = _revised(*points, summary=summary, words=words, needed=[keep])
    assert count_words(revised) <= words
    if keep in summary and count_words(summary) <= words:
        assert keep in revised


TALE = """# The Lamp

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
    reply = asyncio.run(model.ask(Request(MERGE, MergeInput(summaries=[TALE, OTHER], words=60))))
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
    source = parts_of(TALE) + parts_of(OTHER)
    places = [source.index(sentence) for sentence in parts_of(draft(TALE, words))]
    assert places == sorted(set(places))


@pytest.mark.parametrize("drafter", sorted(DRAFTERS.keys() - {"query"}))
def test_the_limit_is_nearly_used_up(drafter: str) -> None:
    """A query is another matter: what has nothing to do with it is no filling."""
    assert 85 <= count_words(DRAFTERS[drafter](TALE, 100)) <= 100


@pytest.mark.parametrize("words", [40, 60, 80])
def test_narration_precedes_speech_and_headings(words: int) -> None:
    summary = of_part(TALE, words)
    for poor in ("#", "Lamp\n", '"', "?", "It was dark", "I tell you", "But nobody"):
        assert poor not in summary


def test_drafts_follow_query_sources_and_order() -> None:
    summary = of_whole(TALE + OTHER, 60, QUERY)
    assert all("Voss" in sentence or "ledgers" in sentence for sentence in parts_of(summary))
    other_end = "Queen Maud opened the new lighthouse at Skerry Rock on 1 May 1880 before nine hundred guests."
    summary = summarize(MergeInput(summaries=[TALE, OTHER, other_end], words=120))
    source = (parts_of(TALE), parts_of(OTHER), [other_end])
    assert all(any(sentence in part for sentence in parts_of(summary)) for part in source)
    before = of_part(TALE, 100)
    summary = parts_of(summarize(UpdateInput(summary=before, excerpt=OTHER, words=100)))
    kept_words = sum(count_words(sentence) for sentence in summary if sentence in parts_of(before))
    assert 60 <= kept_words < 100
    assert any(sentence in parts_of(OTHER) for sentence in summary)


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
