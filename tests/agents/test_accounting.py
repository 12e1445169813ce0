"""Whatever a judge replies, a verdict belongs to the item it names, and what has none is known to have none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all
from redraft.domain import Usage
from redraft.errors import (
    BudgetError,
    RefusedReply,
    RejectedRequest,
    ReplyError,
    TransientError,
    TruncatedReasoning,
    TruncatedReply,
    UnreadableReply,
)

Said = list[tuple[int, str | None]]
ENTRIES = st.lists(st.tuples(st.integers(-3, 12), st.sampled_from(["yes", "no", None])), max_size=20)


class Judge:
    """Gives replies, one an ask, and keeps what it was asked."""

    def __init__(self, *replies: Said | Entries[str] | Exception, repaired: bool = False) -> None:
        self._replies = list(replies)
        self._repaired = repaired
        self.asked: list[tuple[list[int], bool]] = []
        self.rooms: list[int] = []
        self.loosely: list[bool] = []

    async def __call__(self, numbers: Sequence[int], attempt: Attempt) -> Entries[str]:
        self.asked.append((list(numbers), attempt.again))
        self.rooms.append(attempt.times * len(numbers))
        self.loosely.append(attempt.loosely)
        reply = self._replies.pop(0)
        if isinstance(reply, Entries):
            return reply
        if isinstance(reply, Exception):
            raise reply
        return Entries(reply, self._repaired)


def settle(judge: Judge, *batches: Sequence[int]) -> ItemResults[str]:
    return asyncio.run(ask_all(batches, judge))


def too_long() -> ReplyError:
    return TruncatedReply("cut off", text="{", usage=Usage())


def looping() -> ReplyError:
    error = too_long()
    error.loops = True
    return error


def begun(*said: tuple[int, str | None]) -> Entries[str]:
    return Entries(said, broken_off=True)


def agreed(entries: Said, item: int) -> str | None:
    """The one thing that a reply says of an item, None where it says nothing or two things."""
    said = {verdict for number, verdict in entries if number == item and verdict is not None}
    return said.pop() if len(said) == 1 else None


@pytest.mark.slow
@given(first=ENTRIES, second=ENTRIES, items=st.sets(st.integers(0, 9), min_size=1).map(sorted))
def test_verdicts_never_move_to_another_item(first: Said, second: Said, items: list[int]) -> None:
    judge = Judge(first, second, [])
    results = settle(judge, items)

    verdicts: dict[int, str] = {}
    asked: list[tuple[list[int], bool]] = []
    missing = items
    for reply in (first, second, []):
        asked.append((missing, bool(asked)))
        said = {item: verdict for item in missing if (verdict := agreed(reply, item)) is not None}
        verdicts, missing = verdicts | said, [item for item in missing if item not in said]
        if not missing or (len(asked) > 1 and not said):
            break
    assert (results.verdicts, judge.asked) == (verdicts, asked)
    assert results.open(items) == missing
    assert bool(results.trouble) is bool(missing)


def test_single_verdict_replies_are_asked_until_complete() -> None:
    judge = Judge([(1, "yes")], [(0, "no")], [(3, "yes")], [(2, "no")])
    assert settle(judge, [0, 1, 2, 3]).verdicts == {0: "no", 1: "yes", 2: "no", 3: "yes"}
    assert judge.asked == [([0, 1, 2, 3], False), ([0, 2, 3], True), ([2, 3], True), ([2], True)]


def test_skipped_twice_is_left_open() -> None:
    judge = Judge([(1, "yes")], [(1, "yes")])
    assert settle(judge, [0, 1]).open([0, 1]) == [0]
    assert len(judge.asked) == 2


def test_repaired_reply_is_not_repeated() -> None:
    judge = Judge([(0, "yes")], repaired=True)
    results = settle(judge, [0, 1])

    assert (results.verdicts, results.open([0, 1])) == ({0: "yes"}, [1])
    assert "skipped 1 of the items" in results.trouble
    assert len(judge.asked) == 1


def test_entries_that_name_no_item_are_counted() -> None:
    results = settle(Judge([(0, "yes"), (7, "yes"), (-1, "no")], [(9, "yes")]), [0, 1])

    assert results.verdicts == {0: "yes"}
    assert results.trouble == "the judge skipped 1 of the items, twice; 3 of its entries named no existing item"


@pytest.mark.parametrize(
    "failure",
    [RefusedReply("would not", text="no", usage=Usage()), UnreadableReply("would not", text="no", usage=Usage())],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("at_first", [True, False])
def test_useless_reply_leaves_items_open(failure: Exception, at_first: bool) -> None:
    judge = Judge(failure) if at_first else Judge([(0, "yes")], failure)
    results = settle(judge, [0, 1])

    assert results.verdicts == ({} if at_first else {0: "yes"})
    assert results.trouble == "would not"


@pytest.mark.parametrize("failure", [TransientError("down"), BudgetError("used up")])
def test_what_the_judge_cannot_help_ends_it(failure: Exception) -> None:
    with pytest.raises(type(failure)):
        settle(Judge(failure), [0, 1])


def test_reply_without_room_is_asked_in_halves() -> None:
    judge = Judge(too_long(), [(0, "yes"), (1, "no")], too_long(), [(2, "yes")], [(3, "no")])
    results = settle(judge, [0, 1, 2, 3])

    assert [numbers for numbers, _ in judge.asked] == [[0, 1, 2, 3], [0, 1], [2, 3], [2], [3]]
    # Each half has as much room as the whole had.
    assert judge.rooms == [4] * 5
    assert results == ItemResults({0: "yes", 1: "no", 2: "yes", 3: "no"})


def test_cut_reply_leaves_the_rest_to_ask() -> None:
    judge = Judge(begun((0, "yes")), [(1, "no"), (2, "no")], begun((3, "yes")), [(4, "yes")])
    results = settle(judge, [0, 1, 2, 3, 4])

    assert [numbers for numbers, _ in judge.asked] == [[0, 1, 2, 3, 4], [1, 2], [3, 4], [4]]
    assert judge.rooms == [5, 4, 4, 4], "each with twice the room of the one before"
    assert results == ItemResults({0: "yes", 1: "no", 2: "no", 3: "yes", 4: "yes"})


def test_nameless_replies_are_asked_one_by_one() -> None:
    judge = Judge(nameless(), [(0, "yes")], nameless(), [(2, "no")])
    results = settle(judge, [0, 1, 2])

    assert [numbers for numbers, _ in judge.asked] == [[0, 1, 2], [0], [1], [2]]
    assert (results.verdicts, results.open([0, 1, 2])) == ({0: "yes", 2: "no"}, [1])
    assert results.trouble == "it names none"


def nameless() -> UnreadableReply:
    error = UnreadableReply("it names none", text='{"id": "1"}', usage=Usage())
    error.nameless = True
    return error


def test_repeatedly_cut_reply_leaves_the_rest_open() -> None:
    judge = Judge(*[begun((0, "yes"))] * 4)
    results = settle(judge, [0, 1])

    assert (results.verdicts, results.open([0, 1])) == ({0: "yes"}, [1])
    assert "cut off" in results.trouble
    assert judge.rooms == [2, 2, 4]


def test_looping_reply_is_sampled_loosely_once() -> None:
    judge = Judge(looping(), [(0, "yes")], [(1, "no")])
    assert settle(judge, [0, 1]) == ItemResults({0: "yes", 1: "no"})
    assert judge.loosely == [False, True, True]
    assert judge.rooms == [2, 1, 1]

    judge = Judge(looping(), looping())
    assert settle(judge, [0]).open([0]) == [0]
    assert judge.loosely == [False, True]


def test_single_item_gets_double_room_twice() -> None:
    judge = Judge(too_long(), too_long(), [(0, "yes")])

    assert settle(judge, [0]) == ItemResults({0: "yes"})
    assert judge.rooms == [1, 2, 4]


def test_item_beyond_all_room_is_left_open() -> None:
    judge = Judge(*[too_long()] * 3)
    results = settle(judge, [0])

    assert (results.open([0]), results.trouble) == ([0], "cut off")
    assert len(judge.asked) == 3


def test_skipped_items_are_asked_in_halves() -> None:
    judge = Judge([(0, "yes")], too_long(), [(1, "no")], [(2, "yes")])

    assert settle(judge, [0, 1, 2]) == ItemResults({0: "yes", 1: "no", 2: "yes"})
    assert judge.asked == [([0, 1, 2], False), ([1, 2], True), ([1], True), ([2], True)]


def test_endless_reasoning_is_not_asked_in_halves() -> None:
    judge = Judge(TruncatedReasoning("ended during the reasoning", text="", usage=Usage()))
    results = settle(judge, [0, 1])

    assert (results.open([0, 1]), results.trouble) == ([0, 1], "ended during the reasoning")


@pytest.mark.parametrize(
    "rejected", [RejectedRequest("too large"), UnreadableReply("too large", text=" ", usage=Usage())], ids=type
)
def test_unanswered_request_is_halved_and_repeated(rejected: Exception) -> None:
    judge = Judge(rejected, [(0, "yes")], rejected, [(1, "no")], rejected, rejected)
    results = settle(judge, [0, 1, 2])

    assert judge.asked == [([0, 1, 2], False), ([0], False), ([1, 2], False), ([1], False), ([2], False), ([2], True)]
    assert results == ItemResults({0: "yes", 1: "no"}, "too large")


def test_failing_batch_does_not_harm_others() -> None:
    judge = Judge(RefusedReply("would not", text="no", usage=Usage()), [(1, "yes")])
    results = settle(judge, [0], [1])

    assert (results.verdicts, results.trouble) == ({1: "yes"}, "would not")


def test_other_batches_end_before_an_error() -> None:
    judge = Judge(BudgetError("used up"), [(1, "yes")])
    with pytest.raises(BudgetError):
        settle(judge, [0], [1])

    assert len(judge.asked) == 2


def test_nothing_to_ask_asks_nothing() -> None:
    assert settle(Judge()) == ItemResults({})
