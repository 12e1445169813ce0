"""That a sentence keeps its meaning where it is put: whom its pronouns mean, and when its "next day" is."""

from __future__ import annotations

import pytest

from redraft.builtin.pointing import anchored
from redraft.builtin.prose import read
from redraft.builtin.revising import revise
from redraft.prompts.revising import Point, ReviseGiven
from redraft.text.languages import ENGLISH
from tests.builtin.support import sample

PEOPLE = (
    "Ada Quill kept her lamp. Ada Quill lost her boat. Tom Renn lost his hat. Tom Renn sold his mill.\n\n"
    "It rained in the valley.\n\n"
)


def _how(text: str) -> str | None:
    """How the last sentence of a text may stand elsewhere."""
    return anchored(read([PEOPLE + text], ENGLISH), ENGLISH)[-1]


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("The board sold the lamp.", "The board sold the lamp."),
        ("Ada Quill rowed to her boat.", "Ada Quill rowed to her boat."),
        ("She rowed to the reef.", None),
        ("Tom Renn met her at the reef.", None),
        ("The man rowed to the reef.", None),
        ("Ada Quill clapped the younger man on the shoulder.", None),
        ("Tom Renn and he could row to the reef.", None),
        ("Tom Renn fell and he could row to the reef.", "Tom Renn fell and he could row to the reef."),
        ("The next day Tom Renn rowed to the reef.", None),
        ("Ada Quill fell. She rowed to the reef.", "[Ada Quill] rowed to the reef."),
        ("Ada Quill fell. Her mother rowed to the reef.", "[Ada Quill's] mother rowed to the reef."),
        ("Ada Quill fell. He rowed to the reef.", None),
        ("Ada Quill met Bess. She rowed to the reef.", "[Ada Quill] rowed to the reef."),
        ("Danger moved a corner of his mind.", None),
        ("Ada Quill fell.\n\nShe rowed to the reef.", None),
        ("Ada Quill fell. The next day the board sold the lamp.", None),
        ("“I fell,” said Ada Quill. She rowed to the reef.", None),
        ("“She rowed to the reef,” said Ada Quill.", None),
        ("The hands moved over the reef.", None),
        ("Ada Quill saw the hands move over the reef.", "Ada Quill saw the hands move over the reef."),
        ("The keeper rowed to the reef.", None),
        ("Ada Quill read the man's letter.", None),
        ("A man's boat sank before he could row to the reef.", None),
        (
            "A man sank his boat before he could row to the reef.",
            "A man sank his boat before he could row to the reef.",
        ),
        ("After an hour Ada Quill rowed to the reef.", None),
        ("Suddenly the board sold the lamp.", None),
        ("Tom Renn was cursing with anger.", None),
        ("Tom Renn was cursing when the lamp fell.", "Tom Renn was cursing when the lamp fell."),
        ("Tom Renn mended the nets and sold it at the reef.", None),
        ("Ada Quill was glad that was no reef.", None),
        ("The decision was made in the spring.", None),
        ("The Quartermaster rose and coughed.", None),
        ("Ada Quill shouted and the victim fell.", None),
        ("The board met. The decision was made in the spring.", None),
        ("The decision of the board made a stir.", "The decision of the board made a stir."),
        ("Sie ging nach Hause, weil es regnete.", "Sie ging nach Hause, weil es regnete."),
    ],
)
def test_a_sentence_stands_alone_or_with_a_name(text: str, how: str | None) -> None:
    assert _how(text) == how


def _brought_in(summary: str, evidence: str) -> str:
    point = Point(id=1, task="add", instruction="Say this.", evidence=evidence)
    return revise(ReviseGiven(summary=summary, points=[point], keep=[], words=250, document=sample()))


@pytest.mark.slow
def test_a_grandson_is_nobody_else_s() -> None:
    summary = "Hester Vane came to the island of Sarn. Everybody knew that the Long Bank was rotten."
    revised = _brought_in(summary, "Her grandson Jem lived with her.")
    assert "[Mrs. Dorcas Lamb's] grandson Jem lived with her." in revised
    assert " Her grandson" not in revised


@pytest.mark.slow
def test_nobody_alive_is_said_to_be_dead() -> None:
    summary = "Edgar Harrow explained the grades. Hester wrote the date."
    revised = _brought_in(summary, "He had been dead for more than two days.")
    assert "[Matthias Crane] had been dead for more than two days." in revised
    assert "He had been dead" not in revised


