"""The folder of a batch: summaries under safe names, tables and items; no document is overwritten."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft import DraftConfig, Limits, UsageError
from redraft.batches.queue import Batch, Batches
from redraft.batches.request import BatchRequest
from redraft.batches.sources import add_items, check, items_of
from redraft.batches.tables import folder_named, read_batch, read_snapshot, write_folder
from redraft.batches.worker import BatchWorker
from redraft.domain import record_json
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.store.store import Store
from tests.support import story

EVIL = "](javascript:alert(1)) <img src=x onerror=alert(2)>"


@pytest.fixture
def store(tmp_path: Path, place: Path | str) -> Iterator[Store]:
    (tmp_path / "in").mkdir()
    with Store(place) as opened_store:
        yield opened_store


def run_batch(store: Store, folder: Path) -> None:
    """Work on a batch of all that is in the folder `in`, and write the results to `out`."""
    limits = Limits(concurrency=2)
    request = record_json(BatchRequest(DraftConfig(words=40)))
    Batches(store).open(Batch("b", request, limits.model_dump(mode="json"), folder_named(folder / "out")))
    add_items(store, "b", [str(folder / "in")])
    asyncio.run(BatchWorker(ExperimentRunner(store, limits), "b", "w").work())
    write_folder(store, read_snapshot(store, "b"), read_batch(store, "b").report)


def write_documents(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / "in" / name).write_text(story(6).text.replace("keeper", f"keeper {number}"), "utf-8")


@pytest.mark.slow
def test_missing_summaries_are_written_again(store: Store, tmp_path: Path) -> None:
    write_documents(tmp_path, "a.md", "b.md")
    (tmp_path / "in" / "empty.txt").write_text("", "utf-8")
    run_batch(store, tmp_path)
    summary = tmp_path / "out" / "a.md"
    text = summary.read_text("utf-8")
    summary.unlink()
    write_folder(store, read_snapshot(store, "b"), read_batch(store, "b").report)
    assert summary.read_text("utf-8") == text
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    items = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text("utf-8").splitlines()]
    assert [item["file"] for item in items] == ["a.md", "b.md", None]
    for item in items[:2]:
        assert f"- [{item['file']}]({item['file']}): done, run `{item['run']}`" in report


def test_batches_share_a_folder_without_overwriting_tables(tmp_path: Path) -> None:
    folder = folder_named(tmp_path / "out")
    with Store(tmp_path / "a.db") as store:
        for name in ("b", "c", "b", "c"):
            Batches(store).open(Batch(name, {}, {}, folder))
            write_folder(store, read_snapshot(store, name), read_batch(store, name).report)
    files = {path.name: path.read_text("utf-8") for path in Path(folder).iterdir()}
    assert set(files) == {"report.md", "items.jsonl", "report-c.md", "items-c.jsonl"}
    assert (files["report.md"][:10], files["report-c.md"][:10]) == ("# Batch b\n", "# Batch c\n")


@pytest.mark.nightly
def test_names_of_summaries_are_safe_and_unique(store: Store, tmp_path: Path) -> None:
    # A name of a file has no slash, and 255 bytes at most; an id has what it likes.
    write_documents(tmp_path, "same.md", "Same.txt", "same.txt", f"{EVIL}.md", "dots. .md", f"{'字' * 80}.md")
    ids = ["../../up", "/etc/passwd", "a\nb", "same", "", f"{'𐌰' * 90}", f"{'𐌰' * 90}b", EVIL]
    lines = (json.dumps({"id": key, "text": story(5 + n).text}) for n, key in enumerate(ids))
    (tmp_path / "in" / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    run_batch(store, tmp_path)
    items = list(items_of(store, "b"))
    assert {item.state for item in items} == {"done"}, [item.error for item in items]
    files = [item.file or "" for item in items]
    assert len({file.casefold() for file in files}) == len(files) == 14
    written = {path.name for path in (tmp_path / "out").iterdir()} - {"report.md", "items.jsonl"}
    assert written == set(files)
    for file in files:
        assert re.fullmatch(r"[\w.-]+\.md", file), file
        assert not file.startswith((".", "-"))
        assert len(file.encode()) < 200
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert re.search(r"(?<!\\)\]\(javascript:", report) is None, "the name of a file is no markup"
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} <= {"in", "out", "redraft"}


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


def test_batches_of_one_folder_keep_their_summaries_apart(store: Store, tmp_path: Path) -> None:
    """Their files are named apart, whatever their sources are called; a batch elsewhere has names of its own."""
    for name, folder in (("first", "out"), ("second", "out"), ("third", "elsewhere")):
        source = tmp_path / name / "Report.txt"
        source.parent.mkdir()
        source.write_text(story(6).text, "utf-8")
        Batches(store).open(Batch(name, record_json(BatchRequest(DraftConfig())), {}, str(tmp_path / folder)))
        add_items(store, name, [str(source), str(source.with_name("report.txt"))])
    files = {name: [item.file for item in Batches(store).items(name)] for name in ("first", "second", "third")}
    assert [file.casefold() for file in files["third"]] == [file.casefold() for file in files["first"]]
    assert len({file.casefold() for name in ("first", "second") for file in files[name]}) == 4
