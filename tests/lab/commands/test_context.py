"""`redraft experiment context`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redraft import Store
from tests.cli.local_command import LocalCommand
from tests.judges import island, summary_of

CONTEXT = ("experiment", "context", "book.md", "--model", "extractive", "--until", "300:900:600", "--words", "40")


@pytest.fixture
def inside(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.md").write_text(island(40).text, "utf-8")
    (tmp_path / "reference.txt").write_text(summary_of(1, 20, 39), "utf-8")
    return LocalCommand(tmp_path, "http://127.0.0.1:9/v1")


def test_a_reference_sets_length_and_baseline(inside: LocalCommand) -> None:
    command = [word for word in CONTEXT if word not in ("--words", "40")]
    done = inside.run(*command, "--reference", "reference.txt", "--no-facts", "-o", "results", "--json")
    assert done.code == 0, done.err
    tables = {table["name"]: table for table in json.loads(done.out)["tables"]}
    assert "fact_changes" not in tables
    (reference,) = (row for row in tables["positions"]["rows"] if row["system"] == "reference")
    assert [reference[f"whole {third}"] for third in ("1st", "2nd", "3rd")] == pytest.approx([1 / 3] * 3)
    assert json.loads(done.out)["settings"]["documents"][0]["words"] == len(summary_of(1, 20, 39).split())


def test_short_documents_have_plans_with_several_steps(inside: LocalCommand) -> None:
    done = inside.run("experiment", "context", "book.md", "-m", "extractive", "--words", "40", "--dry-run", "--json")
    assert done.code == 0, done.err
    (drafting, *_) = json.loads(done.out)["rows"]
    assert drafting["step"] == "drafting, hierarchical"
    assert drafting["runs"] >= 2
    with Store(inside.folder / "redraft.db") as store:
        assert store.runs.latest(5) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--until", "10:20"), "are not steps"),
        (("--strategy", "sideways"), "sideways"),
        (("book.md", "reference.txt", "--reference", "reference.txt"), "one document has a reference"),
    ],
)
def test_what_cannot_be_meant_is_refused(inside: LocalCommand, words: tuple[str, ...], message: str) -> None:
    done = inside.run("experiment", "context", "book.md", "-m", "extractive", *words)
    assert done.code == 2
    assert message in done.err
