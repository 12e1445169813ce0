"""A refusal is told from a summary by what it has in common with its source, in any language."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.text.reply_cleanup import is_no_summary
from redraft.text.words import count_words
from tests.agents.translations import SUMMARY, TRANSLATIONS
from tests.support import SAMPLE
from tests.torture.refusals import ANY, LANGUAGES, refusals

TOLD = SAMPLE.read_text("utf-8")
CHUNK = TOLD[: len(TOLD) // 6]
TEXTS = Path(__file__).parent.parent / "languages"
CODES = {"german": "German", "russian": "Russian", "japanese": "Japanese", "arabic": "Arabic", "chinese": "Chinese",
         "spanish": "Spanish"}  # fmt: skip


def test_refusals_in_thirty_languages_are_no_summaries() -> None:
    said = list(refusals(300, seed=5))
    assert len(LANGUAGES) >= 30
    assert {language for _, language in said} == {*LANGUAGES, ANY}
    taken = [text for text, _ in said if not is_no_summary(text, CHUNK, 120)]
    assert taken == []


@pytest.mark.slow
@pytest.mark.parametrize("language", CODES)
def test_refusals_in_the_language_of_the_document_are_no_summaries(language: str) -> None:
    source = (TEXTS / f"{language}.md").read_text("utf-8")
    said = [text for text, spoken in refusals(1200, seed=6) if spoken in (CODES[language], ANY, "English")]
    taken = [
        text for text in said if not is_no_summary(text, source, 250 if language in ("chinese", "japanese") else 100)
    ]
    assert len(taken) <= 0.02 * len(said), taken


@pytest.mark.parametrize("language", TRANSLATIONS)
@pytest.mark.parametrize("asked", [True, False])
def test_a_translated_summary_is_one(language: str, asked: bool) -> None:
    text = TRANSLATIONS[language]
    told = language if asked else None
    assert not is_no_summary(text, TOLD, int(1.2 * count_words(text)), told)
    assert not is_no_summary(SUMMARY, text, 80, "English" if asked else None)


@pytest.mark.parametrize(("source", "text"), [
    (SUMMARY, "베인은 아버지의 장부를 찾으러 섬으로 가고, 등대지기는 폭풍 뒤에 그것을 건넨다."),
    (SUMMARY, "A woman looks for the ledger of her father, which the keeper gives her after the storm."),
    ("Rain fell all night on the town, and by morning the river had taken the bridge.", "Rain took the bridge."),
])  # fmt: skip
def test_what_is_told_of_the_source_is_a_summary(source: str, text: str) -> None:
    assert not is_no_summary(text, source, 24, "Korean" if "섬" in text else None)


def test_a_sentence_of_the_source_is_one_however_short_it_is() -> None:
    assert not is_no_summary("I was alone.", "It was dark. I was alone. " + TOLD, 400)
    assert is_no_summary("I was asked.", "It was dark. I was alone. " + TOLD, 400)


def test_the_same_seed_makes_the_same_refusals() -> None:
    assert list(refusals(50, 3)) == list(refusals(50, 3)) != list(refusals(50, 4))
    assert all(text.strip() for text, _ in refusals(2000))


def test_what_speaks_of_itself_needs_more_of_its_source() -> None:
    text = "Keeper, ledger, storm: content, guidelines, policy, topic, request, summary."
    assert not is_no_summary(text, SUMMARY, 20)
    assert is_no_summary(f"I {text}", SUMMARY, 20)
