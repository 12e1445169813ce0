"""Whatever a judge replies, a verdict belongs to the item or sentence it names, and what has none has none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.agents.judge import Attempt, Entries, ItemResults, Judge, ask_all
from redraft.domain import Usage
from redraft.errors import (
    BudgetError,
    LateReply,
    RefusedReply,
    RejectedRequest,
    ReplyError,
    TransientError,
    TruncatedReasoning,
    TruncatedReply,
    UnreadableReply,
)
from redraft.evaluators.base import statements_of
from redraft.evaluators.coherence import SentenceConfusion, proofread
from redraft.llm.base import TRUNCATED, FunctionModel, Line, Reply, Request
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import ConfusionInput, Confusions
from redraft.store.store import Store
from redraft.text.tokens import Tokenizer

ScriptedReply = list[tuple[int, str | None]]
ENTRIES = st.lists(st.tuples(st.integers(-3, 12), st.sampled_from(["yes", "no", None])), max_size=20)


class ListedJudge:
    """Gives replies, one an ask, and keeps what it was asked."""

    def __init__(self, *replies: ScriptedReply | Entries[str] | Exception) -> None:
        self._replies = list(replies)
        self.asked: list[tuple[list[int], bool]] = []
        self.rooms: list[int] = []
        self.loosely: list[bool] = []

    async def __call__(self, numbers: Sequence[int], attempt: Attempt) -> Entries[str]:
        self.asked.append((list(numbers), attempt.again))
        self.rooms.append(attempt.times * len(numbers))
        self.loosely.append(attempt.loosely)
        reply = self._replies.pop(0)
        if isinstance(reply, tuple):
            return reply
        if isinstance(reply, Exception):
            raise reply
        return Reply("", "", Usage()), reply


def settle(judge: ListedJudge, *batches: Sequence[int]) -> ItemResults[str]:
    return asyncio.run(ask_all(batches, judge))


def too_long() -> ReplyError:
    return TruncatedReply("cut off", text="{", usage=Usage())


def looping() -> ReplyError:
    error = too_long()
    error.loops = True
    return error


def begun(*entries: tuple[int, str | None]) -> Entries[str]:
    return Reply("", "", Usage(), TRUNCATED), entries


def agreed(entries: ScriptedReply, item: int) -> str | None:
    """The one thing that a reply says of an item, None where it says nothing or two things."""
    verdicts = {verdict for number, verdict in entries if number == item and verdict is not None}
    return verdicts.pop() if len(verdicts) == 1 else None


@pytest.mark.slow
@given(first=ENTRIES, second=ENTRIES, items=st.sets(st.integers(0, 9), min_size=1).map(sorted))
def test_verdicts_never_move_to_another_item(first: ScriptedReply, second: ScriptedReply, items: list[int]) -> None:
    judge = ListedJudge(first, second, [])
    results = settle(judge, items)

    verdicts: dict[int, str] = {}
    requests: list[tuple[list[int], bool]] = []
    missing = items
    for reply in (first, second, []):
        requests.append((missing, bool(requests)))
        settled = {item: verdict for item in missing if (verdict := agreed(reply, item)) is not None}
        verdicts, missing = verdicts | settled, [item for item in missing if item not in settled]
        if not missing or (len(requests) > 1 and not settled):
            break
    assert (results.verdicts, judge.asked) == (verdicts, requests)
    assert [item for item in items if item not in results.verdicts] == missing
    assert bool(results.trouble) is bool(missing)


def nameless() -> UnreadableReply:
    error = UnreadableReply("it names none", text='{"id": "1"}', usage=Usage())
    error.nameless = True
    return error


def refused() -> RefusedReply:
    return RefusedReply("would not", text="no", usage=Usage())


TOO_LARGE = RejectedRequest("too large")
BLANK = UnreadableReply("too large", text=" ", usage=Usage())
GARBLED = UnreadableReply("would not", text="no", usage=Usage())
REASONING = TruncatedReasoning("ended during the reasoning", text="", usage=Usage())
LATE = LateReply("no answer in time", text="", usage=Usage())
YES, NO = "yes", "no"
SKIPPED = "the judge skipped 1 of the items, twice"


@dataclass(frozen=True)
class Exchange:
    """The replies of a judge to questions about the first items, and what comes of them."""

    replies: Sequence[ScriptedReply | Entries[str] | Exception]
    asked: str
    """The items of each request; an exclamation mark says that it is a repeat."""
    verdicts: dict[int, str]
    trouble: str = ""
    rooms: Sequence[int] = ()
    """The room of each request, where that matters."""


EXCHANGES = {
    "single verdicts": Exchange(
        [[(1, YES)], [(0, NO)], [(3, YES)], [(2, NO)]], "0123 023! 23! 2!", {0: NO, 1: YES, 2: NO, 3: YES}
    ),
    "skipped twice": Exchange(
        [[(1, YES)], [(1, YES)]], "01 0!", {1: YES}, f"{SKIPPED}; 1 of its entries named no existing item"
    ),
    "repaired before": Exchange([(Reply("", "", Usage(), repaired=True), [(0, YES)])], "01", {0: YES}, SKIPPED),
    "too late": Exchange(
        [LATE, [(0, YES)], LATE, [(1, NO)], [(2, YES)]], "012 0 12 1 2", {0: YES, 1: NO, 2: YES}, rooms=[3, 1, 2, 1, 1]
    ),
    "names no item": Exchange(
        [[(0, YES), (7, YES), (-1, NO)], [(9, YES)]],
        "01 1!",
        {0: YES},
        f"{SKIPPED}; 3 of its entries named no existing item",
    ),
    "refused at first": Exchange([refused()], "01", {}, "would not"),
    "refused later": Exchange([[(0, YES)], refused()], "01 1!", {0: YES}, "would not"),
    "unreadable at first": Exchange([GARBLED], "01", {}, "would not"),
    "unreadable later": Exchange([[(0, YES)], GARBLED], "01 1!", {0: YES}, "would not"),
    # Each half has as much room as the whole had.
    "too long": Exchange(
        [too_long(), [(0, YES), (1, NO)], too_long(), [(2, YES)], [(3, NO)]],
        "0123 01 23 2 3",
        {0: YES, 1: NO, 2: YES, 3: NO},
        rooms=[4] * 5,
    ),
    # Each with twice the room of the one before.
    "cut": Exchange(
        [begun((0, YES)), [(1, NO), (2, NO)], begun((3, YES)), [(4, YES)]],
        "01234 12 34 4",
        {0: YES, 1: NO, 2: NO, 3: YES, 4: YES},
        rooms=[5, 4, 4, 4],
    ),
    "cut again and again": Exchange(
        [begun((0, YES))] * 4, "01 1 1", {0: YES}, "the reply was cut off at the token limit", [2, 2, 4]
    ),
    "nameless": Exchange(
        [nameless(), [(0, YES)], nameless(), [(2, NO)]], "012 0 1 2", {0: YES, 2: NO}, "it names none"
    ),
    "one item, twice cut": Exchange([too_long(), too_long(), [(0, YES)]], "0 0 0", {0: YES}, rooms=[1, 2, 4]),
    "one item, always cut": Exchange([too_long()] * 3, "0 0 0", {}, "cut off"),
    "skipped, then too long": Exchange(
        [[(0, YES)], too_long(), [(1, NO)], [(2, YES)]], "012 12! 1! 2!", {0: YES, 1: NO, 2: YES}
    ),
    "endless reasoning": Exchange([REASONING], "01", {}, "ended during the reasoning"),
    "rejected": Exchange(
        [TOO_LARGE, [(0, YES)], TOO_LARGE, [(1, NO)], TOO_LARGE, TOO_LARGE],
        "012 0 12 1 2 2!",
        {0: YES, 1: NO},
        "too large",
    ),
    "without a reply": Exchange(
        [BLANK, [(0, YES)], BLANK, [(1, NO)], BLANK, BLANK], "012 0 12 1 2 2!", {0: YES, 1: NO}, "too large"
    ),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_items_are_asked_about_until_settled(name: str) -> None:
    exchange = EXCHANGES[name]
    judge = ListedJudge(*exchange.replies)
    results = settle(judge, [int(number) for number in exchange.asked.partition(" ")[0]])

    requests = ["".join(map(str, numbers)) + "!" * is_repeat for numbers, is_repeat in judge.asked]
    assert " ".join(requests) == exchange.asked
    assert results == ItemResults(exchange.verdicts, exchange.trouble)
    assert not exchange.rooms or judge.rooms == list(exchange.rooms)


def test_looping_reply_is_sampled_loosely_once() -> None:
    judge = ListedJudge(looping(), [(0, YES)], [(1, NO)])
    assert settle(judge, [0, 1]) == ItemResults({0: YES, 1: NO})
    assert judge.loosely == [False, True, True]
    assert judge.rooms == [2, 1, 1]

    judge = ListedJudge(looping(), looping())
    assert settle(judge, [0]).verdicts == {}
    assert judge.loosely == [False, True]


@pytest.mark.parametrize("failure", [TransientError("down"), BudgetError("used up")])
def test_what_the_judge_cannot_help_ends_it(failure: Exception) -> None:
    with pytest.raises(type(failure)):
        settle(ListedJudge(failure), [0, 1])


BOOK, TOKENIZER = PromptBook("simple"), Tokenizer()
TEXT = "\n\n".join(f"Keeper Tom{n} came to the light in the winter of {1800 + n}." for n in range(1, 10))
_HOSTILE = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
_draws = count()
_ids = st.lists(st.integers(-1, 12), max_size=14)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("proofreader") / "redraft.db") as opened:
        yield opened


class Reader:
    """A judge with these replies, one after the other; the last of them for ever. What it is given is kept."""

    def __init__(self, store: Store, *replies: Line, window: int = 8192, batch: int = 10) -> None:
        self.left, self.given = list(replies), list[ConfusionInput]()
        # Another draw each time: verdicts are remembered.
        judge = Judge(FunctionModel(self._reply), BOOK, store.verdicts, sample=next(_draws), reply_tokens=3000)
        self.proofread = lambda text: proofread(judge, text, statements_of(text), TOKENIZER, window, batch)

    def _reply(self, request: Request[Any, Any]) -> Line:
        self.given.append(request.given)
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]

    def read(self, text: str = TEXT) -> dict[int, SentenceConfusion]:
        return asyncio.run(self.proofread(text)).verdicts


def entries(ids: list[int], **fields: object) -> Confusions:
    """An entry on each, with a question that names its number, unless something else is said."""
    return Confusions.model_validate(
        {"sentences": [{"id": n, "questions": [f"Who is Tom{n}?"], "types": ["entity omission"]} | fields for n in ids]}
    )


def clear(ids: list[int]) -> Confusions:
    return entries(ids, questions=[], types=["No Confusion"])


@pytest.mark.slow
@_HOSTILE
@given(_ids, _ids, st.sampled_from([1, 3, 10]))
def test_contradictory_verdicts_are_asked_again(
    store: Store, confusing: list[int], fine: list[int], batch: int
) -> None:
    both = Confusions(sentences=[*entries(confusing).sentences, *clear(fine).sentences])
    reader = Reader(store, both, batch=batch)
    verdicts = reader.read()

    confusing_items, clear_items = ({n - 1 for n in ids if 1 <= n <= 9} for ids in (confusing, fine))
    assert {n for n, verdict in verdicts.items() if verdict.confusing} == confusing_items - clear_items
    assert {n for n, verdict in verdicts.items() if not verdict.confusing} == clear_items - confusing_items
    # Each batch is asked once, and once more where something is left open.
    assert len(reader.given) <= 2 * -(-9 // batch)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"questions": ["Who?"], "types": []}, (True, ("Who?",), ())),
        ({"questions": [], "types": ["Causal_Omission"]}, (True, (), ("causal omission",))),
        ({"questions": "Why?", "types": "event omission, EVENT OMISSION"}, (True, ("Why?",), ("event omission",))),
        ({"questions": "NO CONFUSION", "types": "no confusion."}, (False, (), ())),
        ({"questions": None, "types": "None"}, (False, (), ())),
    ],
)
def test_verdicts_are_read_in_any_form(store: Store, reply: dict[str, object], expected: object) -> None:
    reader = Reader(store, entries([1], **reply))
    verdicts = reader.read("Tom came to the light.")[0]
    assert (verdicts.confusing, verdicts.questions, verdicts.types) == expected
    assert len(reader.given) == 1


@pytest.mark.parametrize("reply", [{"questions": [], "types": []}, {"questions": ["Who?"], "types": ["no confusion"]}])
def test_silence_and_contradiction_are_no_verdicts(store: Store, reply: dict[str, object]) -> None:
    reader = Reader(store, entries([1], **reply))
    assert reader.read("Tom came to the light.") == {}
    assert len(reader.given) == 2

    mended = Reader(store, entries([1], **reply), clear([1]))
    assert mended.read("Tom came to the light.") == {0: SentenceConfusion(confusing=False)}


def test_the_same_sentence_twice_is_two_sentences(store: Store) -> None:
    reply = Confusions(sentences=[*clear([1]).sentences, *entries([2], types=["duplication"]).sentences])
    verdicts = Reader(store, reply).read("Tom came. Tom came.")
    assert [verdicts[n].confusing for n in (0, 1)] == [False, True]


def test_a_question_is_cut_and_made_harmless(store: Store) -> None:
    verdicts = Reader(store, entries([1], questions=["Who\x1b[31m\n" + "x" * 1000])).read("Tom came.")
    assert len(verdicts[0].questions[0]) == 300
    assert verdicts[0].questions[0].startswith("Who xxx")
