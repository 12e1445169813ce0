"""`redraft agree table`: several sets of annotations in one table, with baselines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.cli.inside import Inside, keepers_court
from tests.judges import Keepers, Said, Sheet, island, told

DOCUMENTS = 3
SETS = ("summeval=summaries.jsonl", "qags=qags.jsonl")


class Partly(Keepers):
    """Answers from the document with more words than it takes, so that measures of likeness differ."""

    def answer_from_document(self, sheet: Sheet) -> Said:
        said: Any = super().answer_from_document(sheet)
        for one in said["answers"]:
            one["answer"] = f"{one['answer']} of the sea" if one["answer"].startswith("Tom2") else one["answer"]
        return said


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Inside]:
    """A SummEval of four systems, of which each names more keepers wrongly than the one before, and a QAGS."""
    texts = {f"d{n}": island(20 + n).text for n in range(DOCUMENTS)}
    lines = [
        {
            "id": document,
            "system": f"s{wrong}",
            "summary": told(*range(n + 1, n + 5), wrong=dict.fromkeys(range(n + 1, n + 1 + wrong), "Bob")),
            "human": {"consistency": 5 - wrong + 0.1 * n, "relevance": 3 + wrong % 2},
        }
        for n, document in enumerate(texts)
        for wrong in range(4)
    ]
    yes, no = ([{"response": word}] * 3 for word in ("yes", "no"))
    votes = [
        {
            "article": text,
            "summary_sentences": [
                {"sentence": told(1, wrong={1: "Bob"} if n else None), "responses": no if n else yes},
                {"sentence": told(2), "responses": yes},
            ],
        }
        for n, text in enumerate(texts.values())
    ]
    files = {
        "documents.jsonl": [{"id": name, "source": text} for name, text in texts.items()],
        "summaries.jsonl": lines,
        "qags.jsonl": votes,
    }
    for name, entries in files.items():
        (tmp_path / name).write_text("\n".join(map(json.dumps, entries)), "utf-8")
    with keepers_court(tmp_path, Partly()) as court:
        yield court


def rows_of(command: Inside, *more: str) -> list[dict[str, Any]]:
    done = command.run("agree", "table", *more, "--preset", "longsumeval", "--json")
    assert done.code == 0, done.err
    (table,) = done.json["tables"]
    return list(table["rows"])


def tau(cell: str) -> float:
    return float(cell.rstrip("*"))


@pytest.mark.nightly
def test_table_ii_is_one_command(command: Inside) -> None:
    rows = rows_of(command, *SETS, "--sweep", "similarity=exact,rouge1")
    found = {(row["method"], row["metric"], row["similarity"], row["per"]): row for row in rows}
    systems = found["openai:m", "consistency", "rouge1", "systems"]
    assert (tau(systems["summeval"]), systems["qags"]) == (1.0, None)
    summaries = found["openai:m", "consistency", "exact", "summaries"]
    assert tau(summaries["summeval"]) > 0.7
    assert tau(summaries["qags"]) == 1
    coverage = found["openai:m", "coverage", None, "summaries"]
    assert coverage["qags"] is None, "nobody was asked about coverage there"
    assert ("QuestEval-like (openai:m)", "consistency", None, "systems") in found
    assert ("share of bigrams in the document", "coverage", None, "systems") in found


@pytest.mark.nightly
def test_what_a_metric_does_not_use_is_not_swept_for_it(command: Inside) -> None:
    rows = rows_of(command, SETS[0], "--sweep", "questions=3-6,6-12", "--sweep", "claims=3-5,5-7")
    judged = [row for row in rows if row["method"] == "openai:m" and row["per"] == "systems"]
    assert {(row["metric"], row["questions"], row["claims"]) for row in judged} == {
        ("consistency", None, "3-5"),
        ("consistency", None, "5-7"),
        ("coverage", "3-6", None),
        ("coverage", "6-12", None),
    }


@pytest.mark.slow
def test_blanc_is_a_baseline_by_its_package(command: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    class BlancHelp:
        def __init__(self, **settings: Any) -> None:
            assert settings["model_name"] == "tiny"

        def eval_pairs(self, documents: list[str], summaries: list[str]) -> list[float]:
            assert all(len(text) > len(summary) for text, summary in zip(documents, summaries, strict=True))
            return [-summary.count("Bob") for summary in summaries]

    package = ModuleType("blanc")
    package.BlancHelp = BlancHelp  # type: ignore[attr-defined]  # stands in for a package that is not installed
    monkeypatch.setitem(sys.modules, "blanc", package)
    rows = rows_of(command, SETS[0], "--metric", "consistency", "--baseline", "blanc:tiny")
    (systems,) = [row for row in rows if row["method"] == "BLANC (tiny)" and row["per"] == "systems"]
    assert tau(systems["summeval"]) == 1


def test_what_it_cannot_read_or_compare_is_refused(command: Inside) -> None:
    for words, said in (
        (["summaries.jsonl"], "has no format"),
        (["qags=qags.jsonl", "--metric", "coverage"], "no file has people's figures on coverage"),
        (["qags=qags.jsonl", "--baseline", "summaqa"], "there is no baseline 'summaqa'"),
    ):
        refused = command.run("agree", "table", *words)
        assert refused.code == 2
        assert said in refused.err


def test_its_cost_is_estimated_by_set(command: Inside) -> None:
    done = command.run("agree", "table", *SETS, "--dry-run", "--json")
    assert [(row["set"], row["metric"]) for row in done.json["rows"]] == [
        ("summeval", "consistency"),
        ("summeval", "coverage"),
        ("qags", "consistency"),
    ]
