"""The commands with which docs/papers.md repeats the BooookScore paper, and the figures that come out of them."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

from benchmarks import papers_booookscore
from benchmarks.papers_booookscore import checks, level_limits
from tests.cli.inside import Inside
from tests.support import SAMPLE

DATA = Path(os.environ.get("REDRAFT_DATA") or SAMPLE.parents[2] / "shared" / "data") / "booookscore"
MARKS = SAMPLE.parent / "people-marks.json"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs $REDRAFT_DATA")


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    (tmp_path / "examples").symlink_to(SAMPLE.parent)
    return Inside(tmp_path)


@pytest.mark.slow
def test_the_limits_of_the_preset_are_the_papers() -> None:
    assert level_limits(40)[:2] == [585, 900]
    assert level_limits(200)[:3] == [380, 585, 900]


@pytest.mark.nightly
@needs_data
def test_every_figure_that_can_be_recomputed_is_as_published() -> None:
    found = list(checks())
    assert len(found) >= 23
    assert [one.where for one in found if not one.equal] == []
    assert {one.paper for one in found} == {papers_booookscore.PAPER}


@pytest.mark.nightly
def test_the_preset_drafts_with_the_words_as_a_target(inside: Inside) -> None:
    made = inside.run("summarize", "examples/the-salt-ledger.md", "--preset", "booookscore", "--json")
    assert made.code == 0, made.err
    settings = made.json["settings"]
    assert (settings["words"], settings["words_as"], settings["chunk_tokens"]) == (585, "target", 2048)
    section_3 = ("--preset", "booookscore", "--chunk-tokens", "4096", "--words", "780", "--dry-run")
    planned = inside.run("summarize", "examples/the-salt-ledger.md", *section_3)
    assert "hierarchical, about 780 words, at most 1,200 tokens" in planned.err + planned.out


def sheet(inside: Inside, *arguments: str) -> list[dict[str, str]]:
    done = inside.run("agree", "sheet", *arguments, "-q")
    assert done.code == 0, done.err
    return list(csv.DictReader(io.StringIO(done.out.removeprefix("\ufeff"), newline="")))


@pytest.mark.slow
def test_the_example_runs_through_all_of_it(inside: Inside) -> None:
    path = "examples/people-marks.json"
    scored = inside.run("experiment", "booookscore", "--summaries", path, "--annotations", path, "--json")
    assert [one["score"] for one in scored.json["items"]] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert len(sheet(inside, "--what", "annotations", "--summaries", path, "--annotations", path)) == 5
    assert len(sheet(inside, "--what", "marks", "--summaries", path)) == 9
    texts = {key: one["summary"] for key, one in json.loads(MARKS.read_text("utf-8")).items()}
    (inside.folder / "other.json").write_text(json.dumps({key: f"{text} So." for key, text in texts.items()}), "utf-8")
    assert len(sheet(inside, "--what", "preferences", "--summaries", path, "--summaries", "other.json")) == 8


@pytest.mark.nightly
@needs_data
def test_the_commands_on_released_files_print_what_the_page_says(inside: Inside) -> None:
    people, gpt4 = (
        str(DATA / "human" / "summary-gpt4-4096-hier.json"),
        str(DATA / "annotations" / "gpt4-4096-hier.json"),
    )
    summaries = {way: str(DATA / "summaries" / f"gpt4-{way}-cleaned.json") for way in ("2048-hier", "2048-inc")}
    both = ("--annotations", people, "--annotations", gpt4)
    scored = inside.run("experiment", "booookscore", "--summaries", people, *both, "--json").json
    scores = next(one["rows"] for one in scored["tables"] if one["name"] == "scores")
    assert [round(row["BooookScore"], 1) for row in scores] == [89.4, 90.9]
    pairs = ("--summaries", summaries["2048-hier"], "--summaries", summaries["2048-inc"])
    assert len(sheet(inside, "--what", "preferences", *pairs)) == 400
    assert len(sheet(inside, "--what", "annotations", "--summaries", people, *both, "--sample", "2000")) == 665
