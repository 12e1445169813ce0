"""What the user says of a language holds wherever it is read; and texts in six languages through the whole loop."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redraft import DraftConfig, JudgeConfig, Session
from redraft.domain import Document, Span
from redraft.readers.documents import load
from redraft.text.languages import detected_language, language_context, language_of
from redraft.text.quotes import source_of
from redraft.text.sentences import sentences, sentences_in
from redraft.text.words import count_words
from tests.chatserver import ChatServer
from tests.cli.local_command import MODEL, LocalCommand
from tests.languages.reader import Reader

HERE = Path(__file__).parent
# Of this nothing can be told, and it has abbreviations of German before capitals.
LOW = (
    "De olle Fischer weer al fröh op de Been. He güng na'n Haven bzw. Na de Stadt un keek na sien Boot. Dat Water weer"
    " still, un de Heven weer grau. Sien Söhn schull em helpen, avers de sleep noch. Am Avend keem Jan Hinnerk vörbi un"
    " sä em, dat dat Weder ümslaan wull."
)
# This shows to be Latin.
LATIN = (
    "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, aliam Aquitani, tertiam qui ipsorum lingua"
    " Celtae, nostra Galli appellantur. Hi omnes lingua, institutis, legibus inter se differunt. Gallos ab Aquitanis"
    " Garumna flumen, a Belgis Matrona et Sequana dividit. Apud Helvetios longe nobilissimus fuit et ditissimus"
    " Orgetorix."
)
OF_LATIN = (
    "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, aliam Aquitani, tertiam qui ipsorum lingua"
    " Celtae, nostra Galli appellantur. Apud Helvetios longe nobilissimus fuit et ditissimus Orgetorix."
)
GERMAN = (HERE / "german.md").read_text("utf-8")


def _said(text: str, language: str) -> Document:
    return replace(Document.from_text(text), language=language)


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    (tmp_path / "low.txt").write_text(LOW, "utf-8")
    (tmp_path / "latin.txt").write_text(LATIN, "utf-8")
    (tmp_path / "of-latin.txt").write_text(OF_LATIN, "utf-8")
    return LocalCommand(tmp_path, "http://127.0.0.1:9", COLUMNS="80")


def test_declared_language_applies_to_its_text() -> None:
    assert (detected_language(LOW), detected_language(LATIN)) == ("", "la")
    assert len(sentences_in(LOW)) == 6
    with language_context(_said(LOW, "de")):
        assert len(sentences_in(LOW)) == len(sentences(LOW, Span(0, len(LOW)))) == 5
        assert language_of("Ja, bzw. Nein.") == "de"
        assert language_of(LATIN) == "la", "which is in another language than the document shows"
    with language_context(_said(LATIN, "en")):
        assert language_of(LATIN) == language_of(OF_LATIN) == language_of("Omnia.") == "en"
        assert language_of(GERMAN) == "de"
        with language_context(_said(GERMAN, "")):
            assert language_of("Ja.") == "de"
        assert language_of("Omnia.") == "en"
    assert language_of("Omnia.") == ""


def test_english_licence_does_not_set_the_language() -> None:
    licence = "This text is in the public domain, and you may do with it whatever you want to do with it at all. " * 12
    with language_context(_said(licence + "\n\n" + GERMAN * 8, "")):
        assert language_of("") == "de"
        assert language_of(licence) == "en"


def test_what_is_no_language_is_refused(command: LocalCommand) -> None:
    done = command.run("summarize", "low.txt", "--set", "source_language=german")
    assert done.code == 2
    assert "is not a language" in done.err


@pytest.mark.slow
def test_built_in_model_judges_english_documents_only(tmp_path: Path) -> None:
    command = LocalCommand(tmp_path, "http://127.0.0.1:9", COLUMNS="80")
    (tmp_path / "b.md").write_text(GERMAN, "utf-8")
    (tmp_path / "a.md").write_text("The harbour was shut in March, and nobody was told of it. " * 25, "utf-8")
    told = command.run("keyfacts", "a.md", "b.md")
    assert told.code == 2
    assert "in another language (de)" in told.err
    arguments = ("summarize", "a.md", "b.md", "--by-chapter", "-w", "80", "--refine", "--rounds", "1", "--json", "-q")
    done = json.loads(command.run(*arguments).out)
    judged = {item["title"]: item["result"]["unscored"] for item in done["chapters"]}
    assert "English only" not in str(judged["a.md"])
    assert "English only" in str(judged["b.md"])


def test_built_in_model_declines_other_languages(command: LocalCommand) -> None:
    output = command.run("summarize", "latin.txt", "-w", "20", "--language", "German").err
    assert "cannot write in German: it only copies sentences" in " ".join(output.split())
    assert "cannot write" not in command.run("summarize", "latin.txt", "-w", "20").err


READERS = {
    "german": Reader("Wie geht es weiter: „{}“?", reason="Beide sagen dasselbe."),
    "russian": Reader("Как продолжается: «{}»?", reason="Ответы совпадают."),
    "japanese": Reader("「{}」の続きは何ですか。", reason="同じことを述べている。"),
    "spanish": Reader("¿Cómo sigue «{}»?", reason="Dicen lo mismo."),
    "arabic": Reader("كيف تستمر الجملة «{}»؟", reason="تقولان الشيء نفسه."),
    "chinese": Reader("“{}”的后面是什么？", reason="两者说的相同。"),
}
METRICS = ("coverage", "consistency", "faithfulness")
LIMITS = {"german": 120, "russian": 120, "japanese": 240, "spanish": 120, "arabic": 90, "chinese": 180}
LATIN_LETTERS = re.compile(r"[A-Za-z]{2,}")

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
async def test_draft_keeps_its_limit_under_every_metric(
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
    assert not (LATIN_LETTERS.search(result.summary) and language not in ("german", "spanish")), (
        "nothing was translated"
    )
    for name in METRICS:
        item = result.evaluations[name]
        assert (item.outcome, item.unjudged) == ("scored", 0), f"{name}: {item.reason}"
        assert item.judged > 0
    assert result.scores["consistency"] == result.scores["faithfulness"] == 1.0, "every sentence is the document's"
    assert pack is not None
    for question in pack.questions:
        span = question.evidence.span
        assert span is not None, f"the quote is not found: {question.evidence.text}"
        assert document.text[span.start : span.end].split() == question.evidence.text.split()


@language
def test_quotes_are_found_in_every_language(language: str) -> None:
    text = (HERE / f"{language}.md").read_text("utf-8")
    for item in sentences_in(text):
        assert source_of(text, item, [Span(0, len(text))]) is not None, item
