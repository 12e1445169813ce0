"""Public data sets on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.local_command import LocalCommand

STORY = (
    "The keeper lit the lamp. The storm came from the west. Nobody saw the ship before it was on the rocks at night."
)


def test_sets_are_described_and_converted(tmp_path: Path) -> None:
    inside = LocalCommand(tmp_path)
    entries = [{"id": str(n), "document": f"{STORY} {n}", "summary": "A lamp."} for n in range(3)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, entries)), "utf-8")
    described = inside.run("data", "describe", "x.jsonl", "-q", "-o", "described")
    assert described.code == 0
    page = inside.run("experiment", "report", "described", "-o", "report.html")
    assert (page.code, "1 set of results" in page.err) == (0, True)
    joined = inside.run("data", "convert", "x.jsonl", "--join-tokens", "40", "-o", "long.jsonl")
    assert joined.code == 0
    assert len((tmp_path / "long.jsonl").read_text("utf-8").splitlines()) == 1
    assert inside.run("data", "convert", "x.jsonl", "--join-tokens", "9000", "-o", "long.jsonl").code == 2
    with (tmp_path / "x.jsonl").open("a") as more:
        more.write("\nno JSON")
    assert inside.run("data", "describe", "x.jsonl", "-q").code == 3


def test_plain_text_is_refused_in_one_sentence(tmp_path: Path) -> None:
    inside = LocalCommand(tmp_path)
    (tmp_path / "story.txt").write_text("The lamp.\n\n1904\n\nThe storm.\n", "utf-8")

    checked = inside.run("data", "describe", "story.txt", "-q")

    assert checked.code == 3
    assert checked.out.count("| story.txt") == 2, "once among the files, once among what cannot be read"
    assert "plain text is a SOURCE without conversion" in checked.out
