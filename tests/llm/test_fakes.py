"""The models for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.errors import RedraftError, TransientError
from redraft.llm.base import FunctionModel, ScriptedModel, ScriptError
from tests.llm.support import RED, Desk, colour, story


async def test_a_script_is_followed_line_by_line() -> None:
    model = ScriptedModel(["one", RED, TransientError("later")])
    assert (await model.ask(story())).value == "one"
    reply = await model.ask(colour())
    assert (reply.value, reply.text) == (RED, RED.model_dump_json())
    with pytest.raises(TransientError, match="later"):
        await model.ask(story())


async def test_an_exhausted_script_fails_the_test_and_not_the_run(desk: Desk) -> None:
    model = desk.recorded(ScriptedModel(["one"]))
    await model.ask(story())
    with pytest.raises(ScriptError, match=r"exhausted.*test_story.*a lily") as caught:
        await model.ask(story("a lily"))
    assert not isinstance(caught.value, RedraftError)


@pytest.mark.parametrize("line", [RED, Path("x")])
async def test_a_reply_of_the_wrong_type_fails(line: object) -> None:
    with pytest.raises(ScriptError, match="wrong type"):
        await ScriptedModel([line]).ask(story())  # type: ignore[list-item]
    for other in ("text", colour().given):
        with pytest.raises(ScriptError, match="wrong type"):
            await ScriptedModel([other]).ask(colour())


async def test_a_function_sees_the_request_and_all_are_noted() -> None:
    model = FunctionModel(lambda request: f"About {request.given.thing}.", identity="mine")
    first, second = story(), story("a lily")
    assert (await model.ask(first)).value == "About a rose."
    assert (await model.ask(second)).value == "About a lily."
    assert model.asked == [first, second]
    assert (model.identity, model.most_tokens(first.sampling)) == ("mine", 50)
