"""Where sentences come from: by way of the texts on record, once for a text and what it was made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redraft import Session, cited, read_lineage
from redraft.domain import Document, Parent, Span, record_json
from redraft.errors import RunError, UsageError
from redraft.llm.base import Line, Request
from redraft.readers.documents import parse
from redraft.report.history import lineage as module
from redraft.report.history.lineage import Lineage
from redraft.report.history.quotes import By, basis
from redraft.store.store import Store
from tests.judges import Court, told
from tests.store.support import plain
from tests.support import Desk

KEEPERS = (
    "Abel Stone mended the great lantern before the winter storms.",
    "Berta Quill counted every barrel of whale oil in the cellar.",
    "Conrad Finch drowned when his rowing boat struck the northern reef.",
    "Dora Wick taught the village children their letters by candlelight.",
    "Emil Gray quarrelled with the bishop over the harbour taxes.",
    "Flora Dunn planted seven apple trees behind the chapel wall.",
)
WEATHER = "The weather was as it always is there."
INVENTED = "Zacharias Pennyfeather purchased fourteen elephants yesterday."


def chronicle() -> Document:
    """A document with a keeper for each chapter, and much else around them."""
    around = "The weather was as it always is there, and nobody thought of leaving. " * 8
    chapters = [f"## {line.split(' ')[1]}\n\n{around}\n\n{line}\n\n{around}" for line in KEEPERS]
    return parse("\n\n".join(["# The Chronicle", *chapters]).encode(), name="chronicle.md")


def faithful(request: Request[Any, Any]) -> Line:
    """A writer that says again what it is told of the keepers, and nothing else."""
    shown = " ".join(
        text
        for field, value in dict(request.given).items()
        if field != "before"
        for text in (value if isinstance(value, list) else [value])
        if isinstance(text, str)
    )
    return " ".join(line for line in (*KEEPERS, INVENTED) if line in shown) or WEATHER


def inventive(request: Request[Any, Any]) -> Line:
    """One that makes something up in the second merge of the first level."""
    return f"{faithful(request)} {INVENTED}" if request.label.startswith("level 1 merge 2") else faithful(request)


async def drafted(folder: Path, answer: Any = faithful, **settings: Any) -> tuple[Desk, str]:
    desk = Desk(folder, answer)
    chosen = {"words": 70, "chunk_tokens": 128, "context_tokens": 660, **settings}
    result = await desk.summarize(chronicle(), **chosen)
    return desk, result.run.id


def chapters(found: Lineage) -> dict[str, str]:
    return {one.text: one.origins[0].chapter if one.origins else "" for one in found.sentences}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "window"), [("hierarchical", 660), ("incremental", 900), ("direct", 8000)], ids=lambda one: str(one)
)
async def test_every_sentence_leads_to_its_chapter(tmp_path: Path, strategy: str, window: int) -> None:
    desk, run = await drafted(tmp_path, strategy=strategy, context_tokens=window)
    found = read_lineage(desk.store, run)

    assert chapters(found) == {line: line.split(" ")[1] for line in KEEPERS}
    text = desk.store.documents.get(found.document.id).text
    for one in found.sentences:
        assert text[slice(*one.origins[0].span)] == one.text.strip(".")
        assert not one.drift
        assert one.origins[0].way[-1].node == ""


@pytest.mark.slow
async def test_the_way_names_every_text_in_between(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    first = read_lineage(desk.store, run).sentences[0]

    texts = {piece.name: piece.text for piece in desk.store.runs.pieces(run)}
    stops = first.origins[0].way
    assert len(stops) > 3
    for stop in stops[:-1]:
        assert texts[stop.node][slice(*stop.span)] == stop.text == first.text.strip(".")
    levels = [int(stop.node.split("/")[0]) for stop in stops[:-1]]
    assert levels == sorted(levels, reverse=True)


@pytest.mark.slow
async def test_what_no_text_says_is_not_found_by_words_and_has_the_text_in_which_it_came_up(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, inventive)
    found = read_lineage(desk.store, run)

    (invented,) = found.doubtful
    assert invented.text == INVENTED
    assert invented.invented_in == "1/1/0"
    assert not invented.origins


@pytest.mark.slow
async def test_what_was_worked_out_once_is_not_worked_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, run = await drafted(tmp_path)
    first = read_lineage(desk.store, run)
    again = await desk.summarize(chronicle(), words=70, chunk_tokens=128, context_tokens=660, sample=0)
    assert again.run.id != run

    def never(*_: Any) -> Any:
        raise AssertionError("it is known already")

    monkeypatch.setattr(module, "OriginTracer", never)
    assert read_lineage(desk.store, run).sentences == first.sentences
    # The other run has taken every text from the cache, so all of it is known of that run, too.
    assert read_lineage(desk.store, again.run.id).sentences == first.sentences


@pytest.mark.slow
async def test_a_database_that_nobody_may_write_to_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, run = await drafted(tmp_path)
    monkeypatch.setattr(desk.store.ancestry._connection, "only_read", True)
    assert chapters(read_lineage(desk.store, run)) == {line: line.split(" ")[1] for line in KEEPERS}
    with plain(tmp_path / "redraft.db") as database:
        assert database.execute("SELECT count(*) FROM cache WHERE kind = 'links'").fetchone() == (0,)


@pytest.mark.slow
async def test_a_text_that_says_what_only_the_document_says_drifts(tmp_path: Path) -> None:
    def forgetful(request: Request[Any, Any]) -> Line:
        text = str(faithful(request))
        if request.prompt.name == "summarize_chunk":
            return text.replace(KEEPERS[2], "There was nothing to tell of him, nor of anybody else, in all that time.")
        merges = request.prompt.name.startswith("merge") and KEEPERS[2] not in text
        return f"{text} {KEEPERS[2]}" if merges else text

    desk, run = await drafted(tmp_path, forgetful)
    found = {one.text: one for one in read_lineage(desk.store, run).sentences}

    assert found[KEEPERS[2]].drift == "bypassed"
    assert found[KEEPERS[2]].direct[0].chapter == "Finch"
    assert not found[KEEPERS[2]].origins
    assert found[KEEPERS[2]].invented_in.startswith("1/")
    assert not found[KEEPERS[0]].drift


def revised(store: Store, run: str, text: str, evidence: Span) -> str:
    """A revision of a run's draft, as a refinement stores it."""
    base = store.runs.draft(store.runs.get(run).draft or "")
    parents = [Parent.of_draft(base), Parent("evidence", chronicle().id, evidence)]
    return store.runs.keep_draft(run, text, 9, f"revision of {base.id}", round_=1, parents=parents)


