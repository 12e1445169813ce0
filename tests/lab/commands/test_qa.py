"""`redraft experiment qa`: what it comes to before anything is asked, and what cannot be meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.local_command import LocalCommand
from tests.lab.experiments.world import serving
from tests.valley import book, over_wire

COMMAND = (
    "experiment", "qa", "valley.txt", "-m", "extractive", "--until", "780,5000", "--context-tokens", "8000", "-q",
)  # fmt: skip


@pytest.fixture
def inside(tmp_path: Path) -> LocalCommand:
    (tmp_path / "valley.txt").write_text(book(18).text, "utf-8")
    return LocalCommand(tmp_path)


@pytest.mark.slow
def test_dry_runs_count_questions_and_store_nothing(inside: LocalCommand) -> None:
    def planned(*more: str) -> dict[str, int]:
        rows = inside.run(*COMMAND, "--dry-run", "--json", *more).json["rows"]
        return {row["step"] if row["document"] != "total" else "total": row["calls"] for row in rows}

    # 3 thirds of 4 types are 12 questions, and the 3 without an answer are looked for. Then 12 questions at 2 steps.
    assert planned() == {"questions": 15, "answers": 24, "verdicts": 1, "total": 40}
    assert planned("--at-once", "4")["answers"] == 6
    both = planned("--strategy", "direct", "--strategy", "hierarchical", "--per-third", "2")
    assert both["answers"] == both["answers, hierarchical"] == 48
    assert both["drafting, hierarchical"] > 0
    assert not inside.database.exists()
    plan = inside.run(*COMMAND, "--dry-run", "-o", "results")
    assert "No model was called and nothing was stored" in plan.out
    assert not (inside.folder / "results").exists()


@pytest.mark.slow
def test_named_settings_of_one_model_take_part(tmp_path: Path) -> None:
    with serving(lambda request: json.dumps(over_wire(request))) as server:
        command = LocalCommand(tmp_path)
        (tmp_path / "valley.txt").write_text(book(6).text, "utf-8")
        model_tables = "".join(
            f'[models.{name}]\nmodel = "openai:{model}"\nbase_url = "{server.base_url}"\ntemperature = {drawn}\n'
            for name, model, drawn in (("calm", "reader", 0.1), ("warm", "reader", 0.9), ("fair", "judge", 0.2))
        )
        (tmp_path / "redraft.toml").write_text(model_tables, "utf-8")
        command.environment["REDRAFT_CONFIG"] = "redraft.toml"
        options = ("-m", "calm", "-m", "warm", "--judge", "fair")
        done = command.run("experiment", "qa", "valley.txt", *options, "--until", "5000", "--json", "-q")
        assert done.code == 0, done.err
        context = command.run("experiment", "context", "valley.txt", *options, "--until", "300", "--dry-run", "--json")
    assert [model["name"] for model in done.json["settings"]["models"]] == ["calm", "warm"]
    assert done.json["settings"]["judge"]["name"] == "fair"
    accuracy = next(table for table in done.json["tables"] if table["name"] == "accuracy")
    assert {row["model"]: row["accuracy"] for row in accuracy["rows"] if row["type"] == "all"} == {"calm": 1, "warm": 1}
    drawn = {(request.model, request.body["temperature"]) for request in server.answered}
    assert drawn == {("reader", 0.1), ("reader", 0.9), ("judge", 0.2)}
    drafting = [row["model"] for row in context.json["rows"] if row["step"].startswith("drafting")]
    assert drafting == ["openai:reader", "openai:reader"]


def test_cosine_without_encoder_is_refused_at_once(inside: LocalCommand) -> None:
    refused = inside.run(*COMMAND, "--set", "similarity=cosine")

    assert refused.code == 2
    assert "the similarity cosine needs an embedding model" in refused.err
    assert "choose rouge1" in refused.err
