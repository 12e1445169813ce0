"""`redraft keyfacts`, and judging and refining by key facts, from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand, facts, judging_folder
from tests.cli.overeager_model import HEARSAY, NO_ITEM, UNIMPORTANT, OvereagerModel
from tests.cli.test_listing import WORKING
from tests.command import Completed
from tests.judges import island, summary_of
from tests.store.support import started

BOTH = ("--metric", "keyfact_recall", "--metric", "faithfulness")
GOALS = ("--goal", "keyfact_recall=0.5", "--goal", "faithfulness=1", "--words", "100")
COUNTS = "all root branch leaf found 26 6 13 7 pruned 5 0 2 3 share pruned 19% 0% 15% 43%"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCommand]:
    """One directory for all, with the key facts of twelve keepers. The summary has two of them right that matter."""
    with judging_folder(tmp_path_factory.mktemp("keyfacts"), OvereagerModel()) as command:
        assert command.run("keyfacts", "book.md", "-q").code == 0
        yield command


@pytest.fixture(scope="module")
def trees(command: LocalCommand) -> Any:
    return command.run("keyfacts", "book.md", "--json").json


@pytest.fixture(scope="module")
def judged(command: LocalCommand) -> Completed:
    return command.run("evaluate", "book.md", "poor.md", *BOTH, "--all", code=0)


def fresh(command: LocalCommand, folder: Path, **environment: str) -> LocalCommand:
    """The same documents and judges with an empty database."""
    kept = {name: value for name, value in command.environment.items() if name.startswith(("OPENAI_", "REDRAFT_MODEL"))}
    return LocalCommand(
        command.folder, **{**kept, "COLUMNS": "100", "REDRAFT_DB": str(folder / "own.db"), **environment}
    )


@pytest.mark.slow
def test_key_facts_are_trees_with_places(command: LocalCommand) -> None:
    done = command.run("keyfacts", "book.md", code=0, err="21 key facts in 2 trees, found and validated by openai:m")
    assert done.out.startswith("## chunk 1: from 0% to 99% of the document\n\n- analytical: Why are the keepers 1, 2, ")
    tree = """
  - The keeper number 5 is called Tom5. (at 34% of the document)
    - The keeper number 6 is called Tom6. (at 42% of the document)
      - The keeper number 7 is called Tom7. (at 50% of the document)
    - The keeper number 8 is called Tom8. (at 58% of the document)
