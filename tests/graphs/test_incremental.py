"""Incremental updating and compression; drafts of the first tokens of a document; and limits by language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig, read_lineage
from redraft.domain import Document, Usage
from redraft.errors import ModelError, RefusedReply, RejectedRequest, UsageError
from redraft.llm.base import Line, Request
from redraft.readers.documents import parse
from redraft.text.chunks import beginning
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words
from tests.support import Desk, betraying, obedient, prose, story

pytestmark = pytest.mark.slow


def growing(request: Request[Any, Any]) -> Line:
    """A writer that adds forty words a chunk, whatever it is asked, and compresses obediently."""
    given, name = request.given, request.prompt.name
    if name in ("begin", "update"):
        return prose(40 + count_words(getattr(given, "summary", "")), f"m{len(given.excerpt)}")
    return obedient(request)


async def run(desk: Desk, sentences: int = 100, **settings: Any) -> Any:
    return await desk.summarize(story(sentences), strategy="incremental", **settings)


async def test_one_summary_takes_in_chunk_after_chunk(tmp_path: Path) -> None:
    desk = Desk(tmp_path, betraying)
    result = await run(desk)

    names = [request.prompt.name for request in desk.asked]
    assert names == ["begin", *["update"] * (result.chunks - 1), "tidy"]
    read = [request.given.excerpt for request in desk.asked[:-1]]
    assert "".join(read) == story(100).text
    replies = [piece.text for piece in desk.store.runs.pieces(result.run.id)]
    assert [request.given.summary for request in desk.asked[1:-1]] == replies[:-1]
    assert desk.asked[-1].given.summary == replies[-1] == result.summary


async def test_overlong_summary_is_compressed_to_its_target(tmp_path: Path) -> None:
    desk = Desk(tmp_path, growing)
    result = await run(desk, query="Who keeps the lamp?")

    assert {request.given.query for request in desk.asked if request.prompt.name != "tidy"} == {"Who keeps the lamp?"}
    compressions = desk.asked_for("compress")
    assert compressions
    for request in compressions:
        assert request.given.current_words > 100
        assert request.given.words < 100 or request.label.startswith(f"compress after chunk {result.chunks}/")
        assert request.sampling.temperature == 1.0
    assert all(request.sampling.temperature == 0.5 for request in desk.asked_for("update"))
    assert count_words(result.summary or "") <= 100


@pytest.mark.parametrize("strategy", ["incremental", "hierarchical"])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RefusedReply("the model declined", text="No.", usage=Usage(1, 1)), RefusedReply.code),
        (RejectedRequest("HTTP 400"), "rejected"),
    ],
)
async def test_chunk_without_a_reply_is_a_gap(tmp_path: Path, strategy: str, error: ModelError, code: str) -> None:
    desk = Desk(tmp_path, lambda request: error if request.label.startswith("chunk 4/") else obedient(request))
    result = await desk.summarize(story(100), strategy=strategy)

    assert [(gap.chunk, gap.code) for gap in result.gaps] == [(3, code)]
    assert result.summary
    if strategy == "incremental":
        by_label = {request.label.split("/")[0]: request for request in desk.asked}
        assert by_label["chunk 5"].given.summary == by_label["chunk 4"].given.summary


async def test_failure_continues_where_it_stopped(tmp_path: Path) -> None:
    broken = True

    def answer(request: Request[Any, Any]) -> Line:
        failing = broken and request.label.startswith("chunk 5/")
        return ModelError("down") if failing else obedient(request)

    desk = Desk(tmp_path, answer)
    with pytest.raises(ModelError):
        await run(desk)
    broken = False
    before = len(desk.asked)
    result = await desk.resume(desk.store.runs.latest(1)[0].id)

    assert result.complete
    assert desk.asked[before].label.startswith("chunk 5/")
    labels = [request.label for request in desk.asked if not request.label.startswith("chunk 5/")]
    assert len(labels) == len(set(labels))


async def test_target_compresses_at_the_token_cap(tmp_path: Path) -> None:
    """100 words are asked for and 154 tokens allowed: 102 words are no reason to compress, and 200 are."""

    def writing(words: int) -> Desk:
        def answer(request: Request[Any, Any]) -> Line:
            return prose(words) if request.prompt.name in ("begin", "update") else obedient(request)

        return Desk(tmp_path / str(words), answer)

    above = writing(102)
    kept = await run(above, words_as="target")
    assert not above.asked_for("compress")
    assert count_words(kept.summary or "") == 102
    over = writing(200)
    result = await run(over, words_as="target")
    assert len(over.asked_for("compress")) > result.chunks / 2
    limited = writing(103)
    await run(limited)
    assert limited.asked_for("compress")


COUNTER = Tokenizer()


@pytest.mark.parametrize("strategy", ["direct", "hierarchical", "incremental"])
async def test_no_strategy_reads_beyond_the_beginning(tmp_path: Path, strategy: str) -> None:
    document = story(60)
    end = beginning(document.text, COUNTER, 400)
    desk = Desk(tmp_path)
    result = await desk.summarize(document, strategy=strategy, until=400)

    fields = ("document", "excerpt")
    read = [text for request in desk.asked for name in fields if (text := getattr(request.given, name, None))]
    assert "".join(sorted(read, key=document.text.index)) == document.text[:end]
    assert document.text[:end].rstrip().endswith(".")
    assert COUNTER.count(document.text[:end]) <= 400 < COUNTER.count(document.text)
    # Of several chunks each is rounded up.
    assert COUNTER.count(document.text[:end]) <= result.tokens <= 400
    assert result.run.document == document.id
    lineage = read_lineage(desk.store, result.run.id)
    assert lineage.document.text == document.text
    assert all(place.span.end <= end for request in lineage.sentences for place in (*request.origins, *request.direct))


async def test_beginning_cannot_be_refined(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    async with desk.session() as session:
        with pytest.raises(UsageError, match="only its beginning"):
            await session.summarize(
                story(60),
                settings=DraftConfig(words=50, until=400),
                judging=JudgeConfig(metrics=("coverage",)),
                refinement=RefineConfig(goals={"coverage": 0.5}),
            )


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
    text = ""
    for n in range(1000):
        more = f"{text} {TEXTS[language][n % 3].format(n=n)}".strip()
        if text and count_words(more) > words:
            break
        text = more
    return text


@pytest.mark.parametrize("language", TEXTS)
async def test_long_and_unfinished_replies_are_noticed(tmp_path: Path, language: str) -> None:
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
