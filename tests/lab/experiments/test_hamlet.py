"""The experiment from end to end: what it comes to, that it goes on, that nothing kills it, and what it may cost."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redraft import JudgeConfig, Limits, Store
from redraft.errors import PlanError, UsageError
from redraft.events import CallAnswered, Event
from redraft.lab.experiments.experiment import Outcome
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault
from tests.judges import KEY, keepers_in, read_sheet
from tests.lab.experiments.made import rows
from tests.lab.experiments.world import ALL_KNOWING, HALF_KNOWING, Lab, answer, asked_about, files, sent, serving

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__, "redraft.llm.providers"])
# Of the tables all but what depends on who was first to ask what both models ask.
MEASURES = ("summaries.csv", "recall.csv", "gaps.csv", "faithfulness.csv", "errors.csv", "length.csv", "sizes.csv")


def statuses(outcome: Outcome[Any, Any]) -> Counter[str]:
    return Counter(item.status for item in outcome.items)


@pytest.mark.slow
async def test_every_model_answers_every_query(tmp_path: Path, server: ChatServer) -> None:
    outcome = await Lab(tmp_path, server.base_url).run(queries=None)
    assert outcome.complete
    (subject,) = outcome.cells
    assert subject.keyfacts is not None
    answered = {(item.tree.query, item.model) for item in outcome.items}
    assert answered == {(tree.query, model) for tree in subject.keyfacts.trees for model in (ALL_KNOWING, HALF_KNOWING)}
    assert len(outcome.items) == len(answered) == 8
    facts = {tree.query: [fact.text for fact in tree.kept] for tree in subject.keyfacts.trees}
    for item in outcome.items:
        numbers = asked_about(f"are the keepers {item.tree.query.split('keepers ')[1]}")
        assert item.recall
        assert item.faithfulness
        assert item.recall.levels["all"][1] == len(facts[item.tree.query]), "its own tree and no other"
        if item.model == ALL_KNOWING:
            assert (item.recall.score, item.faithfulness.score) == (1.0, 1.0)
        else:
            rightly = numbers[2::2]
            stated = [fact for fact in facts[item.tree.query] if set(keepers_in(fact)) <= set(rightly)]
            assert item.recall.levels["all"][0] == len(stated)
            assert item.faithfulness.levels["all"] == (len(rightly), len(rightly) + 1)
            assert item.faithfulness.levels["none"] == (0, 1), "the wrong one carries no key fact"
            assert item.faithfulness.errors == {"entity": 1}
        assert item.words == 7 * item.faithfulness.levels["all"][1]


def work(folder: Path, url: str, answers: int) -> None:
    """What a process does that is killed as soon as so many answers are stored."""
    os.environ["OPENAI_API_KEY"] = KEY
    stored = 0

    def observe(event: Event) -> None:
        nonlocal stored
        stored += isinstance(event, CallAnswered)
        if stored == answers:
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(Lab(folder, url).run(Limits(concurrency=1), observer=observe))


@pytest.mark.slow
@pytest.mark.parametrize(
    "deaths",
    [(45, 8, 1), pytest.param((4,), marks=pytest.mark.nightly), pytest.param((35,), marks=pytest.mark.nightly)],
)
def test_nothing_is_paid_twice_after_kill_9(tmp_path: Path, server: ChatServer, deaths: tuple[int, ...]) -> None:
    for answers in deaths:
        process = _PROCESSES.Process(target=work, args=(tmp_path, server.base_url, answers))
        process.start()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
    outcome = asyncio.run(Lab(tmp_path, server.base_url).run(Limits(concurrency=1)))
    assert outcome.complete
    assert max(sent(server).values()) == 1
    (tmp_path / "undisturbed").mkdir()
    calm = asyncio.run(Lab(tmp_path / "undisturbed", server.base_url).run(Limits(concurrency=1)))
    assert {name: files(outcome)[name] for name in MEASURES} == {name: files(calm)[name] for name in MEASURES}
    assert set(sent(server).values()) == {2}, "neither more nor less was asked than without the deaths"


class Broken:
    """Replies as ever, but for what a rule says of it as long as it is broken."""

    def __init__(self, prompt: str, model: str = "judge", reply: str | Fault = "I would rather not.") -> None:
        self.prompt, self.model, self.reply, self.broken = prompt, model, reply, True

    def __call__(self, request: ChatRequest) -> str | Answer | Fault:
        """The reply, or what is there instead of one."""
        if self.broken and request.model == self.model and read_sheet(request).prompt == self.prompt:
            return self.reply
        return answer(request)


@pytest.mark.slow
async def test_empty_answers_have_recall_0(tmp_path: Path) -> None:
    with serving(Broken("revise", "half", "NOTHING")) as server:
        lab = Lab(tmp_path, server.base_url)
        outcome = await lab.run()
        assert outcome.complete
        for item in (item for item in outcome.items if item.model == HALF_KNOWING):
            assert item.nothing
            assert item.recall
            assert (item.recall.score, item.recall.levels["all"][0]) == (0, 0)
            assert item.recall.levels["all"][1] > 0
            assert item.faithfulness
            assert (item.faithfulness.score, item.faithfulness.levels) == (None, {})
        written = files(outcome)
        table = next(table for table in outcome.report().tables if table.name == "summaries")
        assert rows(
            table, "recall", "faithfulness", "for recall", "for faithfulness", "nothing", model=HALF_KNOWING
        ) == [(0, None, 2, 0, 2)]
        assert "answers of NOTHING: 2" in written["report.md"]
        request_count = len(server.seen)
        assert files(await lab.run()) == written
        assert len(server.seen) == request_count


@pytest.mark.nightly
async def test_the_budget_holds_for_all_items_together(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    outcome = await lab.run(Limits(max_calls=40))
    assert outcome.stopped is not None
    assert len(server.seen) == 40
    assert statuses(outcome)["not made"] > 0
    assert statuses(outcome)["failed"] == 0, "what the budget did not reach has not failed"
    written = files(outcome)
    assert "the limit of 40 calls is used up" in written["report.md"]
    # A repetition counts what was used before.
    repeated = await lab.run(Limits(max_calls=40))
    assert repeated.stopped is not None
    assert statuses(repeated) == statuses(outcome), "what is done is there, whatever else is stopped"
    assert len(server.seen) == 40
    assert (await lab.run(Limits(max_calls=42))).stopped is not None
    assert len(server.seen) == 42
    assert (await lab.run()).complete
    assert max(sent(server).values()) == 1


@pytest.mark.nightly
async def test_imported_key_facts_are_not_rebuilt(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    first = await lab.run(queries=1)
    keyfacts = first.cells[0].keyfacts
    assert keyfacts is not None
    with Store(tmp_path / "redraft.db") as store:
        store.keyfacts.prefer(keyfacts.id)
    request_count = len(server.seen)
    # Another judge would have built other ones.
    outcome = await lab.run(queries=1, judges=lab.seats("openai:other"))
    assert outcome.complete
    assert {read_sheet(request).prompt for request in server.seen[request_count:]} <= {
        "align_facts",
        "verify_sentences",
    }


async def test_bad_designs_are_refused_before_payment(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    with pytest.raises(UsageError, match="there is no model 'nobody'"):
        await lab.run(judging=JudgeConfig(validator="nobody"))
    with pytest.raises(PlanError, match="more than the window"):
        await lab.run(writers=lab.seats(ALL_KNOWING, window=1500))
    assert server.seen == []
