"""`redraft experiment context`: what it prints and writes, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from redraft import Store
from tests.cli.inside import Inside
from tests.judges import island, told

CONTEXT = ("experiment", "context", "book.md", "--model", "extractive", "--until", "300:900:600", "--words", "40")


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    (tmp_path / "book.md").write_text(island(40).text, "utf-8")
    (tmp_path / "reference.txt").write_text(told(1, 20, 39), "utf-8")
    return Inside(tmp_path, "http://127.0.0.1:9/v1")


@pytest.mark.slow
def test_main_results_are_printed_and_tables_written(inside: Inside) -> None:
    done = inside.run(*CONTEXT, "--strategy", "hierarchical", "--strategy", "incremental", "-o", "results")
    assert done.code == 0, done.err
    assert len(done.out.strip().splitlines()) <= 12
    results = inside.folder / "results"
    items = json.loads((results / "items.json").read_text("utf-8"))
    assert [len(item["sentences"]) > 0 for item in items] == [True] * 4
    assert all(fact["sentence"] <= len(item["sentences"]) for item in items for fact in item["facts"])
    assert {path.stem for path in results.glob("*.svg")} >= {"position_densities", "position_halves", "fact_shares_1"}
    rows = list(csv.DictReader((results / "positions.csv").read_text("utf-8").splitlines()))
    assert [(row["system"], row["step"], row["until"]) for row in rows] == [
        (f"extractive, {strategy}", step, until)
        for strategy in ("hierarchical", "incremental")
        for step, until in (("1", "300"), ("2", "900"))
    ]
    assert all(float(row["read"]) < 1 for row in rows)
    before = {path.name: path.read_bytes() for path in results.iterdir()}
    repeated = inside.run(*CONTEXT, "--strategy", "hierarchical", "--strategy", "incremental", "-o", "results")
    assert repeated.out == done.out
    assert {path.name: path.read_bytes() for path in results.iterdir()} == before


def test_a_reference_sets_length_and_baseline(inside: Inside) -> None:
    command = [word for word in CONTEXT if word not in ("--words", "40")]
    done = inside.run(*command, "--reference", "reference.txt", "--no-facts", "-o", "results", "--json")
    assert done.code == 0, done.err
    tables = {table["name"]: table for table in json.loads(done.out)["tables"]}
    assert "fact_changes" not in tables
    (reference,) = (row for row in tables["positions"]["rows"] if row["system"] == "reference")
    assert [reference[f"whole {third}"] for third in ("1st", "2nd", "3rd")] == pytest.approx([1 / 3] * 3)
    assert json.loads(done.out)["settings"]["documents"][0]["words"] == len(told(1, 20, 39).split())


def test_short_documents_have_plans_with_several_steps(inside: Inside) -> None:
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
def test_what_cannot_be_meant_is_refused(inside: Inside, words: tuple[str, ...], message: str) -> None:
    done = inside.run("experiment", "context", "book.md", "-m", "extractive", *words)
    assert done.code == 2
    assert message in done.err
