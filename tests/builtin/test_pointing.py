"""Which sentences of a text lose their meaning elsewhere, and which are none of it."""

from __future__ import annotations

import pytest

from redraft.builtin.draft import standing_alone, summarize_whole
from redraft.builtin.prose import LAST_RESORT, plain, read
from redraft.builtin.references import NamedPeople, points_out
from redraft.prompts.summarization import WholeGiven
from redraft.text.languages import ENGLISH
from redraft.text.sentences import sentences
from tests.builtin.support import sample

KNOWN = [
    "Then Ada Quill kept the lamp, as she had always done.",
    "In the winter Ada Quill lost her boat.",
    "Old Tobias Renn said that he had lost his hat.",
    "At night Tobias Renn drank his rum.",
    "There was Mr. Voss with a trunk.",
]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Quill rowed out to the Petrel four times in her dinghy.",
        "Tobias Renn told the inquiry that his lamp had burned all night.",
        "Mr. Voss confessed, and he was sent to Antwerp.",
        "A keeper of the lamp lost his wages.",
        "The board sold the oil with all its casks.",
        "On 4 November the Petrel struck the reef.",
    ],
)
def test_a_sentence_that_names_whom_it_means_stands_alone(text: str) -> None:
    assert not points_out(text, NamedPeople(KNOWN))


@pytest.mark.parametrize(
    "text",
    [
        "She rowed out to the Petrel four times.",
        "The inquiry found that he had sold the oil.",
        "Ada Quill said that his lamp was out.",
        "Ada Quill gave her the lamp.",
        "Mr. Voss saw him.",
        "They sold the oil.",
        "It was dark on the reef.",
        "The man sold the oil to the board.",
        "The next day the board was dissolved.",
        "Then Ada Quill bought the dinghy.",
        "But nobody repaid Ada Quill.",
        "Ada Quill knew nothing of this.",
        "Another of them drowned.",
    ],
)
def test_a_sentence_that_points_out_of_itself_does_not(text: str) -> None:
    assert points_out(text, NamedPeople(KNOWN))


@pytest.mark.parametrize(
    "scrap",
    [
        "Andy asked.",
        "said the mate quietly.",
        "Trader Tom said with enthusiasm.",
        "10:45 P.M.",
        "Monday, 4 June 1962.",
        "Chapter IV.",
        "Day 3.",
    ],
)
def test_who_speaks_and_dates_and_headings_are_no_sentences(scrap: str) -> None:
    found = read([f"Ada Quill kept the lamp on the rock. {scrap} The board paid Ada Quill in coal."], ENGLISH)
    assert [one.standing <= LAST_RESORT for one in found] == [False, True, False]


def test_what_somebody_says_is_a_last_resort() -> None:
    found = read(['"The lamp burned all night," said Tobias Renn. The board paid Ada Quill in coal.'], ENGLISH)
    assert [one.standing <= LAST_RESORT for one in standing_alone(found, ENGLISH)] == [True, False]


@pytest.mark.parametrize("words", [45, 60, 90])
def test_the_beginning_the_middle_and_the_end_are_represented(words: int) -> None:
    text = sample()[:40_000]
    told = [plain(text[span.start : span.end]) for span in sentences(text)]
    summary = summarize_whole(WholeGiven(document=text, words=words))
    said = [plain(summary[span.start : span.end]) for span in sentences(summary)]
    places = [sum(map(len, told[: told.index(one)])) / len(text) for one in said]
    assert min(places) < 0.25
    assert any(0.2 < place < 0.8 for place in places)
    assert max(places) > 0.7