"""
    assert tree in done.out
    assert "\n- narrative: Who came after whom " in done.out
    assert f"{COUNTS} see --pruned for what was pruned, and why" in facts(done.out)
    assert NO_ITEM not in done.out
    pruned = command.run("keyfacts", "book.md", "--pruned", "-q").out
    for lines in (
        f"      - × {UNIMPORTANT} (at 17% of the document)\n        - × significance: as it seems\n",
        f"    - × {NO_ITEM} (at 1% of the document)\n      - × faithfulness: names\n"
        f"      - × {HEARSAY} (at 92% of the document)\n        - × orphaned: the branch above it was pruned\n",
    ):
        assert lines in pruned
    assert COUNTS in facts(pruned)
    assert "--pruned" not in pruned


def test_json_of_key_facts_keeps_the_contract(command: LocalCommand, trees: Any) -> None:
    text = (command.folder / "book.md").read_text("utf-8")
    assert set(trees) == {"id", "document", "builder", "validator", "imported", "trees", "pruning", "missing"}
    assert set(trees["document"]) == {"id", "title", "words"}
    assert trees["missing"] == []
    assert trees["pruning"]["leaf"] == {"found": 7, "pruned": 3, "share": pytest.approx(3 / 7)}
    assert [tree["perspective"] for tree in trees["trees"]] == ["analytical", "narrative"]
    for tree in trees["trees"]:
        assert set(tree) == {"chunk", "perspective", "span", "position", "query", "facts"}
        for fact in tree["facts"]:
            assert set(fact) == {"id", "level", "parent", "fact", "evidence", "pruned"}
            start, end = fact["evidence"]["span"]
            assert text[start:end] == fact["evidence"]["text"]
    pruned = {fact["fact"]: fact["pruned"] for fact in trees["trees"][0]["facts"] if fact["pruned"]}
    assert pruned[UNIMPORTANT] == [{"dimension": "significance", "reason": "as it seems"}]
    assert {fact: one[0]["dimension"] for fact, one in pruned.items()} == {
        UNIMPORTANT: "significance",
        NO_ITEM: "faithfulness",
        HEARSAY: "orphaned",
    }


def calls(command: LocalCommand) -> list[dict[str, Any]]:
    import sqlite3

    with sqlite3.connect(command.environment["REDRAFT_DB"]) as raw:
        raw.row_factory = sqlite3.Row
        return [dict(row) for row in raw.execute("SELECT prompt, model, label FROM calls")]


@pytest.mark.slow
def test_stopped_build_resumes_and_is_listed(command: LocalCommand, tmp_path: Path, trees: Any) -> None:
    own = fresh(command, tmp_path)
    stopped = own.run("keyfacts", "book.md", "--max-calls", "2", "--json", code=3)
    assert stopped.json["error"]["code"] == "budget"
    run = own.run("runs", "--json").json["runs"][0]
    assert (run["kind"], run["status"]) == ("keyfacts", "stopped")
    assert f"redraft resume {run['run']}" in stopped.json["error"]["hint"]
    shown = own.run("show", run["run"]).err
    assert f"redraft resume {run['run']} --max-calls " in shown
    assert shown.endswith("no key facts yet\n")
    with started(WORKING, tmp_path / "own.db", run["run"]):
        assert own.run("show", run["run"]).err.endswith("no key facts yet: the run is under way\n")

    done = own.run("resume", run["run"], "--max-calls", "50", "--json", code=0)
    assert done.json == trees
    assert len(calls(own)) == len({(call["prompt"], call["label"]) for call in calls(own)}) == 8
    shown = own.run("show", run["run"])
    assert shown.out == own.run("keyfacts", "book.md").out
    assert own.run("show", run["run"], "--json").json["keyfacts"] == trees
    assert f"the key facts of a document: see `redraft show {run['run']}`" in own.run("trace", run["run"]).out
    assert "done keyfacts The Keepers openai:m" in facts(own.run("runs").out)


def test_key_fact_scores_are_shown_by_level(judged: Completed) -> None:
    shown = facts(judged.out)
    assert "keyfact recall 0.19: 21 facts judged, 9 findings" in shown
    for row in (
        "all root branch leaf recall 0.19 4/21 0.33 2/6 0.18 2/11 0.00 0/4",
        "analytical 0.18 2/11 0.33 1/3 0.16 1/6 0.00 0/2",
        "narrative 0.20 2/10 0.33 1/3 0.20 1/5 0.00 0/2",
        "2 sentences of the summary state no key fact: 2, 3",
        "faithfulness 0.75: 4 sentences judged, 1 finding",
        "all root branch leaf none faithful 0.75 3/4 1.00 2/2 1.00 2/2 – 0.50 1/2 errors: 1 entity",
    ):
        assert row in shown
    wrong = """
1. “The keeper number 2 is called Bob.”
   - faithfulness, entity: A name, number or pronoun differs from the document.
     - reason: The sentence says Bob, the passages Tom2.
     - evidence: “keeper number 2 is called Tom2” (at 9% of the document)
