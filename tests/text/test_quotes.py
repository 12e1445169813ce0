from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.domain import Span
from redraft.text import quotes
from redraft.text.quotes import locate, source_of
from redraft.text.sanitizer import bare_quote
from redraft.text.sentences import sentences
from tests.text.hostile import EXTREMES, raw_texts

STORY = (
    "The keeper lit the lamp at dusk. “Who is there?” she asked — nobody answered…  \n"
    "Ann's   ledger listed 3.5 tons of salt,\nsold well-dried to Mr. Annable. The *old* mare did not stop."
)
ALL = [Span(0, len(STORY))]


def found(quote: str, text: str = STORY, within: list[Span] | None = None) -> str | None:
    span = source_of(text, quote, [Span(0, len(text))] if within is None else within)
    return None if span is None else text[span.start : span.end]


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        ("THE KEEPER LIT the lamp", "The keeper lit the lamp"),
        ('"Who is there?" she asked - nobody answered...', "Who is there?” she asked — nobody answered"),
        ("'who is there,' she asked", "Who is there?” she asked"),
        ("Ann’s ledger listed 3.5 tons of salt, sold", "Ann's   ledger listed 3.5 tons of salt,\nsold"),
        ("“... sold well–dried to Mr. Annable ...”", "sold well-dried to Mr. Annable"),
        ("the old mare", "The *old* mare"),
    ],
)
def test_case_spaces_and_punctuation_may_differ(quote: str, place: str) -> None:
    assert found(quote) == place


def test_quotes_are_found_where_they_stand() -> None:
    assert found("At dusk the keepers lit their lamps") == "The keeper lit the lamp at dusk."
    assert found("The old mare would not stop for salt") == "The *old* mare did not stop."
    text = "The lamp and the oil and the boat burned. The oil lamp smoked. Smoke of the oil lamp."
    assert found("An oil lamp", text) == "The oil lamp smoked."
    text = "Joann met Annable, and then she met Ann."
    assert locate(text, "Ann") == Span(text.index("Ann."), text.index("Ann.") + 3)
    assert locate(text, "ANN") == Span(text.index("Ann."), text.index("Ann.") + 3)
    assert locate(text, "nabl") is None
    assert found("熄灭", "灯塔在夜里熄灭了。") == "熄灭"
    assert found("灯塔 在夜里，熄灭了", "灯塔在夜里熄灭了。") == "灯塔在夜里熄灭了"
    text = "The lamp burned. The oil was gone. The lamp burned. The Oil, was gone."
    second = text.rindex("The lamp")
    assert locate(text, "The lamp burned", [Span(second, len(text))]) == Span(second, second + 15)
    assert locate(text, "the oil was gone", [Span(second, len(text))]) == Span(text.rindex("The Oil"), len(text) - 1)
    assert locate(text, "The oil was gone", [Span(second, len(text))]) == Span(17, 33), "to the letter comes first"
    assert locate(text, "The lamp burned") == Span(0, 15)


@pytest.mark.parametrize("quote", ["", " \n", "The schooner struck the reef", "It was not so", "??", "ann", "amp at"])
def test_absent_text_is_not_found(quote: str) -> None:
    text = STORY.replace("Ann's", "Joanne's")
    assert found(quote, text) is None


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(raw_texts, raw_texts)
def test_any_quote_gives_a_span_or_none(text: str, quote: str) -> None:
    span = source_of(text, quote, [Span(0, len(text) // 2), Span(len(text) // 3, len(text))])
    if span is not None:
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start : span.end] == text[span.start : span.end].strip()


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(raw_texts, st.data())
def test_a_sentence_of_the_text_is_found(text: str, data: st.DataObject) -> None:
    spans = [
        span
        for span in sentences(text)
        # An endless word is parted somewhere, and no part of a word is looked for.
        if not quotes._cuts_word(text, span)
    ]
    if spans:
        span = data.draw(st.sampled_from(spans))
        place = source_of(text, text[span.start : span.end], [span])
        assert place is not None
        assert text[place.start : place.end] == text[span.start : span.end]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_sentence_is_found_despite_spacing_and_quotes(data: st.DataObject) -> None:
    sentence = "“Come here,” said Ann — and the ship’s 40-ton anchor fell… into the sea"
    gaps = st.sampled_from([" ", "  ", "\n", " — ", " - ", "... ", " “", "\u00a0"])
    quote = "".join(word + data.draw(gaps) for word in sentence.upper().split())
    assert found(quote, f"It rained. {sentence}. It stopped.") == sentence[1:]


def test_lower_case_lengthens_no_other_letter() -> None:
    assert [chr(code) for code in range(0x110000) if len(chr(code).lower()) > 1] == ["İ"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "quote"),
    [
        ("one letter", "a" * 10_000),
        ("initials", "(a+)+$" * 1_500),
        ("emoji", "😀" * 9_000),
        ("spaces", "a " * 5_000),
        ("Japanese", ".*" * 5_000),
        ("one line without spaces", "["),
    ],
)
def test_hostile_quotes_cost_linear_time(name: str, quote: str) -> None:
    text = EXTREMES[name][:150_000]
    started = time.process_time()
    source_of(text, quote, [Span(0, len(text)), Span(10, len(text) // 2)])
    source_of(text, text[5:10_005], [Span(10, len(text) // 2)])
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("quote", "bare"),
    [
        ("* Nobody came.", "Nobody came."),
        ("*The lamp went out.", "The lamp went out."),
        ("**The lamp went out.**", "The lamp went out."),
        ("*She* left _him_ and **them**.", "She left him and them."),
        ("2*3 is a * b of snake_case", "2*3 is a * b of snake_case"),
        ("***", "***"),
    ],
)
def test_emphasis_around_a_quote_is_hidden(quote: str, bare: str) -> None:
    assert bare_quote(quote) == bare
