"""`redraft experiment grid`, `context` and `qa`: what is asked for, what it comes to, and what cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import Store
from tests.cli.local_command import LocalCommand, plan
from tests.judges import island, summary_of
from tests.lab.sheets import tables
from tests.valley import book

GRID = ("experiment", "grid", "book.md", "-m", "extractive", "--words", "40")
CONTEXT = ("experiment", "context", "book.md", "-m", "extractive")
QA = ("experiment", "qa", "valley.txt", "-m", "extractive", "--until", "780,5000", "--context-tokens", "8000", "-q")


@pytest.fixture
def inside(tmp_path: Path) -> LocalCommand:
    texts = {"book.md": island(40).text, "reference.txt": summary_of(1, 20, 39), "valley.txt": book(18).text}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    return LocalCommand(tmp_path, "http://127.0.0.1:9/v1")


@pytest.mark.slow
def test_drafts_of_beginnings_are_judged_in_full(inside: LocalCommand) -> None:
    words = ("--query", "Who keeps the lamp?", "--language", "English", "--set", "until=300", "--metric", "coverage")
    grid = (*GRID, "--metric", "spread", *words, "--json", "-q")
    done = inside.run(*grid)
    (score,) = (row for row in tables(done)["scores"] if row["metric"] == "spread")
    assert score["score"] < 0.5
    (contestant,) = done.json["settings"]["contestants"]
    settings = {name: contestant["settings"][name] for name in ("query", "language", "until")}
    assert settings == {"query": "Who keeps the lamp?", "language": "English", "until": 300}
    assert inside.run(*grid).out == done.out


def test_undecided_judges_are_not_asked_again(inside: LocalCommand) -> None:
    done = inside.run(*GRID, "--metric", "booookscore", "--json")
    actual = tables(done, 1)
    assert {row["code"] for row in actual["failures"]} == {"undecided"}
    assert {row["status"] for row in actual["summaries"]} == {"undecided"}
    assert "the judge could not decide" in done.err
    assert "choose another judge" in done.err
    assert "repeat the command" not in done.err


def test_a_reference_sets_length_and_baseline(inside: LocalCommand) -> None:
    steps = ("--until", "300:900:600", "--reference", "reference.txt", "--no-facts")
    done = inside.run(*CONTEXT, *steps, "-o", "results", "--json")
    actual = tables(done)
    assert "fact_changes" not in actual
    (reference,) = (row for row in actual["positions"] if row["system"] == "reference")
    assert [reference[f"whole {third}"] for third in ("1st", "2nd", "3rd")] == pytest.approx([1 / 3] * 3)
    assert done.json["settings"]["documents"][0]["words"] == len(summary_of(1, 20, 39).split())


def test_short_documents_have_plans_with_several_steps(inside: LocalCommand) -> None:
    (drafting, *_) = plan(inside, *CONTEXT, "--words", "40")["rows"]
    assert drafting["step"] == "drafting, hierarchical"
    assert drafting["runs"] >= 2
    with Store(inside.folder / "redraft.db") as store:
        assert store.runs.latest(5) == []


@pytest.mark.slow
def test_dry_runs_count_questions_and_store_nothing(inside: LocalCommand) -> None:
    def planned(*more: str) -> dict[str, int]:
        rows = plan(inside, *(word.replace("extractive", "openai:m") for word in QA), *more)["rows"]
        return {row["step"] if row["document"] != "total" else "total": row["calls"] for row in rows}

    # 3 thirds of 4 types are 12 questions, and the 3 without an answer are looked for. Then 12 questions at 2 steps.
    assert planned() == {"questions": 15, "answers": 24, "verdicts": 1, "total": 40}
    assert planned("--at-once", "4")["answers"] == 6
    both = planned("--strategy", "direct", "--strategy", "hierarchical", "--per-third", "2")
    assert both["answers"] == both["answers, hierarchical"] == 48
    assert both["drafting, hierarchical"] > 0
    assert not inside.database.exists()
    # For a short document the built-in model is asked, so that its plan is exact.
    exact = {row["step"]: row["calls"] for row in plan(inside, *QA)["rows"] if row["step"]}
    tables = {table["name"]: table["rows"] for table in inside.run(*QA, "--json", "--db", "made.db").json["tables"]}
    assert exact == {row["step"]: row["calls"] for row in tables["cost"] if row["step"] != "total"}
    shown = inside.run(*QA, "--dry-run", "-o", "results")
    assert "No model was called and nothing was stored" in shown.out
    assert not (inside.folder / "results").exists()


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ((*CONTEXT, "--until", "10:20"), ["are not steps"]),
        ((*CONTEXT, "--strategy", "sideways"), ["sideways"]),
        ((*CONTEXT, "book.md", "reference.txt", "--reference", "reference.txt"), ["one document has a reference"]),
        ((*QA, "--set", "similarity=cosine"), ["the similarity cosine needs an embedding model", "choose rouge1"]),
    ],
)
def test_what_cannot_be_meant_is_refused(inside: LocalCommand, words: tuple[str, ...], messages: list[str]) -> None:
    refused = inside.run(*words)
    assert refused.code == 2
    assert all(message in refused.err for message in messages)
