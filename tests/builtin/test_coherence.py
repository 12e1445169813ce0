"""What the built-in judge says of how a summary reads, and of two summaries."""

from __future__ import annotations

import pytest

from redraft.builtin.model import find_confusion, prefer_summary
from redraft.prompts.coherence import ConfusionGiven, PreferGiven, Preferred, SummarySentence
from redraft.prompts.contract import UNSURE

TOLD = [
    "Ada Quill kept the lighthouse on Skerry Rock for eleven years.",
    "The harbour board paid Ada Quill in coal and lamp oil.",
    "Voss fled to Antwerp with the ledgers of the board.",
]
DOCUMENT = " ".join(TOLD)


def _found(sentences: list[str]) -> list[tuple[str, str]]:
    given = ConfusionGiven(
        summary=" ".join(sentences),
        sentences=[SummarySentence(id=n, sentence=text) for n, text in enumerate(sentences, 1)],
    )
    found = find_confusion(given).sentences
    assert [one.id for one in found] == list(range(1, len(sentences) + 1))
    return [(one.types[0], " ".join(one.questions)) for one in found]


def test_of_a_sentence_that_only_may_confuse_nothing_is_said() -> None:
    assert _found(TOLD) == [(UNSURE, "")] * 3


def test_the_later_of_two_equal_sentences_is_said_twice() -> None:
    assert [kind for kind, _ in _found([*TOLD, TOLD[0]])] == [UNSURE, UNSURE, UNSURE, "duplication"]


def test_a_short_sentence_may_be_said_twice() -> None:
    assert [kind for kind, _ in _found(["Ada said yes.", *TOLD, "Ada said yes."])] == [UNSURE] * 5


def test_a_pronoun_that_begins_a_summary_means_nobody() -> None:
    assert _found(["She kept the lighthouse for years.", TOLD[1]])[0] == (
        "entity omission",
        'Who or what is meant by "she"?',
    )
    assert _found([TOLD[0], "She had no wages for two years."])[1] == (UNSURE, "")


def _preferred(first: str, second: str, document: str | None = DOCUMENT) -> Preferred:
    return prefer_summary(PreferGiven(first=first, second=second, document=document))


def test_the_summary_that_the_document_does_not_contradict_is_better() -> None:
    wrong = DOCUMENT.replace("eleven", "twelve")
    assert (_preferred(DOCUMENT, wrong).overall, _preferred(wrong, DOCUMENT).overall) == ("first", "second")
    assert "twelve" in _preferred(DOCUMENT, wrong).reason


@pytest.mark.parametrize(("other", "document"), [("Ada was paid in coal.", DOCUMENT), (TOLD[2], None)])
def test_which_is_better_is_left_open_where_nothing_is_wrong_or_known(other: str, document: str | None) -> None:
    assert _preferred(TOLD[0], other, document).overall == UNSURE


def test_a_summary_is_no_better_than_itself() -> None:
    assert _preferred(TOLD[0], TOLD[0]).overall == "tie"
