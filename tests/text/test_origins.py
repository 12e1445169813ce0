"""Where sentences come from, what a summary shows of how it was made, and names found again in a translation."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from redraft.domain import Span
from redraft.text.languages import LanguageSpan
from redraft.text.origins import (
    MAX_PLACES,
    ComposedOrigin,
    DerivedText,
    Index,
    Link,
    OriginTracer,
    SentenceOrigin,
    compose,
    drift,
)
from redraft.text.quotes import shares_names
from redraft.text.reply_cleanup import needs_tidying
from redraft.text.sentences import sentences
from redraft.text.vectors import Embeddings
from redraft.text.word_keys import keys, words
from tests.text.hostile import raw_texts

relaxed = settings(max_examples=100, deadline=None)

LAMP = "Hester kept the lamp of Pell Point. The council sold the old harbour to a brewer in March."
GULLS = "Gulls nested under the gallery. A storm took the southern breakwater, and nobody rebuilt it."


def index(text: str, language: str) -> Index:
    return Index(text, [LanguageSpan(Span(0, len(text)), language)])


def places(parents: list[str], child: str) -> list[list[str]]:
    return [
        [parents[link.text][link.span.start : link.span.end] for link in origin.links]
        for origin in OriginTracer(parents).trace(child)
    ]


def test_sentence_is_traced_to_its_sources() -> None:
    child = "In March the old harbour was sold to a brewer. The storm took the breakwater. A fox ate seven pigeons."
    assert places([LAMP, GULLS], child) == [
        ["The council sold the old harbour to a brewer in March."],
        ["A storm took the southern breakwater, and nobody rebuilt it."],
        [],
    ]
    (origin,) = places([LAMP, GULLS], "The brewer bought the harbour and a storm took its southern breakwater.")
    assert sorted(origin) == [
        "A storm took the southern breakwater, and nobody rebuilt it.",
        "The council sold the old harbour to a brewer in March.",
    ]
    # A word that is seven sentences away still counts a little.
    between = "The sky was grey. Nobody slept. Rain fell. A door creaked. Dogs barked. Snow came."
    (distant,) = OriginTracer([f"Ada sold salt. {between} Bo bought tin."]).trace("Salt from Ada, and tin.")
    assert [round(link.weight, 3) for link in distant.links] == [0.391, 0.218]


@pytest.mark.slow
@relaxed
@given(st.lists(raw_texts, max_size=3), raw_texts)
def test_links_are_within_parents_three_at_most(parents: list[str], child: str) -> None:
    origins = OriginTracer(parents)
    traced = origins.trace(child)
    assert traced == origins.trace(child) == OriginTracer(parents).trace(child)
    for each_origin in traced:
        assert 0 <= each_origin.span.start < each_origin.span.end <= len(child)
        assert 0 <= each_origin.margin <= 1
        assert len(each_origin.links) <= MAX_PLACES
        for link in each_origin.links:
            assert 0 <= link.span.start < link.span.end <= len(parents[link.text])
            assert 0 < link.weight <= 1


@pytest.mark.slow
@relaxed
@given(st.lists(raw_texts, min_size=1, max_size=3), st.randoms())
@example(["He waited..." * 68, "He waited..." * 100], Random(1)).via("not detected as English, it is one sentence")
@example(["AAAA", f"{'A' * 55}.A"], Random(1)).via("in English, a sentence ends within its word")
def test_an_exact_copy_is_always_found(parents: list[str], chance: Random) -> None:
    tracer = OriginTracer(parents)
    copies = [
        (parent[slice(*span)], language)
        for parent, every in zip(parents, tracer.indexes, strict=True)
        for span, language in zip(every.spans, every.languages, strict=True)
        if span in every.sentences  # and no piece of an overlong sentence, which may be cut within a word
    ]
    assume(copies)
    copied, language = chance.choice(copies)
    first = words(copied, language)[0].start
    assume(copied[max(0, first - 1)] not in "'’")  # it is a mark, and yet makes another word of the one behind it
    # What is one sentence beside others may be several by itself.
    assume(sentences(copied) == [Span(0, len(copied))])
    (traced,) = tracer.trace(copied)
    (origin,) = traced.links
    assert (origin.method, origin.weight) == ("quotation", 1.0)
    assert keys(parents[origin.text][slice(*origin.span)], language) == keys(copied, language)


def test_copies_are_found_at_their_place() -> None:
    parent = "He said: “The *old* harbour—alas!—was sold to a brewer,” and left."
    (origin,) = OriginTracer([LAMP, parent]).trace("The old harbour, alas, was sold to a brewer!")
    (link_found,) = origin.links
    assert (link_found.text, link_found.method, origin.margin) == (1, "quotation", 1.0)
    assert parent[link_found.span.start : link_found.span.end] == "The *old* harbour—alas!—was sold to a brewer"
    (origin,) = OriginTracer([LAMP, f"{GULLS} {LAMP}"]).trace("Hester kept the lamp of Pell Point.")
    assert [link.text for link in origin.links] == [0]
    assert origin.margin == 0
    (origin,) = OriginTracer(["She told him that it was so, and he went."]).trace("It was so.")
    assert origin.links == ()
    (origin,) = OriginTracer(["It was so. She told him, and he went."]).trace("It was so!")
    assert [link.method for link in origin.links] == ["quotation"]
    for parents in ([], ["", "…"]):
        assert [origin.links for origin in OriginTracer(parents, Meanings()).trace(GULLS)] == [(), ()]


class Meanings:
    """An encoder that knows which words mean the same, and notes what it is asked for."""

    name = weights = "meanings"
    same = ("lighthouse lamp beacon", "sold auctioned", "gulls birds", "harbour port")

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Embeddings:
        self.asked.append(list(texts))
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        rows = np.array(
            [[any(word in text.lower() for word in group.split()) for group in self.same] for text in texts]
        )
        lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
        return (rows / lengths).astype(np.float32)


def test_encoder_finds_similar_meaning_once() -> None:
    meanings = Meanings()
    child = "Its port was auctioned. Nobody slept."
    first, last = OriginTracer([LAMP, "", GULLS], meanings).trace(child)
    assert [(link.text, link.method) for link in first.links] == [(0, "embedding")]
    assert LAMP[slice(*first.links[0].span)].startswith("The council sold the old harbour")
    assert last.links == ()
    parents = [[origin[start:end] for start, end in index(origin, "en").spans] for origin in (LAMP, GULLS)]
    assert meanings.asked == [parents[0], [], parents[1], ["Its port was auctioned.", "Nobody slept."]]
    assert OriginTracer([LAMP, GULLS]).trace(child)[0].links == ()


def link(text: int, start: int, end: int, weight: float) -> Link:
    return Link(text, Span(start, end), weight, "words")


def test_ways_are_composed_of_links() -> None:
    low = DerivedText(
        (SentenceOrigin(Span(0, 9), (link(0, 5, 9, 0.9),)), SentenceOrigin(Span(10, 20), (link(0, 20, 30, 0.5),))),
        (1000,),
    )
    other = DerivedText((SentenceOrigin(Span(0, 9)),), (0,))
    top = DerivedText((SentenceOrigin(Span(0, 50), (link(0, 12, 15, 0.8), link(1, 0, 4, 0.7))),), (low, other))
    (origin,) = compose(top)
    (place,) = origin.places
    assert (place.span, place.weight) == (Span(1020, 1030), 0.5)
    assert [each_origin.span for each_origin in place.way] == [Span(12, 15), Span(20, 30)]
    low = DerivedText((SentenceOrigin(Span(0, 9), (link(0, 5, 9, 0.9),)),), (0,))
    for weights in ((0.5, 0.8), (0.8, 0.5)):
        links = tuple(link(at, 0, 9, weight) for at, weight in enumerate(weights))
        (origin,) = compose(DerivedText((SentenceOrigin(Span(0, 50), links),), (low, low)))
        assert [(place.span, place.weight) for place in origin.places] == [(Span(5, 9), 0.8)]
    low = DerivedText((SentenceOrigin(Span(0, 9)),), (0,))
    (origin,) = compose(DerivedText((SentenceOrigin(Span(0, 50), (link(0, 2, 5, 0.8),)),), (low,)))
    assert origin == ComposedOrigin(Span(0, 50), (), (link(0, 2, 5, 0.8),))
    (there,) = compose(DerivedText((SentenceOrigin(Span(0, 9), (link(0, 10, 20, 0.8),)),), (100,)))
    nowhere = ComposedOrigin(Span(0, 9), ())
    assert drift(there, SentenceOrigin(Span(0, 9), (link(0, 115, 130, 0.8),))) == ""
    assert drift(there, SentenceOrigin(Span(0, 9), (link(0, 15, 30, 0.8),))) == "elsewhere"
    assert drift(there, SentenceOrigin(Span(0, 9), (link(0, 135, 150, 0.8),)), near=20) == ""
    assert drift(there, SentenceOrigin(Span(0, 9))) == "nowhere"
    assert drift(nowhere, SentenceOrigin(Span(0, 9), (link(0, 15, 30, 0.8),))) == "bypassed"
    assert drift(nowhere, SentenceOrigin(Span(0, 9))) == ""


def test_an_endless_sentence_is_several_places() -> None:
    rain = "it rained on the moor and nobody came " * 30
    endless = f"{rain}until Hester lit the lamp of Pell Point at last {rain}"
    (origin,) = OriginTracer([endless]).trace("At last Hester lit the Pell Point lamp.")
    (link, *_) = origin.links
    assert "Hester" in endless[link.span.start : link.span.end]
    assert len(words(endless[link.span.start : link.span.end])) <= 60
    (quoted,) = OriginTracer([endless]).trace("Hester lit the lamp of Pell Point at last.")
    assert endless[slice(*quoted.links[0].span)] == "Hester lit the lamp of Pell Point at last"
    (ending,) = OriginTracer([f"{rain}in the village of Marrow"]).trace("They came from Marrow village.")
    assert (rain + "in the village of Marrow")[: ending.links[0].span.end].endswith("village of Marrow")


CLEAN = (
    "Hester Vane, an accountant, comes to Sarn. She finds that the ledger for 1901 is missing, and asks who took it."
)


def test_leaks_and_repetitions_are_seen() -> None:
    leaking = [
        f"In this excerpt a ledger is missing. {CLEAN}",
        f"Summary:\n{CLEAN}",
        f"## The story\n\n{CLEAN}",
        f"**Part one**\n{CLEAN}",
        f"{CLEAN} The updated summary adds that Crane died.",
        f"{CLEAN} Later Hester Vane, an accountant of Wickmouth, opens the cask.",
        f"{CLEAN} She finds that the ledger for 1901 is missing and asks who took it away.",
        "In diesem Abschnitt fehlt ein Buch.",
        "Этот отрывок говорит о книге.",
    ]
    in_order = [
        CLEAN,
        "The passage to the north was closed, and part of the document was burnt.",
        "Ann came. Ann left. Ann came back.",
        "Jem Lamb, the landlady's grandson, reads on. Dorcas, the landlady, waits.",
    ]
    assert [text for text in leaking if not needs_tidying(text)] == []
    assert [text for text in in_order if needs_tidying(text)] == []


ENGLISH = (
    "In March 1924 Hester Vane crosses to the island to look for the ledger of her father. The keeper, Elias Corran,"
    " has hidden it in the tower, and he wants 1,850 pounds for it."
)
IN_OTHER_LANGUAGES = {
    "German": "Im März 1924 setzt Hester Vane auf die Insel über, um das Buch ihres Vaters zu suchen.",
    "French": "En mars 1924, Hester Vane passe sur l'île pour chercher le registre de son père.",
    "Japanese": "一九二四年三月、彼女は父の帳簿を探しに島へ渡る。",
    "Chinese": "1924年3月，海丝特·维恩渡海到岛上寻找父亲的账簿。",
    "Arabic": "في مارس ١٩٢٤ عبرت هستر فين إلى الجزيرة بحثًا عن دفتر أبيها.",
}
OF_SOMETHING_ELSE = {
    "English": "The committee met in 1987. Its chairman, Thomas Bell, opened the session in Geneva.",
    "German": "Der Ausschuss tagte 1987 in Genf. Sein Vorsitzender Thomas Bell eröffnete die Sitzung.",
    "Russian": "Комитет собрался в Женеве. Заседание открыл председатель Томас Белл.",
    "Japanese": "委員会は一九八七年にジュネーブで開かれ、トマス・ベルが開会を宣言した。",
    "Chinese": "委员会于1987年在日内瓦开会。",
}


def test_names_and_numbers_tell_a_translation() -> None:
    for language, text in IN_OTHER_LANGUAGES.items():
        assert shares_names(text, ENGLISH), language
        assert shares_names(ENGLISH, text), language
    for language, text in OF_SOMETHING_ELSE.items():
        assert shares_names(text, ENGLISH) is False, language
    assert shares_names("他在海边等了很久。", "He waits by the sea for a long time.") is None
    # Chinese writes names in letters of its own, so that only numbers could be found.
    assert shares_names("海丝特在海边等了很久。", "There Hester waits, and Elias Corran waits, too.") is None
