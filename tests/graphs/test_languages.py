"""Drafting in other languages: how many words there are, what room they need, and where a sentence ends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Document
from redraft.llm.base import Line, Request
from redraft.readers.documents import parse
from redraft.text.tokens import EstimatingTokenizer
from redraft.text.words import count_words
from tests.support import Desk, obedient, story

GERMAN = (
    "Die Hafenmeisterin führt seit {n} Jahren das Salzbuch der Insel und vergleicht jede Lieferung mit den Briefen.",
    "Im Winter {n} bemerkt sie, dass die Versicherungsgesellschaft Ladungen bezahlt hat, die nie verschifft wurden.",
    "Der Leuchtturmwärter widerspricht ihr, obwohl seine eigenen Aufzeichnungen denselben Fehlbetrag ausweisen.",
)
RUSSIAN = (
    "Смотрительница гавани уже {n} лет ведёт соляную книгу острова и сверяет каждую поставку с накладными.",
    "Зимой {n} года она замечает, что страховое общество оплатило грузы, которые никогда не были отправлены.",
    "Смотритель маяка возражает ей, хотя в его собственных записях указана та же самая недостача.",
)
JAPANESE = (
    "港の管理人は{n}年前から島の塩の帳簿をつけ、届いた荷物をすべて送り状と照らし合わせている。",
    "{n}年の冬、彼女は保険会社が一度も出荷されていない荷物に支払いをしていたことに気づく。",
    "灯台守は反論するが、彼自身の記録にも同じ不足額が記されている。",
)
TEXTS = {"German": GERMAN, "Russian": RUSSIAN, "Japanese": JAPANESE}


def document(language: str, sentences: int = 240) -> Document:
    lines = [TEXTS[language][n % 3].format(n=n) for n in range(sentences)]
    between = "" if language == "Japanese" else " "
    paragraphs = [between.join(lines[at : at + 6]) for at in range(0, len(lines), 6)]
    return parse("\n\n".join(paragraphs).encode(), name=f"{language}.txt")


def summary(language: str, words: int) -> str:
    """Sentences of the language, of at most so many words together."""
    said = ""
    for n in range(1000):
        more = f"{said} {TEXTS[language][n % 3].format(n=n)}".strip()
        if said and count_words(more) > words:
            break
        said = more
    return said


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
@pytest.mark.parametrize("language", TEXTS)
async def test_a_writer_that_uses_all_its_words_has_the_room_for_them(
    tmp_path: Path, language: str, strategy: str
) -> None:
    """A server that cuts replies off at the room that it was given, by the count of the tokenizer."""
    tokenizer, cut = EstimatingTokenizer(), []

    def answer(request: Request[Any, Any]) -> Line:
        if request.prompt.name in ("tidy", "outline"):
            return obedient(request)
        text = summary(language, request.given.words)
        cut.append(tokenizer.count(text) > (request.sampling.max_tokens or 0))
        return text

    desk = Desk(tmp_path, answer)
    result = await desk.summarize(
        document(language), strategy=strategy, words=120, chunk_tokens=512, context_tokens=32_000
    )

    assert result.complete
    assert result.flawed == ()
    assert 60 < count_words(result.summary or "") <= 120
    assert not any(cut)
    assert all("try" not in request.label for request in desk.asked)


@pytest.mark.parametrize("language", TEXTS)
async def test_a_reply_that_is_too_long_or_has_no_end_is_seen_as_such(tmp_path: Path, language: str) -> None:
    long, short = summary(language, 121), summary(language, 70)
    replies = iter([long, short.rstrip(".。"), short])
    desk = Desk(tmp_path, lambda request: next(replies, str(getattr(request.given, "summary", ""))))
    result = await desk.summarize(document(language, 24), words=100, chunk_tokens=4096, context_tokens=16_000)

    assert result.summary == short
    told = [request.complaint.reason for request in desk.asked if request.complaint]
    unit = "characters" if language == "Japanese" else "words"
    over = count_words(long) - 100
    assert told == [
        f"it has {100 + over} {unit}, {over} too many; write at most 100 {unit}",
        f"its last sentence is unfinished; write at most 90 {unit}",
    ]
    assert f"Use at most 100 {unit}." in desk.asked[0].text


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
async def test_a_limit_is_told_in_what_it_is_counted_in(tmp_path: Path, strategy: str) -> None:
    def asked(language: str | None, text: Document) -> Coroutine[Any, Any, list[str]]:
        return texts(tmp_path / f"{text.title} {language}", text, strategy, language)

    japanese, english = document("Japanese", 60), story(60)
    assert units(await asked(None, japanese)) == {"characters"}
    assert units(await asked("English", japanese)) == {"words"}
    assert units(await asked("Traditional Chinese", english)) == {"characters"}


def units(asked: list[str]) -> set[str]:
    return {unit for one in asked for unit in re.findall(r"[0-9] (words|characters)", one)}


async def texts(folder: Path, read: Document, strategy: str, language: str | None) -> list[str]:
    await asyncio.to_thread(folder.mkdir)
    desk = Desk(folder)
    await desk.summarize(read, strategy=strategy, language=language, context_tokens=8192)
    return [request.text for request in desk.asked if request.prompt.name != "tidy"]
