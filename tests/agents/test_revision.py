"""A reviser's reply taken apart: what became of each point, and the summary to the letter."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.agents.reviser import RevisionReply, read_reply

REPLY = """<points>
bdfg: mended
ghjk: kept: "words of the document"
kmnp: left: the point is about another text
</points>
<revision>
The first sentence. The second.

Another paragraph.
</revision>"""
TEXT = "The first sentence. The second.\n\nAnother paragraph."
POINTS = {
    "bdfg": ("fixed", ""),
    "ghjk": ("kept", "words of the document"),
    "kmnp": ("left", "the point is about another text"),
}

BODIES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<"), max_size=200)
TAGS = st.text("bcdfghjkmnpqrtvwx", min_size=4, max_size=5)
WORDS = st.text("abc äß日 ,.", max_size=20).map(str.strip).filter(lambda text: text[:1].isalnum())
SAID = st.one_of(st.just(("fixed", "")), st.tuples(st.just("kept"), WORDS), st.tuples(st.just("left"), WORDS))


def test_a_reply_in_two_sections_is_taken_apart() -> None:
    assert read_reply(REPLY) == RevisionReply(TEXT, POINTS)


@pytest.mark.parametrize(
    "reply",
    [
        REPLY.replace("</revision>", ""),
        REPLY.replace("<revision>\n", "").replace("\n</revision>", ""),
        REPLY.replace("</points>\n", ""),
        f"Here it is:\n\n{REPLY}\n\nI hope that this helps.",
        f"```\n{REPLY}\n```",
        REPLY.replace("points>", "Points>").replace("revision>", "REVISION>"),
        REPLY.replace("<points>\n", "<points>\n\n").replace("bdfg: mended", "- **BDFG**: Mended."),
        REPLY.replace("bdfg: mended", "bdfg: fixed"),
        REPLY.replace("ghjk: kept:", '<point id="ghjk"> kept —'),
    ],
    ids=[
        "not closed",
        "text alone",
        "points not closed",
        "talk around",
        "fence",
        "capitals",
        "marks",
        "the new word",
        "tags",
    ],
)
def test_it_is_read_leniently(reply: str) -> None:
    found = read_reply(reply)
    assert found.text.strip() == TEXT
    assert {tag: became for tag, (became, _) in found.points.items()} == {tag: one[0] for tag, one in POINTS.items()}
    assert found.points["ghjk"][1] == "words of the document"


def test_where_the_points_come_last_the_text_is_before_them() -> None:
    assert read_reply(f"{TEXT}\n<points>\nbdfg: mended\n</points>").text.strip() == TEXT


def test_a_reply_that_is_cut_within_its_points_has_no_text() -> None:
    assert read_reply("<points>\nbdfg: mended\nghjk: ke") == RevisionReply("", {"bdfg": ("fixed", "")})


@given(BODIES)
def test_a_reply_without_sections_is_the_text(text: str) -> None:
    assert read_reply(text) == RevisionReply(text)


@given(st.dictionaries(TAGS, SAID, max_size=8), BODIES)
def test_every_point_and_every_character_comes_back(points: dict[str, tuple[str, str]], text: str) -> None:
    lines = "\n".join(
        f"{tag}: {became}: “{said}”" if became == "kept" else f"{tag}: {became}{': ' if said else ''}{said}"
        for tag, (became, said) in points.items()
    )
    found = read_reply(f"<points>\n{lines}\n</points>\n<revision>\n{text}\n</revision>")

    assert found.text == text
    assert found.points == points


@pytest.mark.slow
@settings(max_examples=30)
@given(st.text(max_size=300))
def test_nothing_that_a_model_writes_is_too_much(reply: str) -> None:
    said = {became for became, _ in read_reply(f"<points>{reply}").points.values()}
    assert said <= {"fixed", "kept", "left"}
    assert read_reply(reply).text in reply
