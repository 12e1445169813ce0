"""`redraft pack`: from one machine to another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.local_command import LocalCommand
from tests.judges import island, summary_of


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
