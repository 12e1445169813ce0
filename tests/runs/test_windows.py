"""Windows are on record with a run; texts are read as they are passed in; and documents go chapter by chapter."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import Document, DraftConfig, ModelSettings, Session, Store, UsageError, graphs
from redraft.domain import content_id
from redraft.errors import DocumentError
from redraft.events import PartDone, RunDone, RunStarted
from redraft.graphs import summarizer
from redraft.order import Evaluate
from redraft.runs.inputs import document_of
from redraft.runs.model_names import judge_settings_of, least_window
from redraft.runs.prepare import RunSpec, with_windows
from redraft.runs.roster import known_window, server_window
from redraft.settings import JudgeConfig
from redraft.text.sanitizer import clean
from tests.chatserver import ChatServer
from tests.cli.inside import Inside
from tests.readers.test_corpus import trees
from tests.support import story

ASSUMED = "8,192 tokens are assumed"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own-01234567")


def windows(settings: DraftConfig, judging: JudgeConfig) -> tuple[int, list[int], list[str]]:
    found, order, notes = with_windows(settings, RunSpec(Evaluate(judging=judging)), known_window)
    return found.context_tokens, [one.context_tokens for one in judge_settings_of(found, order.judging)], notes


def test_each_role_has_its_own() -> None:
    own = ModelSettings(model="openai:q", base_url="http://127.0.0.1:9/v1", context_tokens=4000)
    judging = JudgeConfig(judges=("near", "openai:gpt-4o", "extractive"), models={"near": own})
    assert windows(DraftConfig(model="openai:gpt-5"), judging) == (272_000, [4000, 128_000, 8192], [])
    # What is given is the writer's.
    assert windows(DraftConfig(model="openai:gpt-5", context_tokens=9000), judging)[:2] == (9000, [4000, 128_000, 8192])
    judging = JudgeConfig(judges=("openai:who",), base_url="http://127.0.0.1:9/v1")
    for given in (9000, 128_000):
        of_writer, judges, notes = windows(DraftConfig(model="openai:gpt-5", context_tokens=given), judging)
        assert (of_writer, judges, len(notes)) == (given, [given], 1)
        assert notes[0].startswith(
            f"the window of openai:who is unknown: {given:,} tokens, as many as the writer's, are"
        )
    spare = JudgeConfig(
        judges=("spare",), models={"spare": ModelSettings(model="openai:m", base_url="http://localhost:9")}
    )
    assert windows(DraftConfig(model="openai:gpt-4.1", context_tokens=128_000), spare)[1] == [128_000]
    # One model has one window.
    assert windows(DraftConfig(model="openai:m", context_tokens=9000), JudgeConfig(judges=("openai:m",))) == (
        9000,
        [9000],
        [],
    )


def test_judges_look_things_up_in_the_least_of_their_windows() -> None:
    judges = [
        DraftConfig(model="openai:a", context_tokens=9000),
        DraftConfig(context_tokens=100),
        DraftConfig(model="openai:b"),
    ]
    assert least_window(judges) == 8192
    assert least_window([DraftConfig(context_tokens=100)]) == 100


def test_a_run_asks_the_server_and_a_plan_does_not(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    pages = {"/v1/models": {"data": [{"id": "m", "max_model_len": 12_345}]}}
    with ChatServer(lambda _: "The keeper kept the light.", pages=pages) as server:
        command = Inside(tmp_path, server.base_url)
        run = ("summarize", "book.md", "-m", "openai:m", "-w", "60")
        planned = command.run(*run, "--dry-run")
        assert ASSUMED in planned.err
        assert server.looked == []
        done = command.run(*run)
        assert done.code == 0, done.err
        assert ASSUMED not in done.err
        shown = command.run("runs", "--json").json["runs"][0]["run"]
        assert command.run("show", shown, "--json").json["settings"]["context_tokens"] == 12_345


def test_a_server_that_says_nothing_leaves_the_assumption(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    with ChatServer(lambda _: "The keeper kept the light.") as server:
        done = Inside(tmp_path, server.base_url).run("summarize", "book.md", "-m", "openai:m", "-w", "60")
        assert done.err.count(ASSUMED) == 1
        settled, _, _ = with_windows(
            DraftConfig(model="openai:gpt-4o", base_url=server.base_url), RunSpec(), server_window
        )
        assert settled.context_tokens == 128_000


def test_who_gets_no_key_is_said_unless_they_are_on_this_machine() -> None:
    away, here = "http://judges.example/v1", "http://localhost:8001/v1"
    writer = DraftConfig(model="openai:gpt-5", context_tokens=9000)
    for address, said in ((away, 1), (here, 0)):
        _, _, notes = windows(writer, JudgeConfig(judges=("openai:gpt-4o",), base_url=address))
        assert len(notes) == said
    assert notes == []
    _, _, notes = windows(writer, JudgeConfig(judges=("openai:gpt-4o",), base_url=away))
    assert notes[0].startswith(f"openai:gpt-4o at {away} gets no key")


@pytest.mark.slow
def test_show_names_everybody_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    with ChatServer(lambda _: "The keeper kept the light.") as server:
        (tmp_path / "redraft.toml").write_text(
            f'[models.near]\nmodel = "openai:j"\nbase_url = "{server.base_url}"\ncontext_tokens = 5000\n', "utf-8"
        )
        command = Inside(tmp_path, server.base_url, REDRAFT_CONFIG="redraft.toml", REDRAFT_MODEL="openai:w")
        command.run("summarize", "book.md", "-w", "60", "--refine", "--judge", "near", "--max-calls", "4")
        run = command.run("runs", "--json").json["runs"][0]["run"]
        shown = command.run("show", run).err
    assert f"writer: openai:w at {server.base_url}, window 8,192 tokens" in shown
    assert f"judge: near (openai:j) at {server.base_url}, window 5,000 tokens" in shown


SECRET = "Nobody but the two of them knew of it"
TEXTS = (
    f"{SECRET}.\nIt was long ago.",
    f"{SECRET}, and so it stayed for all the years to come. And then.",
    SECRET * 40,
)


def test_a_text_gets_sections_and_a_clean_title_when_it_is_used(store: Store) -> None:
    text = "# One\r\n\r\nIt \x1b[31mbegan\x1b[0m.\x07\n\n## Two\n\nIt ended."
    document = document_of(store, Document.from_text(text, title="Minutes\n of \x1b]0;x\x07 May"))
    assert document.text == "# One\n\nIt began. \n\n## Two\n\nIt ended."
    assert document.id == content_id(document.text)
    assert (document.title, document.source) == ("Minutes of May", "")
    assert [(section.title, section.level) for section in document.sections] == [("One", 1), ("Two", 2)]


@pytest.mark.parametrize(("text", "title"), [("# One\n\nIt began.", "One"), ("It began. It ended.", "text")])
def test_a_text_without_a_title_is_called_by_its_heading(store: Store, text: str, title: str) -> None:
    assert document_of(store, Document.from_text(text)).title == title


@pytest.mark.parametrize(
    ("text", "message"),
    [("A\0B", "the text contains NUL characters"), ("", "the document is empty"), (" \x07\n", "the document is empty")],
)
def test_a_text_that_is_none_is_refused(store: Store, text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        document_of(store, Document.from_text(text, title="Minutes"))
    assert caught.value.place == "Minutes"


def test_a_surrogate_can_be_stored(store: Store) -> None:
    assert document_of(store, Document.from_text("It began \ud800 and ended.")).text == "It began ? and ended."


@pytest.mark.parametrize("text", [*TEXTS, "A\0B"])
async def test_a_text_in_place_of_a_path_is_not_quoted(store: Store, text: str) -> None:
    async with Session(store) as session:
        with pytest.raises(UsageError) as caught:
            await session.summarize(text)
    assert str(caught.value) == f"a text of {len(text)} characters was given where a path was expected".replace(
        f"{len(text)}", f"{len(text):,}"
    )
    assert "redraft.Document.from_text(text, title=...)" in caught.value.hint


@pytest.mark.parametrize("text", [*TEXTS, "A\0B"])
async def test_the_summary_in_the_input_of_a_graph_may_be_its_text(store: Store, tmp_path: Path, text: str) -> None:
    (tmp_path / "book.md").write_text(story(30).text, "utf-8")
    task: graphs.Task = {"source": str(tmp_path / "book.md"), "summary": text, "metrics": ["statistics"]}
    async with Session(store) as session:
        left = (await graphs.judge().compile().ainvoke({"order": task}, context=session))["result"]
    assert left["summary"] == clean(text).strip()


def test_a_path_of_many_words_is_a_path(store: Store, tmp_path: Path) -> None:
    path = tmp_path / f"{'a word ' * 16}.md"
    path.write_text("It began. It ended.", "utf-8")
    assert document_of(store, path).text == "It began. It ended."


def book() -> Document:
    told = [f"## {title}\n\n" + "\n\n".join(texts) for title, texts in trees("alder", 3)]
    return Document.from_text("\n\n".join(["# All about the alder", *told]))


@pytest.mark.nightly
async def test_chapters_are_results_and_the_events_are_those_of_the_whole(tmp_path: Path) -> None:
    async with Session(tmp_path / "redraft.db") as session:
        seen = [event async for event in session.stream(book(), words=60, by_chapter=True)]
        assert isinstance(seen[0], RunStarted)
        assert isinstance(seen[-1], RunDone)
        result = await session.result(seen[0].run)
        assert [one.result.summary is not None for one in result.chapters if one.result] == [True] * 3
        assert [event.run for event in seen if isinstance(event, RunStarted | RunDone)] == [seen[0].run] * 2
        assert sorted(event.number for event in seen if isinstance(event, PartDone)) == [1, 2, 3]
        judged = await session.summarize(book(), words=60, by_chapter=True, metrics=["coverage"])
        assert all(one.result and one.result.run.kind == "evaluate" for one in judged.chapters)
        assert judged.summary == result.summary
        # What is handed over has no chapters to be drafted.
        given = await session.refine(
            book(),
            "The alder was seen.",
            goals={"coverage": 0.1},
            settings=DraftConfig(by_chapter=True),
        )
        assert given.chapters == ()


@pytest.mark.slow
async def test_several_documents_are_one_source(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("The birch was seen by a farmer in the wood. " * 60, "utf-8")
    async with Session(tmp_path / "redraft.db") as session:
        result = await session.summarize([book(), tmp_path / "other.md"], words=60)
        found = {origin.document for one in (await session.lineage(result.run.id)).sentences for origin in one.origins}
        assert found == {"All about the alder", "other.md"}
        key = await session.add(book())
        again = await session.summarize([key, tmp_path / "other.md"], words=60)
        assert again.run.document == result.run.document


async def test_a_graph_drafts_no_chapters(tmp_path: Path) -> None:
    async with Session(tmp_path / "redraft.db") as session:
        graph = summarizer(refine=False).compile()
        with pytest.raises(UsageError, match="a graph drafts no chapters"):
            await graph.ainvoke({"order": {"source": "book.md", "by_chapter": True}}, context=session)


def test_a_run_that_goes_by_chapter_is_another_one() -> None:
    plain, chapters = (DraftConfig(by_chapter=by).identity("d", "t", {}) for by in (False, True))
    assert plain != chapters
