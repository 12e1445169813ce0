"""Several documents in several languages are read as one; and what the built-in model does in each of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig, Session
from redraft.domain import Document, Span
from redraft.evaluators.statistics import measures
from redraft.readers.documents import load, load_all
from redraft.readers.parts import Selection
from redraft.text.languages import (
    language_context,
    language_key,
    language_spans_in,
    languages_of,
    other_language_in,
    own_language,
    undetected_language,
    with_language,
)
from redraft.text.origins import OriginTracer
from redraft.text.places import document_of
from redraft.text.quotes import source_of
from redraft.text.retrieval import Passages
from redraft.text.sentences import sentences, sentences_in
from redraft.text.tokens import Tokenizer
from tests.cli.local_command import LocalCommand

HERE = Path(__file__).parent
# Each sentence ends elsewhere by the rules of English.
GERMAN = (
    "Der Kahn lag am 3. März unter der Brücke bzw. Am Ufer. Die Schleusen waren seit dem 19. Jahrhundert offen, und"
    " niemand hatte sie je geschlossen. Im Abschnitt Abb. 3 sieht man die Kammer. Der Müller verkaufte im Herbst die"
    " alte Mühle an einen Händler aus der Stadt.\n"
)
ENGLISH = (
    "The ledger of the harbour was kept by Mr. Crane, who wrote every ship into it. The mill was sold in autumn to a"
    " merchant of the town. Nobody asked what he had paid for it, and he never told anybody in all those years.\n"
)
JAPANESE = (HERE / "japanese.md").read_text("utf-8")


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    for name, text in (("en.txt", ENGLISH), ("de.txt", GERMAN), ("ja.md", JAPANESE)):
        (tmp_path / name).write_text(text, "utf-8")
    return [str(tmp_path / name) for name in ("en.txt", "de.txt", "ja.md")]


def own_sentences(document: Document) -> list[str]:
    with language_context(document):
        return [document.text[span.start : span.end] for span in sentences(document.text)]


def test_sentences_are_those_of_each_document(paths: list[str]) -> None:
    corpus = load_all(paths)
    alone = [own_sentences(load_all([path])) for path in paths]
    assert "Im Abschnitt Abb. 3 sieht man die Kammer." in alone[1]
    split = [sentence for sentence in own_sentences(corpus) if not sentence.startswith("#")]
    assert split == [sentence for each in alone for sentence in each if not sentence.startswith("#")]
    assert corpus.language == ""
    with language_context(corpus):
        assert [language for _, language in language_spans_in(corpus.text)] == ["en", "de", "ja"]
        assert [language for _, language in language_spans_in(corpus.text[: len(ENGLISH)])] == ["en"]
        counted = measures(corpus.text, "Nothing.", ["Nothing."], (1, 1))["source"]["sentences"]
    assert counted == len(own_sentences(corpus))


def test_query_is_found_by_its_words(paths: list[str]) -> None:
    corpus = load_all(paths)
    with language_context(corpus):
        passages = Passages(corpus, Tokenizer())
        for asked, name in (
            ("Wem wurde die Mühle verkauft?", "de.txt"),
            ("Who kept the ledgers of the harbour?", "en.txt"),
            ("杉本清は誰ですか", "ja.md"),
        ):
            assert document_of(corpus, passages.nearest(asked, 1)[0]) == name, asked
        origins = OriginTracer([corpus.text])
        text = "Der Müller verkaufte seine alte Mühle. The mill was sold to some merchants. Ein Wal sang im Fjord."
        first, second, third = origins.trace(text)
        assert document_of(corpus, first.links[0].span) == "de.txt"
        assert document_of(corpus, second.links[0].span) == "en.txt"
        assert third.links == ()
        exact = Span(corpus.text.index("Nobody asked"), corpus.text.index("\n\n\f", corpus.text.index("Nobody asked")))
        assert source_of(corpus.text, "asked nobody what he had ever paid for it in those years", [exact]) is not None


def test_the_user_s_word_holds_for_all(paths: list[str]) -> None:
    text = load_all(paths, selection=Selection(language="nl"))
    assert (text.language, own_language(text), other_language_in(text)) == ("nl", "", "nl")
    with language_context(text):
        assert [language for _, language in language_spans_in(text.text)] == ["nl"]
    assert undetected_language(text) == "nl"
    again = with_language(load_all(paths), languages_of(text))
    assert (again.language, own_language(again), language_key(again)) == ("nl", "", language_key(text))
    assert [mark.language for mark in text.marks if mark.kind == "document"] == ["en", "de", "ja"], "its own"


def test_each_language_is_named(paths: list[str], tmp_path: Path) -> None:
    command = LocalCommand(tmp_path, "http://127.0.0.1:9", COLUMNS="80")
    output = command.run("read", *paths).out
    assert re.search(r"de\.txt: \d+ words, language de\n", output)
    marks = json.loads(command.run("read", *paths, "--json").out)["marks"]
    assert [mark["language"] for mark in marks if mark["kind"] == "document"] == ["en", "de", "ja"]
    assert "language de" not in command.run("read", *paths, "--set", "source_language=nl").out
    command.run("summarize", *paths, "-w", "120", "-q", "-o", "made.html")
    page = (tmp_path / "made.html").read_text("utf-8")
    quoted = dict(re.findall(r'<bdi lang="(\w*)">(\w\w\.\w+)<', page))
    assert quoted == {"en": "en.txt", "de": "de.txt", "ja": "ja.md"}
    assert '<q lang="ja" dir="auto">' in page


CODES = {"german": "de", "russian": "ru", "japanese": "ja", "arabic": "ar", "chinese": "zh", "spanish": "es"}

language = pytest.mark.parametrize("language", CODES)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["german", "japanese", "arabic"])
def test_steps_from_the_file_to_the_dossier(language: str, tmp_path: Path) -> None:
    command = LocalCommand(tmp_path, "http://127.0.0.1:9", COLUMNS="80")
    text = (HERE / f"{language}.md").read_text("utf-8")
    (tmp_path / "text.md").write_text(text, "utf-8")

    read = json.loads(command.run("read", "text.md", "--json").out)
    assert read["language"] == CODES[language]

    drafted = command.run("summarize", "text.md", "-w", "60", "-o", "summary.md")
    assert drafted.code == 0, drafted.err
    summary = (tmp_path / "summary.md").read_text("utf-8")
    sentences_of_text = {" ".join(sentence.split()) for sentence in sentences_in(text)}
    assert sentences_in(summary)
    assert set(sentences_in(summary)) <= sentences_of_text, "each of its sentences is one of the document's"

    done = command.run("evaluate", "text.md", "summary.md", "--json")
    assert done.code == 3
    assert "judges English only" in done.err
    figures = json.loads(done.out)
    for name in ("coverage", "consistency"):
        metric = figures["metrics"][name]
        assert (metric["outcome"], metric["score"], metric["judged"], metric["findings"]) == ("failed", None, 0, [])

    output = command.run("show", figures["run"], "--cite").out
    cited = output.partition("\n[1]")[0]
    assert len(re.findall(r"\[\d+\]", cited)) >= len(sentences_in(summary)) - 1
    assert "every sentence has a place in the document" in command.run("lineage", figures["run"]).out

    assert command.run("export", figures["run"], "-o", "dossier.html").code == 0
    page = (tmp_path / "dossier.html").read_text("utf-8")
    assert f'data-text lang="{CODES[language]}"' in page
    assert "no metric has a score" in page


@language
async def test_goal_is_unsure_and_nothing_is_fixed(language: str, tmp_path: Path) -> None:
    document = load(str(HERE / f"{language}.md"))
    refinement = RefineConfig(goals={"coverage": 0.5, "consistency": 0.9}, rounds=2)
    async with Session(tmp_path / "redraft.db", settings=DraftConfig(words=60)) as session:
        result = await session.summarize(document, judging=JudgeConfig(), refinement=refinement)
        assert session.store.documents.outline(document.id).language == CODES[language]
    assert result.run.stop_reason == "unsure"
    assert result.scores == {"coverage": None, "consistency": None}
    assert not [finding for sentence in result.evaluations.values() for finding in sentence.findings]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (
            "Das gilt z. B. auch für Dr. Müller. Er kam am 3. März 1924 gegen fünf Uhr mit Koffern usw. nach Hause."
            " Dann schlief er lange.",
            3,
        ),
        ("Он родился в 1926 г. в городе Москве. А. С. Пушкин и т. д. стояли на полке у окна.", 2),
        ("M. Dupont est venu avant son frère, qui était né av. J.-C. selon lui. Personne ne le croyait alors.", 2),
        ("ذهب الرجل إلى المدينة القديمة في الصباح. هل وصل قبل الظهر؟ نعم، وصل مع أخيه.", 3),
    ],
)
def test_sentences_end_as_the_language_does(text: str, whole: int) -> None:
    assert len(sentences(text)) == whole