@pytest.mark.slow
def test_who_loses_the_sentence_that_names_him_is_named() -> None:
    summary = "Walter Vane had been dismissed in the spring. He had sworn that he had not taken it."
    drop = Point(id=1, task="drop", instruction="x", sentence="Walter Vane had been dismissed in the spring.")
    given = ReviseGiven(summary=summary, points=[drop], keep=[], words=250, document=sample())
    assert revise(given) == "[Walter Vane] had sworn that he had not taken it."


def _answering(summary: str, evidence: str, words: int = 250, document: str = "") -> str:
    point = Point(id=1, task="add", instruction="Say this.", question="What was so?", evidence=evidence)
    return revise(ReviseGiven(summary=summary, points=[point], keep=[], words=words, document=document))


DEED = "Ada Quill passed the lamp across the desk."


@pytest.mark.parametrize(
    ("before", "told", "behind"),
    [
        # In its scene it goes on; where another scene begins, a paragraph does.
        ("Rain number 39 fell on the valley.", DEED, " "),
        ("Tom Renn lost his hat.", DEED, "\n\n"),
        # What tells of the same one, or thing, or of nobody by name, would be taken to go on in spite of that.
        ("Tom Renn lost his hat.", "Tom Renn passed the lamp across the desk.", None),
        ("Tom Renn lost his hat.", "Ada Quill passed the hat across the desk.", None),
        ("Tom Renn lost his hat.", "A lamp fell from a desk of the bank in the spring.", None),
    ],
)
def test_what_would_be_taken_to_go_on_is_brought_in_behind_its_own_scene_alone(
    before: str, told: str, behind: str | None
) -> None:
    rain = " ".join(f"Rain number {n} fell on the valley." for n in range(40))
    document = f"{PEOPLE}\n\n{rain}\n\n{told}"
    summary = f"Ada Quill kept her lamp. {before}"
    revised = _answering(summary, told, document=document)
    assert revised == (summary if behind is None else f"{summary}{behind}{told}")


def test_what_comes_behind_another_scene_begins_a_paragraph_too() -> None:
    rain = [f"Rain number {n} fell on the valley." for n in range(80)]
    document = f"{PEOPLE}\n\n{' '.join(rain[:40])}\n\n{DEED}\n\n{' '.join(rain[40:])}\n\nTom Renn built a mill."
    summary = "Tom Renn lost his hat. Tom Renn built a mill."
    assert _answering(summary, DEED, document=document) == f"Tom Renn lost his hat.\n\n{DEED}\n\nTom Renn built a mill."


def test_what_loses_the_sentence_that_it_goes_on_from_begins_a_paragraph() -> None:
    rain = " ".join(f"Rain number {n} fell on the valley." for n in range(40))
    apart, last = "Tom Renn met a goat.", "Tom Renn sold the old mill to a miller for a song."
    document = f"Ada Quill kept her lamp.\n\n{rain}\n\n{apart}\n\n{last}"
    drop = Point(id=1, task="drop", instruction="x", sentence=apart)
    summary = f"Ada Quill kept her lamp. {apart} {last}"
    given = ReviseGiven(summary=summary, points=[drop], keep=[], words=250, document=document)
    assert revise(given) == f"Ada Quill kept her lamp.\n\n{last}"


def test_one_of_whom_nothing_is_known_is_not_he_and_she_at_once() -> None:
    text = "It rained. Bo Dane put the flat of her hand on his hat."
    assert anchored(read([text], ENGLISH), ENGLISH)[-1] is None
    assert anchored(read(["It rained. Bo Dane put a hand on his hat."], ENGLISH), ENGLISH)[-1] is not None


def test_an_answer_may_not_leave_less_of_what_is_said_again_and_again() -> None:
    document = "The iron gate stood open. Men said the iron gate stood shut. "
    document += "The old iron gate stood where it was. Ada Quill found a lamp under one loose stone."
    summary = "The old iron gate stood where it was."
    assert _answering(summary, "Ada Quill found a lamp under one loose stone.", 10, document) == summary


def test_what_the_document_says_itself_is_not_corrected() -> None:
    line = "Tom Renn lost his hat."
    point = Point(
        id=1, task="correct", instruction="x", sentence=line, answer="Ada Quill", evidence="Ada Quill lost her boat."
    )
    for document, revised in ((PEOPLE, line), (PEOPLE.replace(line, ""), "Ada Quill lost his hat.")):
        assert revise(ReviseGiven(summary=line, points=[point], keep=[], words=50, document=document)) == revised
