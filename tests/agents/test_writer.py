"""The writer keeps to limits, or keeps what came closest and says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from redraft.agents.structured_writer import MAX_TRIES, StructuredWriter
from redraft.agents.writer import Writer, is_nothing
from redraft.domain import Usage
from redraft.errors import EmptyReply
from redraft.llm.base import FunctionModel, Line, Request
from redraft.text.sentences import ends_sentence
from redraft.text.words import count_words
from tests.support import prose

# Of a reply of a few words it depends on these whether it is a summary at all.
LENGTHS = st.lists(st.just(0) | st.integers(20, 300), min_size=2 * MAX_TRIES + 1, max_size=2 * MAX_TRIES + 1)


def writer(lengths: list[int], broken: bool) -> tuple[Writer, FunctionModel]:
    """A writer whose model gives replies of these lengths, half of them broken off where `broken` is set."""
    remaining = list(lengths)

    def answer(request: Request[Any, Any]) -> Line:
        length = remaining.pop(0)
        if not length:
            return EmptyReply("the reply is empty", text="", usage=Usage())
        text = prose(length)
        return f"{text[:-4]}hen" if broken and length % 2 else text

    model = FunctionModel(answer)
    return Writer(StructuredWriter(model, tokens_per_word=1.6)), model


def valid(length: int, limit: int, broken: bool) -> bool:
    return 0 < length <= limit and not (broken and length % 2)


def kept_of(length: int) -> int:
    """What is left of a text whose last sentence has no end: the whole ones, of ten words each, if there are any."""
    return length - length % 10 if length > 10 else length


@pytest.mark.slow
@given(lengths=LENGTHS, limit=st.integers(10, 60), broken=st.booleans())
@example(lengths=[0] * 6 + [11] + [0] * 6, limit=10, broken=True)
@settings(max_examples=40)
def test_the_first_valid_reply_is_taken_or_the_closest_after_six_more(
    lengths: list[int], limit: int, broken: bool
) -> None:
    author, model = writer(lengths, broken)
    written = asyncio.run(author.summarize_chunk("The keeper tells of the lamp at his station.", limit, "chunk 1/1"))

    good = [at for at, length in enumerate(lengths) if valid(length, limit, broken)]
    asked = [request.given.words for request in model.asked]
    heard = lengths[: len(asked)]
    assert asked[0] == limit
    assert asked == sorted(asked, reverse=True)
    if good and good[0] < len(asked):
        assert written.attempts == len(asked) == good[0] + 1
        assert written.words == lengths[good[0]]
        assert not written.flaw
        return
    assert max(heard.count(0), len(heard) - heard.count(0)) == MAX_TRIES + 1
    assert written.flaw
    complete = [length for length in heard if length and not (broken and length % 2)]
    candidates = complete or [kept_of(length) for length in heard if length] or [0]
    assert abs(written.words - limit) == min(abs(length - limit) for length in candidates)


@pytest.mark.slow
@given(lengths=LENGTHS, target=st.integers(20, 60))
@settings(max_examples=40)
def test_compression_is_within_a_fifth_of_its_target_or_marked_and_always_shorter(
    lengths: list[int], target: int
) -> None:
    author, model = writer(lengths, broken=False)
    long = prose(301)
    written = asyncio.run(author.compress(long, target, 150, "compress"))

    heard = lengths[: len(model.asked)]
    assert len(heard) - heard.count(0) <= MAX_TRIES >= heard.count(0) - 1
    if written.flaw:
        assert written.text == long or written.words in heard
        return
    assert abs(written.words - target) <= 0.2 * target
    assert ends_sentence(written.text)


@pytest.mark.slow
@given(words=st.integers(1, 120))
@settings(max_examples=40)
def test_tidying_takes_only_what_lost_little(words: int) -> None:
    summary = f"{prose(98)} This excerpt."
    author = Writer(StructuredWriter(FunctionModel(lambda request: prose(words)), tokens_per_word=1.6))
    written = asyncio.run(author.tidy(summary, "tidy"))

    assert written.words == count_words(written.text)
    assert (written.text == prose(words)) is (60 <= words <= 100)
    assert bool(written.flaw) is not (60 <= words <= 100)


@pytest.mark.parametrize("said", ["NOTHING", "Nothing.", "**NOTHING**", ' "nothing" '])
def test_the_sign_that_there_is_nothing_is_known_in_any_dress(said: str) -> None:
    assert is_nothing(said)
    assert not is_nothing(f"{said} is said of the lamp.")


@pytest.mark.parametrize(
    "said",
    [
        "The excerpt does not mention who drowned.",
        "The question cannot be answered from the excerpt.",
        "Der Text sagt dazu nichts.",
        "The excerpt does not mention it. The text does not say.",
        "文中没有提到。",
        "This excerpt does not help to answer the question.",
        "There is nothing in this excerpt about keeper number 30.",
        "Nothing in the excerpt helps to answer the question.",
        "The excerpt is not relevant to the question.",
        "Nichts.",
        "NICHTS",
        "Rien.",
        "Nada.",
        "Ничего.",
        "何もありません。",
        "The summary stays as it is.",
        "The summary remains unchanged.",
        "The word is: NOTHING",
        "NOTHING - the excerpt does not mention keeper 30.",
        "Der Auszug trägt nichts zur Antwort bei.",
        "Le résumé reste tel quel.",
        "El fragmento no ayuda a responder la pregunta.",
        "Il riassunto rimane invariato.",
        "O trecho não ajuda a responder à pergunta.",
        "Отрывок не помогает ответить на вопрос.",
        "摘要保持不变。",
        "要約はそのままです。",
    ],
)
def test_words_in_place_of_the_sign_are_no_summary_either(said: str) -> None:
    assert is_nothing(said)
    assert not is_nothing(f"{said} Hester keeps the lamp at the harbour, and in 1924 the bank fails.")


@pytest.mark.parametrize(
    "said",
    [
        "Nothing survives of the house that Hester kept.",
        "NOTHING grows on the island after 1924.",
        "NOTHING - so the keeper called his boat.",
        "The keeper does not help the stranger.",
        "Nichts blieb von dem Haus.",
        "The part does not help Hester, who fails.",
        "Nothing came of the bank that Hester kept.",
    ],
)
def test_a_summary_that_begins_with_such_a_word_stays_one(said: str) -> None:
    assert not is_nothing(said)
