"""Words, tokens and their units, and which language a text is in: what is told, and what is not."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
import tiktoken
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from benchmarks.languages import LANGUAGES, chapter
from redraft.cli.terminal import lines_of
from redraft.text import tokens
from redraft.text.languages import declared_language, is_foreign, language_of, primary
from redraft.text.sentences import sentences
from redraft.text.tokens import (
    ESTIMATE,
    Meter,
    Tokenizer,
    tokenizer_for,
    tokenizer_named,
)
from redraft.text.units import indexed, units, words
from redraft.text.vectors import stop_words, terms
from redraft.text.word_keys import carries, keys
from redraft.text.words import count_words, dollars, enumeration, words_key
from tests.text.hostile import EXTREMES, raw_texts, texts
from tests.vocabularies import tiktokens_own

COUNTS = {"": 0, "… — !": 3, "the ship's 3.5-ton anchor": 4, "U.S.A. and e.g. 1,804": 4, "here—there": 1}
COUNTS |= {
    "end.\nBegin": 2,
    "“Who?” she asked.": 3,
    "今日は雨": 4,
    "灯塔 keeper": 3,
    "한국어 문장": 2,
    "ไทย": 3,
    "a - b": 3,
}


@pytest.mark.parametrize(("names", "text"), [("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")])
def test_names_are_enumerated_in_a_sentence(names: str, text: str) -> None:
    assert enumeration(names) == text


@pytest.mark.parametrize("text", COUNTS)
def test_counts(text: str) -> None:
    assert count_words(text) == COUNTS[text]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("The lamp went out.", " the LAMP “went” out! ", True),
        ("It's one-and-twenty", "IT'S one-and-twenty;", True),
        ("船長失去", "船長，失去。", True),
        ("", "… — !", True),
        ("1.5", "1 5", False),
        ("a", "", False),
    ],
)
def test_texts_with_the_same_words(first: str, second: str, same: bool) -> None:
    assert (words_key(first) == words_key(second)) is same
    assert (words_key(first) == words_key(second)) is same


PRICES = {None: "unknown", 0: "free", 1.5: "$1.50", 1234.567: "$1,234.57", 0.6099: "$0.61", 0.01237: "$0.01"}


@pytest.mark.parametrize(("cost", "price"), [*PRICES.items(), (0.0099, "under $0.01"), (0.000034, "under $0.01")])
def test_money_is_shown_in_whole_cents(cost: float | None, price: str) -> None:
    assert dollars(cost) == price
    assert dollars(cost, about=True) == (f"about {price}" if price[0] == "$" else price)
    amounts = (2, 0.1 + 0.2, 0.075, 0.000034, 1234.5)
    assert [dollars(amount, exact=True) for amount in amounts] == ["$2.00", "$0.30", "$0.075", "$0.000034", "$1,234.50"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("The _Orion_ sank!", ["the", "_", "orion", "_", "sank", "!"]),
        ("Hester's 3.5-ton", ["hester", "'", "s", "3", ".", "5", "-", "ton"]),
        ("CAFE\u0301 café", ["café", "café"]),
        ("今日は。", ["今", "日", "は", "。"]),
        ("ไทย 灯塔keeper", ["ไ", "ท", "ย", "灯", "塔", "keeper"]),
    ],
)
def test_words_and_marks(text: str, expected: list[str]) -> None:
    assert units(text) == expected
    assert words(text) == [unit for unit in expected if unit.isalnum()]


@pytest.mark.parametrize("name", EXTREMES)
def test_endless_texts_take_linear_time(name: str) -> None:
    assert len(indexed(EXTREMES[name])[1]) <= len(EXTREMES[name])


HERE = Path(__file__).parent.parent / "languages"
CODES = {"English": "en", "German": "de", "Russian": "ru", "Japanese": "ja"}
GERMAN = chapter(LANGUAGES["German"])
ENGLISH = chapter(LANGUAGES["English"])


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_chapter_shows_its_language(name: str) -> None:
    assert language_of(chapter(LANGUAGES[name])) == CODES[name]


@pytest.mark.parametrize(
    "text",
    [
        *["", " \n\t", "12 345,67", "!?…", "Orion", "Mara Vane", "Hello"],
        *["\ud800" * 80, "日" * 5, "ABC " * 60, "\x00" * 90],
        "Jan van der Berg, Anna Müller, Zürich",
        f"{GERMAN[:900]} {ENGLISH[:900]}",
    ],
)
def test_short_or_mixed_text_has_no_language(text: str) -> None:
    assert language_of(text) == ""
    assert not is_foreign(language_of(text))


@pytest.mark.parametrize(
    ("tag", "code"),
    [("de-AT", "de"), ("EN_us", "en"), ("iw", "he"), ("nb", "no"), ("und", ""), ("", ""), ("German!", ""), ("zxx", "")],
)
def test_tags_of_files_are_read(tag: str, code: str) -> None:
    assert primary(tag) == code


@pytest.mark.parametrize(
    ("declared", "text", "language"),
    [
        ("de-AT", GERMAN, "de-AT"),
        ("en", GERMAN, "de"),
        ("", GERMAN, "de"),
        ("fr", "Orion.", "fr"),
    ],
)
def test_declared_language_wins_unless_plainly_wrong(declared: str, text: str, language: str) -> None:
    assert declared_language(declared, text) == language


def test_words_of_languages_stay_apart() -> None:
    assert "nicht" in stop_words("de") - stop_words("en")
    assert stop_words("tlh") == frozenset()
    assert list(terms("Die Schleuse des Mannes", "de")) == ["schleuse", "mannes"]
    assert list(terms("His locks", "en")) == ["lock"]
    assert keys("L'homme a noted 3 Barges", "fr") == ["l", "homme", "a", "noted", "3", "barges"]
    assert [carries("und", "de"), carries("und", "en")] == [False, True]

    def split(text: str) -> list[str]:
        return [text[span.start : span.end] for span in sentences(text)]

    assert split("  Prologue\nIt was dark. He came.") == ["Prologue", "It was dark.", "He came."]
    assert split("第一章\n彼は言った。去った。") == ["第一章", "彼は言った。", "去った。"]
    assert split("Alone\nthe king went.") == ["Alone\nthe king went."]
    assert split("彼は朝早く起きて、港へ行き、船を\n見た。") == ["彼は朝早く起きて、港へ行き、船を\n見た。"]


WIDE = st.text(alphabet="ab 灯台。「」é́مر\u0301", max_size=120)


@given(WIDE, st.integers(8, 40))
@example("aaa\u0301。。\u0301", 8)  # as many letters as columns, but not one column each
def test_lines_keep_to_their_columns(text: str, width: int) -> None:
    lines = lines_of(text, width, "> ", "  ")
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(line[2:] for line in lines).replace(" ", "") == "".join(text.split())


relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@relaxed
@given(text=raw_texts)
def test_the_whole_text_measures_what_it_counts(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.measure(text).tokens(0, len(text)) == tokenizer.count(text)


@relaxed
@given(text=texts)
def test_the_count_is_tiktokens_own(vocabulary: Tokenizer, text: str) -> None:
    assert vocabulary.count(text) == len(tiktokens_own(vocabulary.name).encode_ordinary(text))


@relaxed
@given(text=raw_texts, data=st.data())
def test_spans_add_up(tokenizer: Tokenizer, text: str, data: st.DataObject) -> None:
    meter = tokenizer.measure(text)
    a, b, c = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 3)))
    assert meter.tokens(a, a) == 0
    assert meter.tokens(a, b) <= meter.tokens(a, c) <= meter.tokens(0, len(text))
    assert meter.tokens(a, c) <= meter.tokens(a, b) + meter.tokens(b, c)


@relaxed
@given(text=raw_texts, budget=st.integers(1, 40), data=st.data())
def test_the_reach_is_what_fits(tokenizer: Tokenizer, text: str, budget: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    meter = tokenizer.measure(text)
    end = meter.reach(start, budget)
    assert start <= end <= len(text)
    assert meter.tokens(start, end) <= budget
    if end < len(text):
        longest = 40  # of any token here, in characters
        assert meter.tokens(start, min(len(text), end + longest)) > budget or end + longest >= len(text)


def test_characters_of_several_tokens_are_not_cut() -> None:
    meter = Meter(np.array([1, 1, 1, 2, 5, 5, 6], np.uint32))
    assert [meter.reach(0, budget) for budget in range(8)] == [0, 0, 0, 1, 2, 2, 5, 6]
    assert Meter(np.array([5, 5, 6], np.uint32)).reach(0, 1) == 0
    assert Meter(np.array([], np.uint32)).reach(0, 5) == 0
    assert meter.reach(6, 3) == 6


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_are_measured(tokenizer: Tokenizer, name: str) -> None:
    text = EXTREMES[name]
    assert tokenizer.measure(text).tokens(0, len(text)) == tokenizer.count(text) > 0


PROSE = {
    "English": "The keeper of the light hadn't been seen since Tuesday. “Who is there?” she asked; nobody answered. ",
    "German": "Die alte Wärterin stieg jeden Abend die steile Wendeltreppe hinauf, um das Feuer zu entzünden. ",
    "Russian": "Старый смотритель маяка каждый вечер поднимался по крутой лестнице, чтобы зажечь огонь. ",
    "Japanese": "灯台守の老人は毎晩、急な螺旋階段を上って灯をともした。「損害は私が払います」と老人は村長に言った。",
    "Chinese": "看守灯塔的老人每天傍晚都要爬上陡峭的旋梯去点灯。没有人记得他住了多久。",
    "code": "def reach(self, start: int) -> int:\n    if self._cost is None:\n        return max(start, self._end)\n\n",
    "JSON": json.dumps({"id": 1, "name": "row 1", "ratio": 0.142857, "tags": ["a", "b"]}, indent=2),
}


@pytest.mark.parametrize("vocabulary", ["o200k_base"], indirect=True)
@pytest.mark.parametrize("language", PROSE)
def test_the_estimate_is_not_too_low(vocabulary: Tokenizer, language: str) -> None:
    ratio = Tokenizer().count(PROSE[language] * 20) / vocabulary.count(PROSE[language] * 20)
    assert 0.95 <= ratio <= 1.5


def test_the_estimate_of_true_stories_is_close(vocabulary: Tokenizer, stories: list[str]) -> None:
    for story in stories:
        assert 0.93 <= Tokenizer(margin=1).count(story) / vocabulary.count(story) <= 1.12
        assert Tokenizer().count(story) >= vocabulary.count(story)


@pytest.mark.usefixtures("unloaded")
def test_without_the_vocabulary_the_estimate_takes_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The suite lets nothing reach the network, so this is a machine without one.
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    # tiktoken itself remembers what other tests have loaded.
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})
    counter, warning = tokenizer_for("gpt-4o")
    assert counter.name == ESTIMATE
    assert "o200k_base" in warning
    assert "15%" in warning
    assert "\n" not in warning
    assert tokenizer_named("o200k_base").name == ESTIMATE


@pytest.mark.usefixtures("unloaded")
def test_a_download_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    released, entered = threading.Event(), threading.Event()

    def hang(name: str) -> tiktoken.Encoding:
        entered.set()
        released.wait(60)
        raise OSError

    monkeypatch.setattr(tiktoken, "get_encoding", hang)
    monkeypatch.setattr(tokens, "_LOAD_SECONDS", 0.05)
    try:
        counter, warning = tokenizer_for("gpt-4o")
        assert entered.is_set()
        assert not released.is_set()
        assert (counter.name, "estimated" in warning) == (ESTIMATE, True)
    finally:
        released.set()


@pytest.mark.usefixtures("unloaded")
def test_models_and_their_vocabularies(vocabulary: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tiktoken,
        "get_encoding",
        lambda name: tiktoken.core.Encoding(
            name, pat_str="a", mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
        ),
    )
    assert tokenizer_for("gpt-4")[0].name == "cl100k_base"
    assert tokenizer_for("gpt-4")[1] == ""
    counter, warning = tokenizer_for("some-local-model")
    assert (counter.name, warning) == (
        "o200k_base",
        "token counts for some-local-model are approximated with o200k_base",
    )
