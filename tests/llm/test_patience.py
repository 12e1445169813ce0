"""Replies that do not come in time: twice is enough, and it is said what gives them more."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from redraft.agents.accounts import Attempt, Entries, account
from redraft.domain import Usage
from redraft.errors import LateReply, ModelError, TimedOut
from redraft.llm.base import FunctionModel, Request, ScriptedModel
from redraft.llm.rate_limiter import Limiter
from tests.chatserver import ChatServer, Fault
from tests.llm.support import RED, Desk, colour, story

LATE = TimedOut("the model did not answer within 300 s")
SAID = (
    "the model did not answer within 300 s, twice: a longer `Limits.timeout`, or a lower"
    " `Limits.concurrency`, gives it more time"
)


@pytest.mark.parametrize("request_", [colour(), story()], ids=["structured", "prose"])
async def test_the_second_time_out_of_a_request_is_its_last(desk: Desk, request_: Request[Any, Any]) -> None:
    with pytest.raises(ModelError, match=re.escape(SAID)) as caught:
        await desk.recorded(ScriptedModel([LATE, LATE])).ask(request_)
    assert len(desk.pauses) == 1
    assert desk.outcomes() == ["timed_out"] * 2
    # Less can be asked for than all items; a text is asked for whole.
    assert isinstance(caught.value, LateReply if request_.prompt.returns is not str else TimedOut)


async def test_one_time_out_may_pass(desk: Desk) -> None:
    assert (await desk.recorded(ScriptedModel([LATE, RED])).ask(colour())).value == RED


async def test_a_server_that_hangs_is_asked_twice(desk: Desk) -> None:
    with ChatServer(lambda _: Fault("hang")) as server:
        async with desk.at(server, seconds=0.2) as model:
            with pytest.raises(TimedOut, match="twice"):
                await model.ask(story())
    assert len(server.seen) == 2


async def test_a_text_waits_its_turn_as_long_as_others_are_answered(desk: Desk) -> None:
    late = iter([LATE, LATE, LATE])
    model = desk.recorded(FunctionModel(lambda request: next(late, "Once.") if request.label == "a rose" else "Twice."))

    async def others() -> None:
        for n in range(20):
            await model.ask(story(f"thing {n}"))

    reply, _ = await asyncio.gather(model.ask(story()), others())
    assert reply.value == "Once."


async def test_a_model_that_answers_nothing_in_time_ends_the_run(desk: Desk) -> None:
    model = desk.recorded(FunctionModel(lambda _: LATE))
    kinds: list[type[ModelError]] = []
    for n in range(5):
        with pytest.raises(ModelError) as caught:
            await model.ask(colour(f"thing {n}"))
        kinds.append(caught.type)
    assert kinds == [LateReply] * 4 + [TimedOut]


async def test_a_time_out_lowers_how_many_are_asked_at_once(desk: Desk) -> None:
    limiter = Limiter(16)
    model = desk.recorded(FunctionModel(lambda _: LATE), limiter=limiter)
    await asyncio.gather(*(model.ask(story(f"thing {n}")) for n in range(16)), return_exceptions=True)
    assert limiter.allowed < 12


def test_items_are_asked_about_in_halves_without_more_room() -> None:
    asked: list[tuple[list[int], int]] = []

    async def ask(numbers: list[int], attempt: Attempt) -> Entries[str]:
        asked.append((list(numbers), attempt.times))
        if len(numbers) > 1 or numbers == [3]:
            raise LateReply(SAID, text="", usage=Usage())
        return Entries([(numbers[0], "yes")])

    found = asyncio.run(account([[0, 1, 2, 3]], ask))  # type: ignore[arg-type]
    assert found.verdicts == {0: "yes", 1: "yes", 2: "yes"}
    assert found.trouble == SAID
    assert {times for _, times in asked} == {1}
    assert len(asked) == 7
