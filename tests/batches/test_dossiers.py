"""Dossiers of a batch: written as documents are done, linked, kept while they are true, and never over other files."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import DraftConfig, Limits, RedraftError, Session, UsageError
from redraft.batches.dossiers import dossiers_folder, write_pages
from redraft.batches.request import BatchRequest
from redraft.batches.sources import add_items, check, file_name, items_of
from redraft.batches.tables import add_dossiers, folder_named, read_batch, read_snapshot, write_folder
from redraft.batches.worker import BatchWorker
from redraft.domain import record_json
from redraft.store.batches import Batch
from redraft.store.store import Store
from tests.support import story

EVIL = "](javascript:alert(1)) <img src=x onerror=alert(2)>"


@pytest.fixture
def store(tmp_path: Path, place: Path | str) -> Iterator[Store]:
    (tmp_path / "in").mkdir()
    with Store(place) as opened_store:
        yield opened_store


def opened(store: Store, folder: Path, *, dossiers: bool = True, has_folder: bool = True) -> Limits:
    """A batch of all there is in the folder, for the built-in model."""
    out = folder_named(folder / "out", dossiers=dossiers) if has_folder else ""
    limits = Limits(concurrency=2)
    store.batches.open(
        Batch("b", record_json(BatchRequest(DraftConfig(words=40))), limits.model_dump(mode="json"), out)
    )
    add_items(store, "b", [str(folder / "in")])
    return limits


def worked(store: Store, limits: Limits) -> None:
    asyncio.run(BatchWorker(store, "b", "w", limits).work())


def documents(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / "in" / name).write_text(story(6).text.replace("keeper", f"keeper {number}"), "utf-8")


def finish(store: Store) -> None:
    write_folder(store, read_snapshot(store, "b"), read_batch(store, "b").report)


def written(folder: Path) -> dict[str, tuple[int, int]]:
    """The dossiers that are there, each with what changes when it is written again."""
    pages = ((page.name, page.stat()) for page in (folder / "out" / "dossiers").iterdir())
    return {name: (status.st_ino, status.st_mtime_ns) for name, status in pages}


@pytest.mark.slow
def test_done_documents_get_dossiers_at_once(store: Store, tmp_path: Path) -> None:
    documents(tmp_path, "a.md", "b.md")
    (tmp_path / "in" / "empty.txt").write_text("", "utf-8")
    worked(store, opened(store, tmp_path))
    first = written(tmp_path)
    assert set(first) == {"a.html", "b.html"}
    finish(store)
    assert written(tmp_path) == first, "what is there and true is not written again"
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    lines = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text("utf-8").splitlines()]
    assert [line["dossier"] for line in lines] == ["dossiers/a.html", "dossiers/b.html", None]
    assert [row.dossier for row in items_of(store, "b")] == ["dossiers/a.html", "dossiers/b.html", None]
    for line in lines[:2]:
        assert f"- [{line['file']}]({line['file']}): done, [dossier]({line['dossier']}), run `{line['run']}`" in report
        page = (tmp_path / "out" / line["dossier"]).read_text("utf-8")
        summary = (tmp_path / "out" / line["file"]).read_text("utf-8")
        assert summary.split(". ")[0].strip() in unescape(page)
        assert line["run"] in page
    assert report.count("[dossier]") == 2


@pytest.mark.slow
def test_only_missing_or_stale_dossiers_are_rewritten(store: Store, tmp_path: Path) -> None:
    documents(tmp_path, "a.md", "b.md", "c.md")
    worked(store, opened(store, tmp_path))
    before = written(tmp_path)
    place = tmp_path / "out" / "dossiers"
    (place / "a.html").unlink()
    moved = next(item.run for item in store.batches.items("b") if item.file == "b")
    assert moved is not None
    store.runs.add_seconds(moved, 1.0)
    stale = next(row for row in items_of(store, "b") if row.file == "b.md")
    assert stale.dossier is None, "what is not true any more is not linked"
    counts: list[int] = []
    write_pages(store, "b", tmp_path / "out", counts.append)
    after = written(tmp_path)
    assert counts == [1, 2]
    assert after["c.html"] == before["c.html"]
    assert after["b.html"] != before["b.html"]
    assert len(after) == 3
    assert {row.dossier for row in items_of(store, "b")} == {f"dossiers/{name}.html" for name in "abc"}
    with store.connection.writing() as raw:
        raw.execute("UPDATE items SET state = 'failed' WHERE file = 'c'")
    (last,) = (row for row in items_of(store, "b") if row.state == "failed")
    assert last.dossier is None, "what has failed since has none that is true"


@pytest.mark.nightly
def test_names_are_safe_and_unique(store: Store, tmp_path: Path) -> None:
    # A name of a file has no slash, and 255 bytes at most; an id has what it likes.
    documents(tmp_path, "same.md", "Same.txt", "same.txt", f"{EVIL}.md", "dots. .md", f"{'字' * 80}.md")
    ids = ["../../up", "/etc/passwd", "a\nb", "same", "", f"{'𐌰' * 90}", f"{'𐌰' * 90}b", EVIL]
    lines = (json.dumps({"id": key, "text": story(5 + n).text}) for n, key in enumerate(ids))
    (tmp_path / "in" / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    worked(store, opened(store, tmp_path))
    finish(store)
    rows = list(items_of(store, "b"))
    assert {row.state for row in rows} == {"done"}, [row.error for row in rows]
    pages = [row.dossier or "" for row in rows]
    assert len({page.casefold() for page in pages}) == len(pages) == 14
    place = tmp_path / "out" / "dossiers"
    assert {f"dossiers/{page.name}" for page in place.iterdir()} == set(pages)
    for page in pages:
        assert re.fullmatch(r"dossiers/[\w.-]+\.html", page), page
        assert not Path(page).name.startswith((".", "-"))
        assert len(Path(page).name.encode()) < 200
        assert "<img src=x" not in (tmp_path / "out" / page).read_text("utf-8")
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert re.search(r"(?<!\\)\]\(javascript:", report) is None, "the name of a file is no markup"
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} <= {"in", "out", "redraft"}


@pytest.mark.slow
def test_other_files_are_kept(store: Store, tmp_path: Path) -> None:
    documents(tmp_path, "a.md")
    limits = opened(store, tmp_path)
    mine = tmp_path / "out" / "dossiers" / "a.html"
    mine.write_text("<p>Mine.</p>", "utf-8")
    worked(store, limits)
    assert store.batches.counts("b").done == 1, "no document fails for it"
    with pytest.raises(RedraftError, match="a file with this name is not a dossier, and was kept"):
        finish(store)
    assert mine.read_text("utf-8") == "<p>Mine.</p>"


@pytest.mark.slow
def test_a_failing_dossier_fails_no_document(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents(tmp_path, "a.md")
    limits = opened(store, tmp_path)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("redraft.batches.worker.write_page", broken)
        worked(store, limits)
    assert store.batches.counts("b").done == 1
    assert written(tmp_path) == {}
    finish(store)
    assert set(written(tmp_path)) == {"a.html"}


@pytest.mark.slow
def test_dossiers_can_be_added_afterwards(store: Store, tmp_path: Path) -> None:
    documents(tmp_path, "a.md")
    worked(store, opened(store, tmp_path, dossiers=False))
    finish(store)
    assert dossiers_folder(tmp_path / "out") is None
    assert "[dossier]" not in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert [row.dossier for row in items_of(store, "b")] == [None]
    assert add_dossiers(store, "b", None) == str(tmp_path / "out")
    assert "[dossier](dossiers/a.html)" in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert [row.dossier for row in items_of(store, "b")] == ["dossiers/a.html"]
    (tmp_path / "out" / "dossiers" / "a.html").unlink()
    documents(tmp_path, "a.md", "b.md")
    worked(store, opened(store, tmp_path, dossiers=False))
    assert set(written(tmp_path)) == {"b.html"}, "whoever goes on with it writes them, too"


def test_dossiers_may_lie_beside_a_file(store: Store, tmp_path: Path) -> None:
    documents(tmp_path, "a.md")
    worked(store, opened(store, tmp_path, has_folder=False))
    with pytest.raises(UsageError, match="dossiers need a folder"):
        add_dossiers(store, "b", None)
    folder = add_dossiers(store, "b", tmp_path / "told" / "results.csv")
    assert [row.dossier for row in items_of(store, "b", folder)] == ["dossiers/a.html"]
    assert (tmp_path / "told" / "dossiers" / "a.html").exists()
    assert {path.name for path in (tmp_path / "told").iterdir()} == {"dossiers"}


async def test_applications_get_dossiers_too(tmp_path: Path) -> None:
    asking: dict[str, Any] = {"words": 40, "folder": tmp_path / "out", "dossiers": True}
    async with Session(tmp_path / "a.db") as session:
        result = await redraft.batch(session, [redraft.Document.from_text(story(6).text, "A memo")], **asking)
        with pytest.raises(UsageError, match="dossiers need a folder"):
            await redraft.batch(session, [redraft.Document.from_text(story(6).text, "A memo")], dossiers=True)
    assert [item.dossier for item in result.items] == ["dossiers/A-memo.html"]
    assert (tmp_path / "out" / "dossiers" / "A-memo.html").exists()


@pytest.mark.parametrize("folder", ["in", "in/../in", "in/deeper/.."])
def test_summaries_overwrite_no_document(tmp_path: Path, folder: str) -> None:
    (tmp_path / "in" / "deeper").mkdir(parents=True)
    (tmp_path / "in" / "a.md").write_text("It burns.", "utf-8")
    (tmp_path / "in" / "b.txt").write_text("It burns.", "utf-8")
    with pytest.raises(UsageError, match=r"a\.md is in the folder for the summaries"):
        check([str(tmp_path / "in")], tmp_path / folder)
    assert check([str(tmp_path / "in" / "b.txt")], tmp_path / folder) == 1
    assert check([str(tmp_path / "in")], tmp_path / "out") == 2
    ids = (json.dumps({"id": key, "text": "It burns."}) for key in (f"{'x' * 300}.md", "/\0/x.md"))
    (tmp_path / "ids.jsonl").write_text("\n".join(ids), "utf-8")
    assert check([str(tmp_path / "ids.jsonl")], tmp_path / folder) == 2, "what no file can be called is none"


def test_names_leave_room_for_numbers() -> None:
    for sign in "a字𐌰":
        assert 40 <= len(file_name(sign * 200).encode()) <= 180
    assert file_name("𐌰" * 200).isprintable()
