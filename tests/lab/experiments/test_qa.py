"""Questions with a growing context: models of known characters show in the tables as just that; what was paid stays."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits, Store
from redraft.domain import record_json
from redraft.events import CallAnswered, Event, Observer, ignore_event
from redraft.lab.experiments.pictures import draw_pictures
from redraft.lab.experiments.plan import NamedModel
from redraft.lab.experiments.qa import QaDesign, QaOutcome, qa
from redraft.lab.experiments.qa import EXPERIMENT
from redraft.report.tables import Table
from redraft.runs.experiment_runner import ExperimentRunner
from tests.chatserver import Answer, ChatServer, Fault, Seen, asked, text_of
from tests.judges import KEY, seen_on
from tests.lab.experiments.world import serving
from tests.valley import book, over_wire, paragraph

_PROCESSES = multiprocessing.get_context("forkserver")
MILLERS = 18
# As tokens are counted here the first step ends within the paragraph of miller 9, and the last has read all 1,600.
STEPS = (780, 5000)
ALL_OF_IT = 1600
# Asked about: 1 (why), 3 (who), 4 (yes or no), 6 (no answer); 7, 9, 10, 12; and 13, 15, 16, 18, in the same order. So
# at the first step five are read, one is cut through, and six lie ahead, four of which have an answer.


def replied(seen: Seen) -> str:
    return json.dumps(over_wire(seen))


class Valley:
    """A store in a directory, and the experiment on the book of millers, by models behind a server."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.document = folder, book(MILLERS)
        self.url = url
        self.design = QaDesign(self.seats("reader", "forgetful"), *self.seats("judge"), steps=STEPS)

    def seats(self, *models: str, window: int = 8000) -> tuple[NamedModel, ...]:
        names = [f"openai:{model}" for model in models]
        return tuple(
            NamedModel(name, DraftConfig(model=name, base_url=self.url, context_tokens=window)) for name in names
        )

    async def run(
        self, *models: str, limits: Limits | None = None, observer: Observer = ignore_event, **changes: Any
    ) -> QaOutcome:
        """The experiment, from where it is."""
        named = {"models": self.seats(*models)} if models else {}
        with Store(self.folder / "redraft.db") as store:
            runner = ExperimentRunner(store, limits or Limits(), None, observer)
            return await qa([self.document], replace(self.design, **named, **changes), runner)


def table(outcome: QaOutcome, name: str) -> Table:
    return next(one for one in EXPERIMENT.report(outcome).tables if one.name == name)


def cells(found: Table, *wanted: str, **where: object) -> list[tuple[object, ...]]:
    """Some columns of the rows whose other cells are as they should be."""
    at = {name.replace(" ", "_"): number for number, name in enumerate(found.columns)}
    rows = [row for row in found.rows if all(row[at[name]] == value for name, value in where.items())]
    return [tuple(row[at[name.replace(" ", "_")]] for name in wanted) for row in rows]


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with serving(replied) as found:
        yield found


@pytest.fixture
def valley(tmp_path: Path, server: ChatServer) -> Valley:
    return Valley(tmp_path, server.base_url)


@pytest.mark.slow
async def test_who_reads_all_does_right_by_all(valley: Valley) -> None:
    outcome = await valley.run("reader")
    assert outcome.complete
    assert [(cell.status, cell.step.until) for cell in outcome.cells] == [("done", 780), ("done", None)]
    assert Counter((item.tokens, item.place) for item in outcome.items) == {
        (780, "read"): 5, (780, "cut"): 1, (780, "ahead"): 6, (ALL_OF_IT, "read"): 12,
    }  # fmt: skip
    assert cells(table(outcome, "third_and_length"), "of", third="all") == [(5,), (12,)]
    assert {one[0] for one in cells(table(outcome, "accuracy"), "accuracy")} == {1.0}
    # Four of the six that lie ahead have an answer, which it does not know, and says so.
    columns = ("right", "missed", "wrong", "of")
    assert cells(table(outcome, "abstention"), *columns, answer="not read yet") == [(4, 0, 0, 4)]
    assert cells(table(outcome, "abstention"), *columns, answer="all") == [(10, 0, 0, 23)]
    assert cells(table(outcome, "reading"), "right", "wrong", "abstained", paragraph="read") == [(13, 0, 0)]


@pytest.mark.slow
async def test_who_forgets_the_middle_fails_in_the_middle_of_what_was_read(valley: Valley) -> None:
    outcome = await valley.run("forgetful")
    by_place = table(outcome, "place_and_length")
    last = ALL_OF_IT
    found = {str(third): accuracy for third, accuracy in cells(by_place, "third read", "accuracy", tokens=last)}
    # Of the middle only the question without an answer is done right by: one of four.
    assert found == {"beginning": 1.0, "middle": 0.25, "end": 1.0}
    # It forgets 4 of the nine that it has seen first, and then 7, 9 and 10 of all.
    assert cells(table(outcome, "abstention"), "right", "missed", "wrong", answer="read") == [(0, 0, 4)]
    assert cells(table(outcome, "reading"), "wrong", paragraph="read") == [(0,)], "it abstains, and invents nothing"


