"""Windows are on record with a run; texts are read as they are passed in; and documents go chapter by chapter."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import Document, DraftConfig, ModelSettings, Session, Store, UsageError
from redraft.domain import content_id
from redraft.errors import DocumentError
from redraft.events import PartDone, RunDone, RunStarted
from redraft.graphs import summarizer
from redraft.order import Evaluate, Summarize
from redraft.runs.model_settings import judge_settings_of
from redraft.runs.models import known_window, server_window
from redraft.runs.order import document_of
from redraft.runs.prepare import with_windows
from redraft.settings import JudgeConfig
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand
from tests.readers.test_corpus import trees

ASSUMED = "8,192 tokens are assumed"
LIGHT = "The keeper kept the light. "
HERE, AWAY = "http://localhost:8001/v1", "http://judges.example/v1"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own-01234567")


def _windows(judging: JudgeConfig, model: str = "openai:gpt-5", **settings: int) -> tuple[int, list[int], list[str]]:
    """The windows of the writer and the judges, and notes on them."""
    order = Evaluate(settings=DraftConfig(model=model, **settings), judging=judging)
    order, notes = with_windows(order, known_window)
    judges = judge_settings_of(order)
    return order.settings.context_tokens, [judge.context_tokens for judge in judges], notes


def test_each_role_has_its_own_window() -> None:
    near = ModelSettings(model="openai:q", base_url="http://127.0.0.1:9/v1", context_tokens=4000)
    judging = JudgeConfig(judges=("near", "openai:gpt-4o", "extractive"), models={"near": near})
    assert _windows(judging) == (272_000, [4000, 128_000, 8192], [])
    # A window in the settings is the writer's.
    assert _windows(judging, context_tokens=9000)[:2] == (9000, [4000, 128_000, 8192])
    assert _windows(JudgeConfig(judges=("openai:m",)), "openai:m", context_tokens=9000) == (9000, [9000], [])


@pytest.mark.parametrize("tokens", [9000, 128_000])
def test_unknown_judges_window_is_the_writers(tokens: int) -> None:
    judging = JudgeConfig(judges=("openai:who",), base_url="http://127.0.0.1:9/v1")
    writer, judges, notes = _windows(judging, context_tokens=tokens)
    assert (writer, judges, len(notes)) == (tokens, [tokens], 1)
    assert notes[0].startswith(f"the window of openai:who is unknown: {tokens:,} tokens, as many as the writer's, are")
    spare = ModelSettings(model="openai:m", base_url="http://localhost:9")
    judging = JudgeConfig(judges=("spare",), models={"spare": spare})
    assert _windows(judging, "openai:gpt-4.1", context_tokens=tokens)[1] == [tokens]


@pytest.mark.parametrize(("address", "notes"), [(AWAY, 1), (HERE, 0)])
def test_a_model_elsewhere_without_key_is_noted(address: str, notes: int) -> None:
    judging = JudgeConfig(judges=("openai:gpt-4o",), base_url=address)
    texts = _windows(judging, context_tokens=9000)[2]
    assert len(texts) == notes
    assert all(text.startswith(f"openai:gpt-4o at {address} gets no key") for text in texts)


def test_run_asks_the_server_plan_does_not(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(LIGHT * 40, "utf-8")
    pages = {"/v1/models": {"data": [{"id": "m", "max_model_len": 12_345}]}}
    with ChatServer(lambda _: LIGHT, pages=pages) as server:
        command = LocalCommand(tmp_path, server.base_url)
        summarize = ("summarize", "book.md", "-m", "openai:m", "-w", "60")
        assert ASSUMED in command.run(*summarize, "--dry-run").err
        assert server.looked == []
        done = command.run(*summarize)
        assert done.code == 0, done.err
        assert ASSUMED not in done.err
        run = command.run("runs", "--json").json["runs"][0]["run"]
        assert command.run("show", run, "--json").json["settings"]["context_tokens"] == 12_345


def test_a_silent_server_leaves_the_assumption(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(LIGHT * 40, "utf-8")
    with ChatServer(lambda _: LIGHT) as server:
        done = LocalCommand(tmp_path, server.base_url).run("summarize", "book.md", "-m", "openai:m", "-w", "60")
        assert done.err.count(ASSUMED) == 1
        settings = DraftConfig(model="openai:gpt-4o", base_url=server.base_url)
        order, _ = with_windows(Summarize(settings=settings), server_window)
        assert order.settings.context_tokens == 128_000


SECRET = "Nobody but the two of them knew of it"
TEXTS = (
    f"{SECRET}.\nIt was long ago.",
    f"{SECRET}, and so it stayed for all the years to come. And then.",
    SECRET * 40,
    "A\0B",
)


def test_text_gets_sections_and_a_title(store: Store) -> None:
    text = "# One\r\n\r\nIt \x1b[31mbegan\x1b[0m.\x07\n\n## Two\n\nIt ended."
    document = document_of(store, Document.from_text(text, title="Minutes\n of \x1b]0;x\x07 May"))
    assert document.text == "# One\n\nIt began. \n\n## Two\n\nIt ended."
    assert document.id == content_id(document.text)
    assert (document.title, document.source) == ("Minutes of May", "")
    assert [(section.title, section.level) for section in document.sections] == [("One", 1), ("Two", 2)]
    assert document_of(store, Document.from_text("It began \ud800 and ended.")).text == "It began ? and ended."
    for text, title in (("# One\n\nIt began.", "One"), ("It began. It ended.", "text")):
        assert document_of(store, Document.from_text(text)).title == title


@pytest.mark.parametrize(
    ("text", "message"),
    [("A\0B", "the text contains NUL characters"), ("", "the document is empty"), (" \x07\n", "the document is empty")],
)
def test_a_text_without_words_is_refused(store: Store, text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        document_of(store, Document.from_text(text, title="Minutes"))
    assert caught.value.place == "Minutes"


@pytest.mark.parametrize("text", TEXTS)
async def test_text_for_a_path_is_unquoted(store: Store, text: str) -> None:
    async with Session(store) as session:
        with pytest.raises(UsageError) as caught:
            await session.summarize(text)
    assert str(caught.value) == f"a text of {len(text):,} characters was given where a path was expected"
    assert "redraft.Document.from_text(text, title=...)" in caught.value.hint


def _book() -> Document:
    chapters = [f"## {title}\n\n" + "\n\n".join(texts) for title, texts in trees("alder", 3)]
    return Document.from_text("\n\n".join(["# All about the alder", *chapters]))


@pytest.mark.nightly
async def test_chapters_are_results_and_events_the_wholes(tmp_path: Path) -> None:
    async with Session(tmp_path / "redraft.db") as session:
        events = [event async for event in session.stream(_book(), words=60, by_chapter=True)]
        assert isinstance(events[0], RunStarted)
        assert isinstance(events[-1], RunDone)
        result = await session.result(events[0].run)
        assert [chapter.result.summary is not None for chapter in result.chapters if chapter.result] == [True] * 3
        assert [event.run for event in events if isinstance(event, RunStarted | RunDone)] == [events[0].run] * 2
        assert sorted(event.number for event in events if isinstance(event, PartDone)) == [1, 2, 3]
        evaluated = await session.summarize(_book(), words=60, by_chapter=True, metrics=["coverage"])
        assert all(chapter.result and chapter.result.run.kind == "summarize" for chapter in evaluated.chapters)
        assert evaluated.summary == result.summary
        # A given summary has no chapters to be drafted.
        settings = DraftConfig(by_chapter=True)
        refined = await session.refine(_book(), "The alder was seen.", goals={"coverage": 0.1}, settings=settings)
        assert refined.chapters == ()


@pytest.mark.slow
async def test_several_documents_are_one_source(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("The birch was seen by a farmer in the wood. " * 60, "utf-8")
    async with Session(tmp_path / "redraft.db") as session:
        result = await session.summarize([_book(), tmp_path / "other.md"], words=60)
        sentences = (await session.lineage(result.run.id)).sentences
        assert {origin.document for sentence in sentences for origin in sentence.origins} == {
            "All about the alder",
            "other.md",
        }
        key = await session.add(_book())
        repeated = await session.summarize([key, tmp_path / "other.md"], words=60)
        assert repeated.run.document == result.run.document


async def test_a_graph_drafts_no_chapters(tmp_path: Path) -> None:
    async with Session(tmp_path / "redraft.db") as session:
        graph = summarizer(refine=False).compile()
        with pytest.raises(UsageError, match="a graph drafts no chapters"):
            await graph.ainvoke({"order": {"source": "book.md", "by_chapter": True}}, context=session)
