"""Questions with a growing context: models of known characters show in the tables as just that; what was paid stays."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits
from redraft.events import Observer, ignore_event
from redraft.lab.experiments.experiment import Outcome
from redraft.lab.experiments.orders import NamedModel
from redraft.lab.experiments.qa import QaDesign
from redraft.report.tables import Table
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, text_of
from tests.judges import read_sheet
from tests.lab.experiments.made import rows
from tests.lab.experiments.world import run_in, serving
from tests.valley import book, over_wire, paragraph

MILLERS = 18
# As tokens are counted here the first step ends within the paragraph of miller 9, and the last has read all 1,600.
STEPS = (780, 5000)
ALL_OF_IT = 1600
# Asked about: 1 (why), 3 (who), 4 (yes or no), 6 (no answer); 7, 9, 10, 12; and 13, 15, 16, 18, in the same order. So
# at the first step five are read, one is cut through, and six lie ahead, four of which have an answer.


def replied(request: ChatRequest) -> str:
    return json.dumps(over_wire(request))


class Valley:
    """A store in a directory, and the experiment on the book of millers, by models behind a server."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.document = folder, book(MILLERS)
        self.url = url
        self.design = QaDesign(writers=self.seats("reader", "forgetful"), judges=self.seats("judge"), steps=STEPS)

    def seats(self, *models: str, window: int = 8000) -> tuple[NamedModel, ...]:
        names = [f"openai:{model}" for model in models]
        return tuple(
            NamedModel(name, DraftConfig(model=name, base_url=self.url, context_tokens=window)) for name in names
        )

    async def run(
        self, *models: str, limits: Limits | None = None, observer: Observer = ignore_event, **changes: Any
    ) -> Outcome[Any, Any]:
        """The experiment, from where it is."""
        seats = {"writers": self.seats(*models)} if models else {}
        design = self.design.model_copy(update={**seats, **changes})
        outcome: Outcome[Any, Any] = await run_in(self.folder, [self.document], design, limits, None, observer)
        return outcome


def table(outcome: Outcome[Any, Any], name: str) -> Table:
    return next(table for table in outcome.report().tables if table.name == name)


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with serving(replied) as actual:
        yield actual


@pytest.fixture
def valley(tmp_path: Path, server: ChatServer) -> Valley:
    return Valley(tmp_path, server.base_url)


@pytest.mark.slow
async def test_who_reads_all_does_right_by_all(valley: Valley) -> None:
    outcome = await valley.run("reader")
    assert outcome.complete
    assert Counter((item.tokens, item.place) for item in outcome.items) == {
        (780, "read"): 5, (780, "cut"): 1, (780, "ahead"): 6, (ALL_OF_IT, "read"): 12,
    }  # fmt: skip
    assert rows(table(outcome, "third_and_length"), "of", third="all") == [(5,), (12,)]
    assert {cell[0] for cell in rows(table(outcome, "accuracy"), "accuracy")} == {1.0}
    # Four of the six that lie ahead have an answer, which it does not know, and says so.
    columns = ("right", "missed", "wrong", "of")
    assert rows(table(outcome, "abstention"), *columns, answer="not read yet") == [(4, 0, 0, 4)]
    assert rows(table(outcome, "abstention"), *columns, answer="all") == [(10, 0, 0, 23)]


def kept_beginning(request: ChatRequest) -> str:
    """Whoever drafts keeps what is told of the first six millers, a third of the book, and nothing of any other."""
    if read_sheet(request).prompt in ("ask_typed", "answer_from_document", "answer_questions", "judge_answers"):
        return replied(request)
    actual = {int(number) for number in re.findall(r"the miller (\d+) grinds", text_of(request.messages[0]))}
    return "\n\n".join(paragraph(number) for number in sorted(actual) if number <= 6) or "Nothing is told."


@pytest.mark.nightly
async def test_facts_lost_in_summaries_stay_unanswered(tmp_path: Path) -> None:
    with serving(kept_beginning) as server:
        lab = Valley(tmp_path, server.base_url)
        outcome = await lab.run("reader", strategies=("direct", "hierarchical"), words=500)
        asked_first = len(server.answered)
        repeated = await lab.run("reader", strategies=("direct", "hierarchical"), words=500)
        assert len(server.answered) == asked_first, "nothing is asked or drafted twice"
        part = await lab.run("reader", strategies=("direct",))
        assert len(server.answered) == asked_first, "what both have in common is asked once"
    assert outcome.complete
    assert list(dict.fromkeys(item.model for item in outcome.items)) == [
        f"openai:reader, {way}" for way in ("direct", "hierarchical")
    ]
    by_third = table(outcome, "third_and_length")

    def last(way: str) -> dict[object, object]:
        cells = rows(by_third, "third", "accuracy", model=f"openai:reader, {way}", tokens=ALL_OF_IT)
        return {third: accuracy for third, accuracy in cells if third != "all"}

    assert last("direct") == {"beginning": 1.0, "middle": 1.0, "end": 1.0}
    # Of the other thirds only the question without an answer is done right by: one of four.
    assert last("hierarchical") == {"beginning": 1.0, "middle": 0.25, "end": 0.25}
    assert {item.model for item in outcome.items if "drafting" in item.runs} == {"openai:reader, hierarchical"}
    drafting = rows(table(outcome, "cost"), "by", "calls", step="drafting")
    assert [by for by, _ in drafting] == ["openai:reader, hierarchical"]
    assert repeated.report().items == outcome.report().items
    assert {item.model for item in part.items} == {"openai:reader"}


@pytest.mark.slow
async def test_silent_models_leave_holes_and_unjudged_counts(tmp_path: Path) -> None:
    def partly(request: ChatRequest) -> str | Answer | Fault:
        sheet = read_sheet(request)
        reply = over_wire(request)
        if sheet.prompt == "answer_questions":
            reply["answers"] = [answer for answer in reply["answers"] if "Why" not in sheet.text]
        if sheet.prompt == "judge_answers":
            judged_names = [
                name for name, answer in sheet.items("answers").items() if not answer["question"].startswith("Who")
            ]
            reply["answers"] = [answer for answer in reply["answers"] if answer["id"] in judged_names]
        return json.dumps(reply)

    with serving(partly) as server:
        outcome = await Valley(tmp_path, server.base_url).run("reader")
    actual = table(outcome, "accuracy")
    columns = ("accuracy", "judged", "unjudged", "no answer")
    read = rows(actual, "of", type="abstractive")[0][0]
    assert rows(actual, *columns, type="abstractive") == [(None, 0, 0, read)]
    read = rows(actual, "of", type="extractive")[0][0]
    assert rows(actual, *columns, type="extractive") == [(None, 0, read, 0)]
    assert rows(actual, "accuracy", "unjudged", type="binary") == [(1.0, 0)], "yes and no need no judge"
    assert "passed over" in {row[3] for row in table(outcome, "failures").rows}


@pytest.mark.slow
async def test_steps_beyond_the_window_are_holes(valley: Valley) -> None:
    outcome = await valley.run(writers=valley.seats("reader", window=1500))
    assert {item.tokens: item.status for item in outcome.items} == {780: "done", ALL_OF_IT: "failed"}
    assert not outcome.complete
    assert [row[1:4:2] for row in table(outcome, "failures").rows] == [("openai:reader, 1,600 tokens", "plan")]
    assert rows(table(outcome, "third_and_length"), "accuracy", "of", tokens=ALL_OF_IT, third="all") == [(None, 0)]