@pytest.mark.slow
async def test_who_knows_the_start_alone_does_worse_the_more_is_read(valley: Valley) -> None:
    outcome = await valley.run("starter")
    last = ALL_OF_IT
    found = cells(table(outcome, "place_and_length"), "third read", "accuracy", tokens=last)
    assert found == [("beginning", 1.0), ("middle", 0.25), ("end", 0.25)]
    thirds = cells(table(outcome, "type_and_third"), "third", "accuracy", type="unanswerable")
    assert {accuracy for _, accuracy in thirds} == {1.0}


@pytest.mark.slow
async def test_who_invents_misses_every_abstention_and_is_wrong_in_what_was_not_read(valley: Valley) -> None:
    outcome = await valley.run("inventor")
    abstention = table(outcome, "abstention")
    assert cells(abstention, "right", "share right", answer="all") == [(0, 0.0)]
    assert cells(abstention, "missed", "of", answer="no answer in the document") == [(6, 6)], "3 questions at 2 steps"
    assert cells(table(outcome, "accuracy"), "accuracy", type="unanswerable") == [(0.0,)]
    assert cells(table(outcome, "accuracy"), "accuracy", type="abstractive") == [(1.0,)]
    ahead = cells(table(outcome, "reading"), "questions", "right", "wrong", "abstained", paragraph="not read yet")[0]
    # It says yes to whatever it has not read, and so is right about 10 and 16, who own their mills.
    assert ahead == (4, 2, 2, 0)


def kept_beginning(seen: Seen) -> str:
    """Whoever drafts keeps what is told of the first six millers, a third of the book, and nothing of any other."""
    if seen_on(seen).prompt in ("ask_typed", "answer_from_document", "answer_questions", "judge_answers"):
        return replied(seen)
    found = {int(number) for number in re.findall(r"the miller (\d+) grinds", text_of(seen.messages[0]))}
    return "\n\n".join(paragraph(number) for number in sorted(found) if number <= 6) or "Nothing is told."


@pytest.mark.nightly
async def test_what_a_summary_has_lost_is_not_answered_from_it(tmp_path: Path) -> None:
    with serving(kept_beginning) as server:
        lab = Valley(tmp_path, server.base_url)
        outcome = await lab.run("reader", strategies=("direct", "hierarchical"), words=500)
        asked_first = len(server.answered)
        again = await lab.run("reader", strategies=("direct", "hierarchical"), words=500)
        assert len(server.answered) == asked_first, "nothing is asked or drafted twice"
        part = await lab.run("reader", strategies=("direct",))
        assert len(server.answered) == asked_first, "what both have in common is asked once"
    assert outcome.complete
    assert [cell.model for cell in outcome.cells] == [
        f"openai:reader, {way}" for way in ("direct", "hierarchical") for _ in STEPS
    ]
    by_third = table(outcome, "third_and_length")

    def last(way: str) -> dict[object, object]:
        rows = cells(by_third, "third", "accuracy", model=f"openai:reader, {way}", tokens=ALL_OF_IT)
        return {third: accuracy for third, accuracy in rows if third != "all"}

    assert last("direct") == {"beginning": 1.0, "middle": 1.0, "end": 1.0}
    # Of the other thirds only the question without an answer is done right by: one of four.
    assert last("hierarchical") == {"beginning": 1.0, "middle": 0.25, "end": 0.25}
    assert {cell.model for cell in outcome.cells if cell.draft} == {"openai:reader, hierarchical"}
    drafting = cells(table(outcome, "cost"), "by", "calls", stage="drafting")
    assert [by for by, _ in drafting] == ["openai:reader, hierarchical"] * 2
    assert EXPERIMENT.report(again).items == EXPERIMENT.report(outcome).items
    assert {cell.model for cell in part.cells} == {"openai:reader"}


@pytest.mark.nightly
async def test_a_draft_that_fails_leaves_a_hole_and_the_other_way_stands(tmp_path: Path) -> None:
    def script(seen: Seen) -> str | Fault:
        drafts = seen_on(seen).prompt not in ("ask_typed", "answer_from_document", "answer_questions", "judge_answers")
        return Fault("status", status=400, message="No.") if drafts else replied(seen)

    with serving(script) as server:
        outcome = await Valley(tmp_path, server.base_url).run("reader", strategies=("direct", "hierarchical"))
    assert {(cell.model, cell.status) for cell in outcome.cells} == {
        ("openai:reader, direct", "done"), ("openai:reader, hierarchical", "failed"),
    }  # fmt: skip
    assert {stage for (stage,) in cells(table(outcome, "failures"), "stage")} == {"drafting"}


