"""What goes from one worker to another arrives as it was; and what waits on a board is made once, here or elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from redraft import errors
from redraft.domain import Usage
from redraft.errors import CutThought, ModelError, ReplyError, UnreadableReply
from redraft.models.base import Complaint, Request, Sampling
from redraft.models.limiter import Limiter
from redraft.models.spread.board import FIRST, Board
from redraft.models.spread.wire import failure_in, read, told, written
from redraft.prompts.catalog import PROMPTS
from redraft.prompts.contract import GivenModel, Prompt
from redraft.prompts.judging import ASK_SUMMARY, AskSummaryGiven, Told
from redraft.store.store import Store
from tests.prompts.samples import EVERY, GIVEN
from tests.store.support import document, run


@EVERY
def test_every_request_arrives_as_it_was(name: str) -> None:
    request: Request[Any, Any] = Request(PROMPTS[name], GIVEN[name], Sampling(0.1, 70, 3, 0.9), "chunk 1/2")
    text = written(request)
    assert text is not None
    assert read(text) == request


def test_so_does_what_no_prompt_shows() -> None:
    sentences = [Told(id=1, sentence="Hester came.", quoted=True), "It was dark\u2028\U0001f600."]
    given = AskSummaryGiven(sentences=sentences, at_most=3)
    text = written(Request(ASK_SUMMARY, given))
    assert text is not None
    assert text.isascii()
    back = read(text).given
    assert back == given
    assert back.sentences[0].quoted


class _Odd(GivenModel):
    """What cannot be read back from what it has become."""

    thing: Any


def test_what_would_not_arrive_so_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    odd: Prompt[_Odd, str] = Prompt("odd", _Odd, str, "says something", template="{{ thing }}")
    request = Request(odd, _Odd(thing=(1, 2)))
    assert written(request) is None, "nobody else knows the prompt"
    monkeypatch.setitem(PROMPTS, "odd", odd)
    assert written(replace(request, given=_Odd(thing=[1]))) is not None
    assert written(request) is None
    known: Request[BaseModel, str] = Request(PROMPTS["merge"], GIVEN["merge"])
    assert written(known) is not None
    assert written(replace(known, complaint=Complaint("No.", "it is no merge"))) is None


_KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)]


@pytest.mark.parametrize("kind", _KINDS)
def test_a_failure_arrives_as_it_was(kind: type[ModelError]) -> None:
    more: dict[str, Any] = {"text": "Half a", "usage": Usage(3, 4)} if issubclass(kind, ReplyError) else {}
    failure = kind("it went wrong", place="chunk 1", **more)
    failure.hint = "try another"
    back = failure_in(told(failure))
    assert type(back) is kind
    assert vars(back) | {"__notes__": None} == vars(failure) | {"__notes__": None}
    assert str(back) == str(failure)


def test_what_is_said_of_a_failure_is_said_of_it_elsewhere() -> None:
    failure = UnreadableReply("no list", text="No.", usage=Usage(1, 2), finish_reason="length")
    failure.nameless, failure.loops = True, True
    back = failure_in(told(failure))
    assert isinstance(back, UnreadableReply)
    assert (back.nameless, back.loops, back.cut, back.moved) == (True, True, True, False)
    thought = failure_in(told(CutThought("no reply", text="", usage=Usage(), retryable=True)))
    assert thought.retryable


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "redraft.db") as made:
        made.documents.add(document())
        made.runs.add(run("r"))
        yield made


def _put_out(store: Store) -> list[str]:
    return [row["key"] for row in store.connection.rows("SELECT key FROM errands ORDER BY key")]


async def _until(count: int, store: Store) -> None:
    async with asyncio.timeout(20):
        while len(_put_out(store)) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_what_others_have_no_room_for_waits_its_turn_and_is_told_to_nobody(store: Store) -> None:
    board, limiter, order = Board(store.errands, "b", "ann"), Limiter(2), list[int]()

    async def call(number: int) -> None:
        assert not await board.is_made_elsewhere(("r", f"k{number}"), limiter, lambda: "{}")
        order.append(number)
        await asyncio.sleep(0.15)
        assert _put_out(store) == []
        board.made_here(limiter)

    await asyncio.gather(*(call(number) for number in range(7)))
    assert order == [*range(7)]


async def test_a_call_is_made_by_whoever_is_first(store: Store) -> None:
    board, limiter = Board(store.errands, "b", "ann"), Limiter(1)
    board.others_have(2)
    assert board.most == 3
    asked = [asyncio.create_task(_asked(board, limiter, f"k{number}")) for number in range(6)]
    await _until(3, store)
    assert _put_out(store) == ["k1", "k2", "k3"], "one is made here, and two wait behind"
    (one, other) = store.errands.take("b", "bob", 2, 60.0)
    store.errands.settle(one, "bob", "made")
    failure = told(UnreadableReply("no list", text="No.", usage=Usage()))
    store.errands.settle(other, "bob", "failed", failure)
    assert await asked[1]
    with pytest.raises(UnreadableReply, match="no list"):
        await asked[2]
    board.made_here(limiter)
    assert not await asked[3], "it was called back"
    for number in (4, 5):
        board.made_here(limiter)
        assert not await asked[number]
    await _until(0, store)


async def test_what_much_waits_for_is_put_out_and_made_first(store: Store) -> None:
    board, limiter = Board(store.errands, "b", "ann"), Limiter(1)
    board.others_have(1)
    assert not await _asked(board, limiter, "k0")
    asked = [asyncio.create_task(_asked(board, limiter, f"k{number}")) for number in range(1, 5)]
    await asyncio.sleep(0)
    FIRST.set(True)
    merge = asyncio.create_task(_asked(board, limiter, "merge"))
    await _until(2, store)
    assert _put_out(store) == ["k1", "merge"]
    board.made_here(limiter)
    assert not await merge
    assert not any(one.done() for one in asked)
    for one in asked:
        one.cancel()


async def test_what_comes_back_is_put_out_no_more(store: Store) -> None:
    board, limiter = Board(store.errands, "b", "ann"), Limiter(1)
    board.others_have(4)
    asked = [asyncio.create_task(_asked(board, limiter, f"k{number}")) for number in range(2)]
    await _until(1, store)
    (one,) = store.errands.take("b", "bob", 2, 60.0)
    store.errands.settle(one, "bob", "back")
    await _until(0, store)
    await asyncio.sleep(0.5)
    assert _put_out(store) == []
    board.made_here(limiter)
    assert not await asked[1]


async def test_whoever_is_cancelled_leaves_neither_a_row_nor_a_place_behind(store: Store) -> None:
    board, limiter = Board(store.errands, "b", "ann"), Limiter(1)
    board.others_have(4)
    asked = [asyncio.create_task(_asked(board, limiter, f"k{number}")) for number in range(4)]
    await _until(3, store)
    asked[2].cancel()
    await _until(2, store)
    for one in asked[1:]:
        one.cancel()
    await _until(0, store)
    board.made_here(limiter)
    assert not await _asked(board, limiter, "k9")


async def test_what_others_have_had_since_before_is_waited_for(store: Store) -> None:
    store.errands.put_out("b", "gone", [])
    before = Board(store.errands, "b", "gone")
    before.others_have(4)
    limiter = Limiter(1)
    asked = [asyncio.create_task(_asked(before, limiter, f"k{number}")) for number in range(3)]
    await _until(2, store)
    (one, _) = store.errands.take("b", "bob", 1, 60.0), asked
    board = Board(store.errands, "b", "ann")
    async with board.of("r"):
        assert _put_out(store) == ["k1"]
        again = asyncio.create_task(_asked(board, Limiter(4), "k1"))
        assert not await _asked(board, Limiter(4), "k2"), "nobody had that in hand"
        store.errands.settle(one[0], "bob", "made")
        assert await again
    assert _put_out(store) == []
    for task in asked:
        task.cancel()


async def test_whoever_waits_hears_that_the_database_is_gone(store: Store) -> None:
    board, limiter = Board(store.errands, "b", "ann"), Limiter(1)
    board.others_have(1)
    assert not await _asked(board, limiter, "k0")
    waiting = asyncio.create_task(_asked(board, limiter, "k1"))
    await _until(1, store)
    store.close()
    with pytest.raises(errors.StoreError):
        await asyncio.wait_for(waiting, 20)


async def _asked(board: Board, limiter: Limiter, key: str) -> bool:
    return await board.is_made_elsewhere(("r", key), limiter, lambda: "{}")
