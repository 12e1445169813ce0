"""The built-in model from end to end: a document against its own key facts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from redraft import DraftConfig, JudgeConfig, Session, Store
from redraft.domain import Document, KeyFacts
from redraft.readers.documents import parse
from redraft.report.history.results import Result
from tests.support import SAMPLE

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Grown:
    """Three chapters of the sample document with their key facts."""

    store: Store
    document: Document
    keyfacts: KeyFacts

    def judged(self, summary: str, query: str | None = None) -> Result:
        return asyncio.run(self._judged(summary, query))

    async def _judged(self, summary: str, query: str | None) -> Result:
        judging = JudgeConfig(metrics=("keyfact_recall", "faithfulness"))
        async with Session(self.store) as session:
            return await session.evaluate(self.document, summary, settings=DraftConfig(query=query), judging=judging)


async def build(store: Store, document: Document) -> Result:
    async with Session(store) as session:
        return await session.build(document, "keyfacts")


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grown]:
    document = parse(SAMPLE.read_text("utf-8").partition("## Chapter 4")[0].encode(), name="three.md")
    with Store(tmp_path_factory.mktemp("own") / "redraft.db") as store:
        result = asyncio.run(build(store, document))
        assert result.run.judging is not None
        yield Grown(store, document, store.keyfacts.get(result.run.judging.keyfacts or ""))


def test_facts_are_traced_to_their_chunk(grown: Grown) -> None:
    assert all(message.endswith("the judge cannot tell") for message in grown.keyfacts.missing)
    assert {tree.chunk for tree in grown.keyfacts.trees} == set(range(len(grown.keyfacts.trees) // 2))
    for tree in grown.keyfacts.trees:
        assert tree.query
        assert {fact.level for fact in tree.kept} == {"root", "branch", "leaf"}
        for fact in tree.facts:
            span = fact.evidence.span
            assert span is not None
            assert tree.span.start <= span.start < span.end <= tree.span.end
            assert grown.document.text[slice(*span)] == fact.evidence.text


def test_document_states_all_its_facts(grown: Grown) -> None:
    result = grown.judged(grown.document.text)

    assert result.scores == {"keyfact_recall": 1.0, "faithfulness": 1.0}
    assert not any(evaluation.findings for evaluation in result.evaluations.values())
    facts: Any = result.evaluations["keyfact_recall"].details["facts"]
    unsure = [one["fact"] for one in facts if one["value"] is None]
    # A name in the place of a pronoun may be somebody else's; what the document says to the letter is never unsure.
    assert len(unsure) <= 0.03 * len(facts)
    assert not [fact for fact in unsure if fact in grown.document.text]
    sentences: Any = result.evaluations["faithfulness"].details["sentences"]
    unjudged = {one["id"] for one in sentences if one["value"] is None}
    # Where all of the document is read, what is said in one word is found as well.
    assert not unjudged
    recall = result.evaluations["keyfact_recall"]
    assert recall.judged + recall.unjudged == sum(len(tree.kept) for tree in grown.keyfacts.trees)


def test_empty_text_states_no_fact(grown: Grown) -> None:
    result = grown.judged("")

    assert result.scores == {"keyfact_recall": None, "faithfulness": None}
    assert result.usage.calls == 0


def test_facts_of_a_tree_answer_it_alone(grown: Grown) -> None:
    tree = grown.keyfacts.trees[0]
    answer = " ".join(fact.text for fact in tree.kept)
    own, other = (grown.judged(answer, one.query) for one in (tree, grown.keyfacts.trees[-1]))

    assert own.scores == {"keyfact_recall": 1.0, "faithfulness": 1.0}
    assert (other.scores["keyfact_recall"] or 0) < 0.3
    assert (other.scores["faithfulness"] or 0) < 0.5
