"""Whatever a judge replies about key facts, no verdict lands on another fact, and a recall is what was counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.agents.evidence import EvidenceReader
from redraft.agents.fact_checker import FactAlignment, FactChecker
from redraft.agents.judge import Judge
from redraft.domain import Evaluation, Evidence, KeyFact
from redraft.evaluators.base import Case, DocumentPack, statements_of
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.llm.base import Request
from redraft.llm.fakes import FunctionModel, Line
from redraft.prompts.book import PromptBook
from redraft.prompts.factual import Alignments, Supports, Verifications
from redraft.store.store import Store
from redraft.text.passages import Passages
from redraft.text.tokens import EstimatingTokenizer
from tests.evaluators.test_keyfacts import GROWN, keyfacts, tree
from tests.judges import island, told

ISLAND = island(12)
# Sentence n of it, and fact n in what follows, are about keeper n.
BOOK, TOKENIZER = PromptBook(), EstimatingTokenizer()
DESK = EvidenceReader(ISLAND, Passages(ISLAND, TOKENIZER), TOKENIZER, 8192, TOKENIZER.count(ISLAND.text))
SUMMARY = statements_of(told(*range(1, 10)))
FACTS = [f"fact {n}" for n in range(1, 10)]
IN_TREE = [KeyFact(n, "leaf", None, fact, Evidence("")) for n, fact in enumerate(FACTS, 1)]
_HOSTILE = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))

_draws = count()

# Which items a reply speaks of, in what order: some twice, some never, some that are not there.
_ids = st.lists(st.integers(-1, 12), max_size=14)
_replies = st.lists(_ids, min_size=1, max_size=4)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("replies") / "redraft.db") as made:
        yield made


class Replying:
    """A judge with these replies, one after the other; the last of them for ever."""

    def __init__(self, replies: list[Any], store: Store) -> None:
        self.left = replies
        # Another draw each time: verdicts are remembered.
        self.judge = Judge(FunctionModel(self.reply), BOOK, store.judgments, sample=next(_draws), reply_tokens=3000)

    def reply(self, request: Request[Any, Any]) -> Line:
        said: Line = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        return said

    def case(self, *trees: Any) -> Case:
        return Case(SUMMARY, (self.judge,), DESK, DocumentPack(None, keyfacts(*trees)))


def alignments(ids: list[int], sentences: list[int] | None = None) -> Alignments:
    """An entry on each: the fact is stated, by the sentence with its number."""
    entries = [{"id": n, "stated": "yes", "sentences": [n] if sentences is None else sentences} for n in ids]
    return Alignments.model_validate({"facts": entries})


def heard(replies: list[list[int]]) -> set[int]:
    """What of the nine items is spoken of until all are, or until a reply to being asked again has none that is new."""
    found: set[int] = set()
    for turn in count():
        fresh = {n - 1 for n in replies[min(turn, len(replies) - 1)] if 1 <= n <= 9} - found
        found |= fresh
        if len(found) == 9 or (turn and not fresh):
            return found
    raise AssertionError


@pytest.mark.slow
@_HOSTILE
@given(_replies)
def test_no_alignment_lands_on_another_fact(store: Store, replies: list[list[int]]) -> None:
    replying = Replying([alignments(ids) for ids in replies], store)
    found = asyncio.run(FactChecker(replying.judge).align(SUMMARY, FACTS, DESK))

    assert found.verdicts == {n: FactAlignment(True, frozenset({n + 1})) for n in found.verdicts}
    said = heard(replies)
    assert set(found.verdicts) == said
    assert bool(found.trouble) == (len(said) < 9)


@pytest.mark.slow
@_HOSTILE
@given(_replies, st.data())
def test_no_opinion_lands_on_another_fact(store: Store, replies: list[list[int]], data: st.DataObject) -> None:
    passing = data.draw(st.sets(st.integers(1, 9)))

    def supports(ids: list[int]) -> Supports:
        entries = [
            {"id": n, "reason": f"r{n}", "quote": "", "verdict": "pass" if n in passing else "fail"} for n in ids
        ]
        return Supports.model_validate({"facts": entries})

    replying = Replying([supports(ids) for ids in replies], store)
    found = asyncio.run(FactChecker(replying.judge)._supported("An excerpt.", IN_TREE, "facts"))

    assert all((one.passed, one.reason) == (n + 1 in passing, f"r{n + 1}") for n, one in found.verdicts.items())
    assert set(found.verdicts) == heard(replies)


def share_of(evaluation: Evaluation, verdict: str) -> tuple[int, int]:
    """How many of the items that have a verdict have this one."""
    kind = "facts" if evaluation.metric == "keyfact_recall" else "sentences"
    shown: Any = evaluation.details[kind]
    found = [one["verdict"] for one in shown if one["verdict"] != "unjudged"]
    return found.count(verdict), len(found)


def expect_counted(evaluation: Evaluation, verdict: str, items: int) -> None:
    """A score is a share of what has a verdict, or there is none; what has none is counted."""
    assert evaluation.judged + evaluation.unjudged == items or evaluation.outcome == "failed"
    if evaluation.outcome == "failed":
        assert evaluation.score is None
        return
    part, whole = share_of(evaluation, verdict)
    assert (evaluation.judged, evaluation.score) == (whole, part / whole)
    assert 0 <= part / whole <= 1


_entries = st.lists(
    st.tuples(st.integers(-1, 12), st.sampled_from(["yes", "no"]), st.lists(st.integers(-1, 12), max_size=3)),
    max_size=14,
)


@pytest.mark.slow
@_HOSTILE
@given(st.lists(_entries, min_size=1, max_size=4))
def test_a_recall_is_the_share_of_what_was_judged(
    store: Store, replies: list[list[tuple[int, str, list[int]]]]
) -> None:
    said = [
        Alignments.model_validate({"facts": [{"id": n, "stated": yes, "sentences": at} for n, yes, at in entries]})
        for entries in replies
    ]
    recall = asyncio.run(KeyfactRecall().evaluate(Replying(said, store).case(tree(GROWN))))

    expect_counted(recall, "stated", 9)
    if recall.outcome == "failed":
        assert recall.unjudged == 9
        return
    levels: Any = recall.details["by_level"]
    for one in levels.values():
        assert one["recall"] == (one["stated"] / one["judged"] if one["judged"] else None)
        assert 0 <= (one["recall"] or 0) <= 1
    parts = [levels[level] for level in ("root", "branch", "leaf")]
    assert levels["all"]["stated"] == sum(one["stated"] for one in parts)
    assert levels["all"]["judged"] == sum(one["judged"] for one in parts) == recall.judged
    assert len(recall.findings) == recall.judged - levels["all"]["stated"]
    facts: Any = recall.details["facts"]
    assert all(set(one["sentences"]) <= set(range(1, 10)) for one in facts)
    assert all(one["verdict"] == "stated" for one in facts if one["sentences"])


_verdicts = st.lists(
    st.tuples(st.integers(-1, 12), st.sampled_from(["none", "entity", "relation", "out_of_article"])), max_size=14
)


@_HOSTILE
@given(st.lists(_verdicts, min_size=1, max_size=5))
@pytest.mark.slow
def test_a_faithfulness_is_the_share_of_what_was_judged(store: Store, replies: list[list[tuple[int, str]]]) -> None:
    said = [
        Verifications.model_validate(
            {"sentences": [{"id": n, "reason": f"r{n}", "quote": "", "category": category} for n, category in entries]}
        )
        for entries in replies
    ]
    faithfulness = asyncio.run(Faithfulness().evaluate(Replying(said, store).case()))

    expect_counted(faithfulness, "none", 9)
    sentences: Any = faithfulness.details.get("sentences", [])
    assert all(one["reason"] in ("", f"r{one['id']}") for one in sentences)