@pytest.mark.nightly
async def test_models_are_compared_pairwise_by_question(valley: Valley) -> None:
    outcome = await valley.run("reader", "forgetful")
    ((difference, low, high, questions),) = cells(
        table(outcome, "differences"), "difference", "95% from", "95% to", "questions", type="all"
    )
    # Forgotten are miller 4 at the first of two steps, 7 at the second of two, 9 and 10 at the one step that has read
    # them: (1/2 + 1/2 + 1 + 1) / 12.
    assert (difference, questions) == (0.25, 12)
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert 0 <= low < 0.25 < high <= 1
    pictures = draw_pictures("qa", EXPERIMENT.report(outcome).tables)
    assert set(pictures) == {
        "accuracy_by_third_and_length",
        "accuracy_by_length",
        "accuracy_by_place_and_length",
        "accuracy_by_type_and_third",
        "differences",
    }
    # The middle, at the last step, of the second model's panel.
    panels: Any = pictures["accuracy_by_place_and_length"]
    assert [panel.iloc[:, -1].tolist() for panel in panels.panels().values()] == [[1, 1, 1], [1, 0.25, 1]]


@pytest.mark.slow
async def test_who_is_silent_leaves_holes_and_what_is_not_judged_is_counted(tmp_path: Path) -> None:
    def partly(seen: Seen) -> str | Answer | Fault:
        sheet = seen_on(seen)
        said = over_wire(seen)
        if sheet.prompt == "answer_questions":
            said["answers"] = [one for one in said["answers"] if "Why" not in sheet.text]
        if sheet.prompt == "judge_answers":
            kept = [name for name, one in sheet.items("answers").items() if not one["question"].startswith("Who")]
            said["answers"] = [one for one in said["answers"] if one["id"] in kept]
        return json.dumps(said)

    with serving(partly) as server:
        outcome = await Valley(tmp_path, server.base_url).run("reader")
    found = table(outcome, "accuracy")
    columns = ("accuracy", "judged", "unjudged", "no answer")
    read = cells(found, "of", type="abstractive")[0][0]
    assert cells(found, *columns, type="abstractive") == [(None, 0, 0, read)]
    read = cells(found, "of", type="extractive")[0][0]
    assert cells(found, *columns, type="extractive") == [(None, 0, read, 0)]
    assert cells(found, "accuracy", "unjudged", type="binary") == [(1.0, 0)], "yes and no need no judge"
    assert "passed over" in {row[4] for row in table(outcome, "failures").rows}


@pytest.mark.slow
async def test_a_step_that_a_window_has_no_room_for_is_a_hole(valley: Valley) -> None:
    outcome = await valley.run(models=valley.seats("reader", window=1500))
    assert [cell.status for cell in outcome.cells] == ["done", "failed"]
    assert not outcome.complete
    assert [(row[2], row[4]) for row in table(outcome, "failures").rows] == [(ALL_OF_IT, "plan")]
    assert cells(table(outcome, "third_and_length"), "accuracy", "of", tokens=ALL_OF_IT, third="all") == [(None, 0)]


def work(folder: Path, url: str, answers: int) -> None:
    """What a process does that is killed as soon as so many answers are stored."""
    os.environ["OPENAI_API_KEY"] = KEY
    stored = count(1)

    def observe(event: Event) -> None:
        if isinstance(event, CallAnswered) and next(stored) == answers:
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(Valley(folder, url).run("reader", limits=Limits(concurrency=1), observer=observe))


@pytest.mark.nightly
def test_killed_while_it_asks_answers_and_judges_nothing_is_asked_twice(tmp_path: Path) -> None:
    """There are 15 calls for the questions, 24 for answers, and one for verdicts; each process counts its own."""
    with serving(replied) as server:
        for answers in (7, 20, 12):
            process = _PROCESSES.Process(target=work, args=(tmp_path, server.base_url, answers))
            process.start()
            process.join(150)
            assert process.exitcode == -signal.SIGKILL
        outcome = asyncio.run(Valley(tmp_path, server.base_url).run("reader"))
        assert outcome.complete
        assert set(Counter(map(asked, server.answered)).values()) == {1}
        total = len(server.answered)
        again = asyncio.run(Valley(tmp_path, server.base_url).run("reader"))
        assert len(server.answered) == total, "a finished experiment asks nothing"
        assert record_json(EXPERIMENT.report(again)) == record_json(EXPERIMENT.report(outcome))
        (tmp_path / "calm").mkdir()
        calm = asyncio.run(Valley(tmp_path / "calm", server.base_url).run("reader"))
    assert set(Counter(map(asked, server.answered)).values()) == {2}, "neither more nor less than without the deaths"
    for one, other in zip(EXPERIMENT.report(outcome).tables, EXPERIMENT.report(calm).tables, strict=True):
        assert one == other or one.name == "cost"


@pytest.mark.slow
async def test_one_budget_holds_over_all_repetitions(tmp_path: Path) -> None:
    with serving(replied) as server:
        valley = Valley(tmp_path, server.base_url)
        for limit in (4, 4, 9):
            stopped = await valley.run(limits=Limits(max_calls=limit))
            assert stopped.stopped is not None
            assert len(server.answered) == limit