@pytest.mark.slow
async def test_an_unchanged_sentence_keeps_its_citations_and_a_new_one_has_those_of_the_evidence(
    tmp_path: Path,
) -> None:
    def forgetful(request: Request[Any, Any]) -> Line:
        return str(faithful(request)).replace(KEEPERS[2], "").strip()

    desk, run = await drafted(tmp_path, forgetful)
    before = read_lineage(desk.store, run)
    text = chronicle().text
    place = Span(text.index(KEEPERS[2]), text.index(KEEPERS[2]) + len(KEEPERS[2].strip(".")))
    draft = revised(desk.store, run, f"{before.text} {KEEPERS[2]}", Span(place.start - 20, place.end + 20))
    after = read_lineage(desk.store, run)

    assert after.draft == draft
    was = {one.text: [origin.span for origin in one.origins] for one in before.sentences}
    now = {one.text: [origin.span for origin in one.origins] for one in after.sentences}
    assert {line: now[line] for line in was} == was
    assert now[KEEPERS[2]] == [place]
    assert after.sentences[-1].origins[0].way[0].kind == "evidence"
    assert after.sentences[0].origins[0].way[0].kind == "base"


@pytest.mark.slow
async def test_a_fork_goes_back_to_the_run_that_it_was_forked_from(tmp_path: Path) -> None:
    court = Court(tmp_path)
    first = await court.refine(told(1, wrong={2: "Bob"}))
    async with court.session() as session:
        fork = await session.fork(first.run.id, 1, goals={"coverage": 0.1})
        found = await session.lineage(fork.run.id)
    kinds = [stop.kind for stop in found.sentences[0].origins[0].way]
    assert found.members[0].run == first.run.id
    assert kinds[0] == "base"
    court.store.forget([first.run.id])
    assert read_lineage(court.store, fork.run.id).sentences[0].origins


async def test_a_given_summary_is_traced_to_the_document(tmp_path: Path) -> None:
    court = Court(tmp_path)
    result = await court.evaluate(told(1, 2))
    found = read_lineage(court.store, result.run.id)
    assert [one.origins[0].span for one in found.sentences] == [one.direct[0].span for one in found.sentences]
    assert "Tom1" in found.sentences[0].origins[0].text