"""
    assert wrong in judged.out
    missing = "keyfact recall, missing root: The keeper number 5 is called Tom5.\n"
    assert f"{missing}   - evidence: “keeper number 5 is called” (at 34% of the document)\n" in judged.out
    judges = "keyfact recall and faithfulness judged by: openai:m; prompts standard\n"
    assert judged.out.endswith(f"\n\n- {judges}"), "once for all metrics"


def test_unused_query_is_a_mistake_when_typed(command: LocalCommand, tmp_path: Path) -> None:
    typed = command.run("evaluate", "book.md", "poor.md", "--query", "Who?", "--json", code=2)
    assert typed.json["error"]["message"] == "--query is not used by coverage and consistency"
    assert fresh(command, tmp_path, REDRAFT_QUERY="Who?").run("evaluate", "book.md", "poor.md", "-q").code == 0


@pytest.mark.slow
def test_key_fact_refinement_is_traced_by_round(command: LocalCommand) -> None:
    done = command.run("refine", "book.md", "poor.md", *GOALS, code=0, err="; keyfact recall 0.19 -> ")
    assert "; faithfulness 0.75 -> 1.00 (goal 1 met)" in done.err

    run = command.run("runs", "--json").json["runs"][0]["run"]
    traced = command.run("trace", run).out
    for line in (
        "found in keyfact recall: missing branch (5), missing root (4)\n",
        "found in faithfulness: entity (1)\n",
        "- entity: “The keeper number 2 is called Bob.” -> The sentence says Bob, the passages Tom2.\n",
        "- missing root: The keeper number 5 is called Tom5.\n",
    ):
        assert line in traced
    diff = command.run("diff", run).out
    assert (
        "- + The keeper number 5 is called Tom5.\n  - fixes: missing root: The keeper number 5 is called Tom5.\n"
        in diff
    )
    assert "  - fixes: entity: “The keeper number 2 is called Bob.” -> The sentence says Bob, the" in diff


@pytest.mark.slow
def test_pack_with_key_facts_moves_machines(command: LocalCommand, tmp_path: Path, trees: Any) -> None:
    there = fresh(command, tmp_path)
    exported = command.run("pack", "export", "book.md", "--keyfacts", trees["id"][:6], "-o", "pack.json", code=0)
    assert f"key facts {trees['id']}: 21 key facts in 2 trees, found and validated by openai:m" in exported.err
    content = json.loads((command.folder / "pack.json").read_text("utf-8"))
    assert content["version"] == 3
    assert content["keyfacts"]["trees"] == trees["trees"]

    imported = there.run("pack", "import", "book.md", "pack.json", "--json", code=0)
    assert imported.json == content
    with ChatServer(lambda request: "I would rather not.") as server:
        deaf = fresh(command, tmp_path, OPENAI_BASE_URL=server.base_url)
        report = deaf.run("keyfacts", "book.md", "--json").json
    assert report == {**trees, "imported": True}
    listed = there.run("pack", "list", "--json").json["packs"]
    assert [one["kind"] for one in listed if one["pack"] == trees["id"]] == ["keyfacts"]
    assert listed[0]["keyfacts"] == 21
    assert "| 21 key facts " in there.run("pack", "list").out
    report = command.run("evaluate", "book.md", "poor.md", *BOTH, "--set", f"keyfacts={trees['id'][:6]}", "--json").json
    assert report["metrics"]["keyfact_recall"]["details"]["keyfacts"] == trees["id"]


@pytest.mark.slow
def test_pack_is_built_exported_imported_used(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "poor.md").write_text(summary_of(1, 2), "utf-8")
    here, there = (LocalCommand(tmp_path, REDRAFT_DB=str(tmp_path / f"{name}.db")) for name in ("here", "there"))
    assert "No packs yet" in here.run("pack", "list").err
    assert "redraft pack build" in here.run("pack", "export", "book.md").err

    built = here.run("pack", "build", "book.md", "--questions", "3", code=0, err="3 questions")
    # Every question with its answer.
    assert built.out.count(" (weight ") == 3
    run = here.run("runs", "--json").json["runs"][0]
    assert (run["kind"], run["status"]) == ("pack", "done")
    assert here.run("resume", run["run"]).out == built.out
    assert "this run built the questions" in here.run("trace", run["run"]).out
    assert here.run("show", run["run"]).code == 0

    assert here.run("pack", "export", "book.md", "-o", "pack.json").out == ""
    refused = there.run("pack", "import", "pack.json", "--json", code=1)
    assert refused.json["error"]["code"] == "pack"
    assert "SOURCE" in refused.json["error"]["hint"]
    imported = there.run("pack", "import", "book.md", "pack.json", "--json", code=0)
    assert imported.json == here.run("pack", "export", "book.md", "-q").json
    assert "imported" in there.run("pack", "list").out

    report = there.run("evaluate", "book.md", "poor.md", "--metric", "coverage", "--json").json
    assert report["metrics"]["coverage"]["details"]["pack"] == imported.json["id"]
    report = here.run("evaluate", "book.md", "poor.md", "--set", f"pack={imported.json['id'][:6]}", "--json").json
    assert report["metrics"]["coverage"]["judged"] == 3
    assert there.run("pack", "list", "--json").json["packs"][0]["questions"] == 3
