"""Whatever a judge replies about coherence, no verdict lands on another sentence, and what is silent has none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.agents.judge import Judge
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import Proofreader, SentenceConfusion
from redraft.llm.base import FunctionModel, Line, Request
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import ConfusionInput, Confusions
from redraft.store.store import Store
from redraft.text.tokens import EstimatingTokenizer

BOOK, TOKENIZER = PromptBook("simple"), EstimatingTokenizer()
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
        self.reader = Proofreader(judge, TOKENIZER, window, batch)

    def _reply(self, request: Request[Any, Any]) -> Line:
        self.given.append(request.given)
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]

    def read(self, text: str = TEXT) -> dict[int, SentenceConfusion]:
        return asyncio.run(self.reader.read(text, statements_of(text))).verdicts


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
