"""Texts in six languages through the whole loop: drafted, judged by every metric, refined, and shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig, Session
from redraft.domain import Span
from redraft.readers.documents import load
from redraft.text.quotes import locate
from redraft.text.sentences import worded
from redraft.text.words import count_words
from tests.chatserver import ChatServer
from tests.cli.inside import MODEL, Inside
from tests.languages.reader import Reader

HERE = Path(__file__).parent
READERS = {
    "german": Reader("Wie geht es weiter: „{}“?", reason="Beide sagen dasselbe."),
    "russian": Reader("Как продолжается: «{}»?", reason="Ответы совпадают."),
    "japanese": Reader("「{}」の続きは何ですか。", reason="同じことを述べている。"),
    "spanish": Reader("¿Cómo sigue «{}»?", reason="Dicen lo mismo."),
    "arabic": Reader("كيف تستمر الجملة «{}»؟", reason="تقولان الشيء نفسه."),
    "chinese": Reader("“{}”的后面是什么？", reason="两者说的相同。"),
}
REFUSALS = {
    "german": "Wird in der Zusammenfassung nicht erwähnt.",
    "russian": "В тексте не указано.",
    "japanese": "本文には書かれていません。",
    "spanish": "No se menciona en el texto.",
    "arabic": "لم يُذكر ذلك في النص.",
    "chinese": "文中没有提到。",
}
METRICS = ("coverage", "consistency", "booookscore", "keyfact_recall", "faithfulness")
LIMITS = {"german": 120, "russian": 120, "japanese": 240, "spanish": 120, "arabic": 90, "chinese": 180}
LATIN = re.compile(r"[A-Za-z]{2,}")

language = pytest.mark.parametrize("language", READERS)


@pytest.fixture
def served(language: str) -> Iterator[ChatServer]:
    with ChatServer(READERS[language]) as server:
        yield server


def settings(language: str, server: ChatServer, **others: object) -> DraftConfig:
    return DraftConfig(model=MODEL, base_url=server.base_url, words=LIMITS[language], chunk_tokens=600, **others)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "strategy"),
    [
        ("german", "hierarchical"),
        ("japanese", "hierarchical"),
        ("arabic", "incremental"),
        ("chinese", "incremental"),
        ("russian", "direct"),
        ("spanish", "direct"),
    ],
)
async def test_a_draft_keeps_its_limit_and_is_judged_by_every_metric(
    language: str, strategy: str, served: ChatServer, tmp_path: Path
) -> None:
    document = load(str(HERE / f"{language}.md"))
    judging = JudgeConfig(metrics=METRICS, questions=8)
    async with Session(tmp_path / "redraft.db", settings=settings(language, served, strategy=strategy)) as session:
        result = await session.summarize(document, judging=judging)
        pack = session.store.packs.latest(document.id)

    assert result.status == "done"
    assert not result.gaps
    assert not result.flawed
    assert result.summary is not None
    assert 0 < count_words(result.summary) <= LIMITS[language]
    assert not (LATIN.search(result.summary) and language not in ("german", "spanish")), "nothing was translated"
    for name in METRICS:
        one = result.evaluations[name]
        assert (one.outcome, one.unjudged) == ("scored", 0), f"{name}: {one.reason}"
        assert one.judged > 0
    assert result.scores["consistency"] == result.scores["faithfulness"] == 1.0, "every sentence is the document's"
    assert pack is not None
    for question in pack.questions:
        span = question.evidence.span
        assert span is not None, f"the quote is not found: {question.evidence.text}"
        assert document.text[span.start : span.end].split() == question.evidence.text.split()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["german", "arabic", "japanese"])
async def test_what_is_missing_is_worked_in_and_the_limit_is_kept(
    language: str, served: ChatServer, tmp_path: Path
) -> None:
    document = load(str(HERE / f"{language}.md"))
    first = next(one for one in worded(document.text) if not one.startswith("#"))
    refinement = RefineConfig(goals={"coverage": 0.5, "consistency": 0.9}, rounds=2, allow_self_check=True)
    async with Session(tmp_path / "redraft.db", settings=settings(language, served)) as session:
        result = await session.refine(document, first, refinement=refinement, judging=JudgeConfig(questions=8))

    before, after = result.initial_scores["coverage"], result.scores["coverage"]
    assert before is not None
    assert after is not None
    assert after > before
    assert result.summary is not None
    assert count_words(result.summary) <= LIMITS[language]


@language
def test_the_command_shows_findings_in_the_language_of_the_text(
    language: str, served: ChatServer, tmp_path: Path
) -> None:
    command = Inside(tmp_path, served.base_url, REDRAFT_MODEL=MODEL, COLUMNS="100")
    (tmp_path / "text.md").write_text((HERE / f"{language}.md").read_text("utf-8"), "utf-8")
    (tmp_path / "one.md").write_text(worded((HERE / f"{language}.md").read_text("utf-8"))[3], "utf-8")
    done = command.run("evaluate", "text.md", "one.md", "--questions", "6")
    assert done.code == 0, done.err
    assert "\ufffd" not in done.out
    asked = READERS[language].asks.split("{}")[0].strip()
    assert asked in done.out


@language
async def test_an_irrelevant_summary_is_not_covered_in_whichever_words_the_judge_says_so(
    language: str, tmp_path: Path
) -> None:
    other = load(str(HERE / f"{'russian' if language != 'russian' else 'german'}.md"))
    irrelevant = worded(other.text)[4]
    with ChatServer(replace(READERS[language], refuses=REFUSALS[language])) as server:
        async with Session(tmp_path / "redraft.db", settings=settings(language, server)) as session:
            judging = JudgeConfig(metrics=("coverage",), questions=8)
            result = await session.evaluate(load(str(HERE / f"{language}.md")), irrelevant, judging=judging)
    coverage = result.evaluations["coverage"]
    assert coverage.score is None or coverage.score <= 0.05


@language
def test_quotes_are_found_in_a_text_of_the_language(language: str) -> None:
    text = (HERE / f"{language}.md").read_text("utf-8")
    for one in worded(text):
        assert locate(text, one, [Span(0, len(text))]) is not None, one
