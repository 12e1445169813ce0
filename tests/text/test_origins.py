from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.domain import Span
from redraft.text.origins.composing import Composed, Excerpt, Text, compose, drift
from redraft.text.origins.links import MOST, Link, Traced
from redraft.text.origins.tracing import Origins
from tests.text.hostile import raw_texts

relaxed = settings(max_examples=100, deadline=None)

LAMP = "Hester kept the lamp of Pell Point. The council sold the old harbour to a brewer in March."
GULLS = "Gulls nested under the gallery. A storm took the southern breakwater, and nobody rebuilt it."


def places(parents: list[str], child: str) -> list[list[str]]:
    return [
        [parents[link.text][link.span.start : link.span.end] for link in one.links]
        for one in Origins(parents).trace(child)
    ]


def test_a_sentence_is_traced_to_the_one_that_says_so() -> None:
    child = "In March the old harbour was sold to a brewer. The storm took the breakwater. A fox ate seven pigeons."
    assert places([LAMP, GULLS], child) == [
        ["The council sold the old harbour to a brewer in March."],
        ["A storm took the southern breakwater, and nobody rebuilt it."],
        [],
    ]


def test_a_sentence_out_of_two_has_both() -> None:
    (found,) = places([LAMP, GULLS], "The brewer bought the harbour and a storm took its southern breakwater.")
    assert sorted(found) == [
        "A storm took the southern breakwater, and nobody rebuilt it.",
        "The council sold the old harbour to a brewer in March.",
    ]


@relaxed
@given(st.lists(raw_texts, max_size=3), raw_texts)
def test_links_lie_within_their_parents_and_are_at_most_three(parents: list[str], child: str) -> None:
    origins = Origins(parents)
    found = origins.trace(child)
    assert found == origins.trace(child) == Origins(parents).trace(child)
    for one in found:
        assert 0 <= one.span.start < one.span.end <= len(child)
        assert 0 <= one.margin <= 1
        assert len(one.links) <= MOST
        for link in one.links:
            assert 0 <= link.span.start < link.span.end <= len(parents[link.text])
            assert 0 < link.weight <= 1


def link(text: int, start: int, end: int, weight: float) -> Link:
    return Link(text, Span(start, end), weight, "words")


def test_the_way_down_is_as_strong_as_its_weakest_link() -> None:
    low = Text(
        (Traced(Span(0, 9), (link(0, 5, 9, 0.9),)), Traced(Span(10, 20), (link(0, 20, 30, 0.5),))), (Excerpt(1000),)
    )
    other = Text((Traced(Span(0, 9)),), (Excerpt(0),))
    top = Text((Traced(Span(0, 50), (link(0, 12, 15, 0.8), link(1, 0, 4, 0.7))),), (low, other))
    (found,) = compose(top)
    (place,) = found.places
    assert (place.span, place.weight) == (Span(1020, 1030), 0.5)
    assert [one.span for one in place.way] == [Span(12, 15), Span(20, 30)]


def test_what_leads_nowhere_says_where_it_came_up() -> None:
    low = Text((Traced(Span(0, 9)),), (Excerpt(0),))
    (found,) = compose(Text((Traced(Span(0, 50), (link(0, 2, 5, 0.8),)),), (low,)))
    assert found == Composed(Span(0, 50), (), (link(0, 2, 5, 0.8),))


def test_drift_is_where_the_two_maps_disagree() -> None:
    (there,) = compose(Text((Traced(Span(0, 9), (link(0, 10, 20, 0.8),)),), (Excerpt(100),)))
    nowhere = Composed(Span(0, 9), ())
    assert drift(there, Traced(Span(0, 9), (link(0, 115, 130, 0.8),))) == ""
    assert drift(there, Traced(Span(0, 9), (link(0, 15, 30, 0.8),))) == "elsewhere"
    assert drift(there, Traced(Span(0, 9), (link(0, 135, 150, 0.8),)), near=20) == ""
    assert drift(there, Traced(Span(0, 9))) == "nowhere"
    assert drift(nowhere, Traced(Span(0, 9), (link(0, 15, 30, 0.8),))) == "unheld"
    assert drift(nowhere, Traced(Span(0, 9))) == ""
