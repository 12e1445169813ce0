"""LongSumEval's preset: how long a revision may be, what the judge sees, and what the reviser is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from redraft import Store
from tests.cli.local_command import LocalCommand, judging_folder
from tests.judges import PerfectModel, ScriptedReply, Sheet, island, summary_of

pytestmark = pytest.mark.slow

READING = {"ask_document", "answer_from_document", "revise"}
WINDOW = ("--context-tokens", "32000")


@dataclass
class Watched(PerfectModel):
    """Does everything well, and keeps what it was shown."""

    seen: list[Sheet] = field(default_factory=list)

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        self.seen.append(sheet)
        return super().__call__(sheet)

    def of(self, prompt: str) -> list[Sheet]:
        return [sheet for sheet in self.seen if sheet.prompt == prompt]


@pytest.fixture
def judge() -> Watched:
    return Watched()


@pytest.fixture
def command(tmp_path: Path, judge: Watched) -> Iterator[LocalCommand]:
    with judging_folder(tmp_path, judge) as harness:
        # 300 keepers are more than a usual window, and less than this one.
        (tmp_path / "book.md").write_text(island(300).text, "utf-8")
        yield harness


def refined(command: LocalCommand, *more: str) -> dict[str, float]:
    done = command.run("refine", "book.md", "poor.md", *WINDOW, "--json", *more)
    assert done.code in (0, 3), done.err
    return dict(done.json["scores"])


def test_preset_revisions_have_no_word_cap(command: LocalCommand) -> None:
    assert refined(command, "--preset", "longsumeval")["coverage"] == 1
    assert refined(command, "--preset", "longsumeval", "--set", "free_length=false", "--rounds", "1")["coverage"] < 0.6


def test_typed_limit_holds_for_revisions(command: LocalCommand, judge: Watched) -> None:
    assert refined(command, "--preset", "longsumeval", "-w", "50", "--rounds", "1")["coverage"] < 0.6
    assert "at most 50 words" in judge.of("revise")[0].text


def test_uncapped_reviser_hears_of_no_limit(command: LocalCommand, judge: Watched) -> None:
    refined(command, "--preset", "longsumeval")
    (asked,) = judge.of("revise")
    assert "as many as the points need" in asked.text
    assert "at most" not in asked.text.replace("up to", "")


def test_judge_sees_a_fitting_document(command: LocalCommand, judge: Watched) -> None:
    refined(command, "--preset", "longsumeval", "-g", "coverage=1", "-g", "consistency=1")
    whole = [
        sheet.within("excerpt" if sheet.prompt == "ask_document" else "document")
        for sheet in judge.seen
        if sheet.prompt in READING
    ]
    assert len(whole) > 2
    assert {len(text) for text in whole} == {len(island(300).text.strip())}


def test_the_feedback_holds_questions_only(command: LocalCommand, judge: Watched) -> None:
    refined(command, "--preset", "longsumeval", "-g", "coverage=1", "-g", "consistency=1")
    missing, wrong = (list(sheet.items("points").values()) for sheet in judge.of("revise"))
    # The wrong name of a keeper is an answer; who has none is asked about.
    assert [point["question"].split()[4] for point in missing] == [str(n) for n in range(5, 13)]
    assert {key for point in missing for key in point} == {"text", "task", "instruction", "question"}
    assert [(point["question"].split()[4], point["answer"]) for point in wrong] == [("2", "Tom2")]
    assert {key for point in wrong for key in point} == {"text", "task", "instruction", "question", "answer"}


def test_ours_adds_answers_and_places(command: LocalCommand, judge: Watched) -> None:
    refined(command, "--preset", "longsumeval", "--set", "feedback=findings", "--rounds", "1")
    points = [point for sheet in judge.of("revise") for point in sheet.items("points").values()]
    assert all({"answer", "evidence"} <= point.keys() for point in points)


def test_generic_feedback_is_the_writers_own_criticism(command: LocalCommand, judge: Watched) -> None:
    done = command.run("refine", "book.md", "poor.md", *WINDOW, "--preset", "longsumeval", "--set", "feedback=generic",
                       "--rounds", "1", "--json")  # fmt: skip
    (criticized,), (revised, *_) = judge.of("criticize"), judge.of("revise")
    assert criticized.within("summary") == summary_of(1, 3, 4, wrong={2: "Bob"})
    assert criticized.within("document") == island(300).text.strip()
    (point,) = revised.items("points").values()
    assert (point["task"], point["instruction"]) == ("change", "It could be better.")
    assert "question" not in point
    with Store(command.database) as store:
        rounds = store.rounds.of(done.json["run"])
    assert rounds[1].instruction == "It could be better."