def test_a_run_without_a_summary_has_no_lineage(tmp_path: Path) -> None:
    from tests.store.support import document, run

    with Store(tmp_path / "redraft.db") as store:
        store.documents.add(document())
        store.runs.add(run("abc123"))
        with pytest.raises(RunError, match="no summary yet"):
            read_lineage(store, "abc123")


HOSTILE = "<script>alert('1')</script> [x](javascript:alert) ![y](z) `code` **bold** [^1]: \x1b[31mred & more"


@pytest.fixture
async def hostile(tmp_path: Path) -> Lineage:
    title = "<img src=x onerror=alert(1)>](javascript:alert)"
    text = f"# A\n\n## {title}\n\n{HOSTILE} was what the keeper wrote. The lamp was lit at seven in the evening."
    async with Session(tmp_path / "redraft.db") as session:
        document = Document.from_text(text)
        result = await session.evaluate(document, f"{HOSTILE} was what the keeper wrote.", metrics=["statistics"])
        return await session.lineage(result.run.id)


def test_nothing_that_a_document_says_is_html_or_markdown(hostile: Lineage) -> None:
    found = cited(hostile, "https://x/{chapter}#{start}")
    assert found.places

    html = found.text("html")
    assert "<script" not in html
    assert "<img" not in html
    assert "\x1b" not in html
    assert html.count("<a ") == 2 * len(found.places)
    markdown = found.text("markdown")
    for line in markdown.splitlines():
        assert "<script" not in line.replace("\\<", "")
        assert "](javascript" not in line.replace("\\]", "")
    assert markdown.count("\n[^1]: ") == 1
    assert "\n[1] " in found.text("footnotes")


async def test_citations_in_every_form(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    found = cited(read_lineage(desk.store, run), "book.html#c{start}-{end}")
    first = found.places[0]
    quoted = KEEPERS[0].strip(".")
    at = chronicle().text.index(quoted)

    assert first.url == f"book.html#c{at}-{at + len(quoted)}"
    text = found.text("footnotes")
    assert text.startswith(f"{KEEPERS[0]} [1] {KEEPERS[1]} [2]")
    assert f"[1] Stone, {first.origin.percent}%: “{quoted}” <{first.url}>" in text
    assert f"{KEEPERS[0]} (Stone, {first.origin.percent}% <{first.url}>)" in found.text("inline")
    assert f"{KEEPERS[0]}[^1] " in found.text("markdown")
    assert f'{KEEPERS[0]}<sup>[<a href="#cite-1">1</a>]</sup>' in found.text("html")
    assert f'<li id="cite-1"><a href="{first.url}">' in found.text("html")
    told_json = json.loads(json.dumps(record_json(found)))
    assert [one["cites"] for one in told_json["sentences"]] == [[n] for n in range(1, 7)]
    assert told_json["places"][0]["origin"]["span"] == [at, at + len(quoted)]


@pytest.mark.parametrize("template", ["{nothing}", "{start", "{start:>9}", "{start!r}", "{}", "{start.real}"])
async def test_a_template_that_cannot_be_filled_is_refused(tmp_path: Path, template: str) -> None:
    desk, run = await drafted(tmp_path)
    with pytest.raises(UsageError, match="link: "):
        cited(read_lineage(desk.store, run), template)


@pytest.mark.parametrize(
    ("judged", "matched", "said"),
    [
        ((), (), ""),
        ((1, 2), (), "All notes are quotes by which a judge confirmed the sentence."),
        ((), (1,), "All notes were matched by wording, not by a judge."),
        ((2,), (1,), "Note 2 is a quote by which a judge confirmed the sentence; 1 was matched by wording."),
        (
            (1, 2, 3, 5, 6, 9),
            (4, 7, 8, 10),
            "Notes 1 to 3, 5, 6 and 9 are quotes by which a judge confirmed the sentence;"
            " 4, 7, 8 and 10 were matched by wording.",
        ),
    ],
)
def test_who_says_so_is_one_sentence(judged: tuple[int, ...], matched: tuple[int, ...], said: str) -> None:
    by: dict[int, By] = dict.fromkeys(judged, "judge")
    assert basis(by | dict.fromkeys(matched, "words"), "note") == said
