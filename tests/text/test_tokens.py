from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.text import tokens
from redraft.text.tokens import (
    ESTIMATE,
    EstimatingTokenizer,
    Meter,
    Tokenizer,
    tokenizer_for,
    tokenizer_named,
)
from tests.text.hostile import EXTREMES, raw_texts, texts
from tests.vocabularies import tiktokens_own

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
    ratio = EstimatingTokenizer().count(PROSE[language] * 20) / vocabulary.count(PROSE[language] * 20)
    assert 0.95 <= ratio <= 1.5


def test_the_estimate_of_true_stories_is_close(vocabulary: Tokenizer, stories: list[str]) -> None:
    for story in stories:
        assert 0.93 <= EstimatingTokenizer(margin=1).count(story) / vocabulary.count(story) <= 1.12
        assert EstimatingTokenizer().count(story) >= vocabulary.count(story)


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
