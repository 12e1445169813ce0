"""What the pen does with a reply that is of no use: it asks again as it did, or says what was wrong."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from redraft.agents.pen import MAX_TRIES, Pen, Written
from redraft.domain import Usage
from redraft.errors import EmptyReply
from redraft.models.base import Reply, Request
from redraft.models.testing import ScriptedModel
from redraft.prompts.contract import Given_, Value_
from redraft.prompts.drafting import SUMMARIZE_CHUNK, ChunkGiven
from tests.support import prose

EMPTY = EmptyReply("the reply is empty", text="", usage=Usage())
NO_ROOM = EmptyReply("the reply is empty", text="", usage=Usage(), finish_reason="length")
CUT = "A reply that breaks"


class Model(ScriptedModel):
    """Says its lines; a text without an end was cut off for want of room."""

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        reply = await super().ask(request)
        return reply if reply.text.endswith(".") else replace(reply, finish_reason="length")


def written(model: Model, words: int = 50, most: int = 0, **named: Any) -> Written:
    pen = Pen(model, tokens_per_word=2.0, **named)
    return asyncio.run(
        pen.within(SUMMARIZE_CHUNK, lambda limit: ChunkGiven(excerpt="It is so.", words=limit), words, "chunk", most)
    )


def told(model: Model) -> list[str]:
    return [request.complaint.reason if request.complaint else "" for request in model.asked]


def test_an_empty_reply_is_asked_for_as_it_was_before_it_is_complained_of() -> None:
    model = Model([EMPTY, EMPTY, prose(40)])

    assert written(model) == Written(prose(40), 40, 3)
    first, second, third = model.asked
    assert (first.given, first.sampling, first.complaint) == (second.given, second.sampling, second.complaint)
    assert third.given == first.given
    assert told(model) == ["", "", "it is empty"]


@pytest.mark.parametrize("cut", [CUT, NO_ROOM])
def test_a_reply_that_breaks_off_has_twice_the_room_and_then_is_complained_of(cut: Any) -> None:
    model = Model([cut, cut, prose(40)])

    assert written(model).text == prose(40)
    assert [request.sampling.max_tokens for request in model.asked] == [101, 202, 202]
    assert len({request.given for request in model.asked}) == 1
    assert [bool(one) for one in told(model)] == [False, False, True]


def test_a_reply_that_breaks_off_is_a_further_draw_where_the_window_has_no_more_room() -> None:
    model = Model([CUT, prose(40)])

    assert not written(model, spare=lambda prompt, given: 110).flaw
    assert [request.sampling.max_tokens for request in model.asked] == [101, 110]
    model = Model([CUT, prose(40)])
    assert not written(model, spare=lambda prompt, given: 101).flaw
    assert [(one.sampling.max_tokens, one.sampling.sample) for one in model.asked] == [(101, 0), (101, 1)]


def test_a_reply_that_breaks_off_at_the_end_of_a_sentence_is_none_either() -> None:
    class Cut(ScriptedModel):
        async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
            reply = await super().ask(request)
            return replace(reply, finish_reason="length" if len(self.asked) == 1 else "stop")

    model = Cut([prose(20), prose(40)])
    assert asyncio.run(
        Pen(model, 2.0).within(SUMMARIZE_CHUNK, lambda words: ChunkGiven(excerpt=".", words=words), 50, "")
    ) == Written(prose(40), 40, 2)


def test_a_reply_that_is_too_long_is_told_by_how_many_words() -> None:
    model = Model([prose(53), prose(48)])

    assert not written(model).flaw
    assert [request.given.words for request in model.asked] == [50, 45]
    assert told(model) == ["", "it has 53 words, 8 too many; keep to 45 words"]
    assert model.asked[1].complaint.reply == prose(53)


def test_a_reply_whose_last_sentence_has_no_end_is_told_so() -> None:
    model = ScriptedModel([prose(40).rstrip("."), prose(40)])
    text = asyncio.run(
        Pen(model, 2.0).within(SUMMARIZE_CHUNK, lambda words: ChunkGiven(excerpt=".", words=words), 50, "")
    )

    assert not text.flaw
    assert model.asked[1].complaint.reason == "its last sentence has no end; keep to 45 words"


def test_a_reply_that_the_window_has_no_room_for_is_complained_of_without_it() -> None:
    model = Model([prose(53), prose(40)])
    written(model, spare=lambda prompt, given: 250)

    assert model.asked[1].complaint.reply == ""
    assert "53 words" in told(model)[1]


def test_a_text_on_the_way_may_be_a_little_over_its_limit() -> None:
    assert written(Model([prose(52)]), most=52) == Written(prose(52), 52, 1)
    assert written(Model([prose(53), prose(40)]), most=52).words == 40


def test_replies_that_never_come_are_asked_for_a_few_times() -> None:
    model = Model([EMPTY] * (MAX_TRIES + 1))

    assert written(model) == Written("", 0, MAX_TRIES + 1, "empty")
