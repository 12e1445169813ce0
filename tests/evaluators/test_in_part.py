"""A sentence that stands in the document in part: it counts for as much, and is called neither right nor wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redraft import Session, load
from redraft.cli.views.findings import evaluation
from redraft.domain import Evaluation
from redraft.evaluators.consensus import JudgeVerdicts, aggregate, objected
from redraft.evaluators.metric_info import IN_PART
from redraft.lab.agreement.trial import of_sentences
from redraft.lab.doctor.expectations import said_of
from tests.command import Command
from tests.support import SAMPLE

COPIED = "Hester Vane came to the island of Sarn on Monday, 3 March 1924, sitting on a sack of oats"
PATCHED = f"{COPIED} while half of a wide grey county wondered aloud whether anybody would be asking for company."


async def _judged(folder: Path, summary: str) -> Evaluation:
    async with Session(str(folder / "redraft.db")) as session:
        return (await session.evaluate(str(SAMPLE), summary, metrics=["consistency"])).evaluations["consistency"]


def _claims(told: Evaluation) -> list[dict[str, Any]]:
    details: Any = told.details
    found: list[dict[str, Any]] = details["claims"]
    return found


@pytest.mark.slow
async def test_a_patched_sentence_counts_in_part_and_is_no_finding(tmp_path: Path) -> None:
    told = await _judged(tmp_path, PATCHED)
    (claim,) = _claims(told)
    assert claim["verdict"] == IN_PART
    assert told.score == claim["value"] == pytest.approx(0.5, abs=0.1)
    assert told.judged == 1
    assert not told.findings


@pytest.mark.slow
async def test_one_that_is_nearly_all_there_is_borne_out(tmp_path: Path) -> None:
    told = await _judged(tmp_path, f"{COPIED}.")
    assert [claim["verdict"] for claim in _claims(told)] == ["consistent"]


@pytest.mark.slow
async def test_nobody_takes_it_for_right_or_wrong(tmp_path: Path) -> None:
    told = await _judged(tmp_path, PATCHED)
    assert of_sentences(told, [PATCHED]) == (None,)
    assert said_of(told, PATCHED) == {PATCHED: "open"}


@pytest.mark.parametrize(
    ("verdicts", "right"),
    [
        (["consistent", "in part"], None),
        (["in part", "inconsistent"], False),
        (["consistent", "unjudged"], True),
        (["consistent", "consistent"], True),
    ],
)
def test_what_several_claims_say_of_their_sentence(verdicts: list[str], right: bool | None) -> None:
    claims = [{"sentence": 1, "verdict": verdict} for verdict in verdicts]
    told = Evaluation("consistency", 6, "scored", 1.0, judged=2, details={"claims": claims})
    assert of_sentences(told, ["Something was so."]) == (right,)


def test_among_several_judges_it_is_no_objection() -> None:
    sittings = [
        JudgeVerdicts("a", {0: IN_PART, 1: IN_PART, 2: "consistent"}, {0: 0.5, 1: 0.4, 2: 1.0}),
        JudgeVerdicts("b", {0: "consistent", 1: "inconsistent", 2: "inconsistent"}, {0: 1.0, 1: 0.0, 2: 0.0}),
    ]
    items = aggregate(sittings, range(3))
    assert objected(items, "consistent") == [1, 2]
    assert [items[n].against("consistent") for n in range(3)] == [(0, 2), (1, 2), (1, 2)]
    assert items[1].objection("consistent") == "inconsistent"


@pytest.mark.slow
async def test_who_reads_the_score_is_told_of_it(tmp_path: Path) -> None:
    told = await _judged(tmp_path, f"{PATCHED} Everybody knew that the Long Bank was rotten.")
    first, *_ = evaluation(told, load(str(SAMPLE)))
    assert first.startswith("consistency 0.7")
    assert first.endswith(": 2 claims judged, 1 of them in part, 0 findings")


@pytest.mark.slow
def test_the_page_says_it_too(tmp_path: Path) -> None:
    command, summary, page = Command(tmp_path), tmp_path / "summary.txt", tmp_path / "page.html"
    summary.write_text(f"{PATCHED} Everybody knew that the Long Bank was rotten.", "utf-8")
    refined = command.run(
        "refine", str(SAMPLE), str(summary), "-g", "consistency=0.95", "--rounds", "1", "--json", "--allow-self-check"
    )
    assert command.run("export", json.loads(refined.out)["run"], "-o", str(page)).code == 0
    assert "2 items judged, 1 of them in part<" in page.read_text("utf-8")
