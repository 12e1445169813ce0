"""Key-fact recall and faithfulness as goals of the refinement, with and without a wire."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from redraft.settings import PolicyName
from tests.judges import fact_of, island, keepers_in, told
from tests.runs.courts import Open
from tests.runs.test_refining import POLICIES, stories

# Of twelve keepers one is told rightly, one wrongly, and one is made up.
POOR = told(1, wrong={2: "Bob", 77: "Jim"})
ALL = {n: f"Tom{n}" for n in range(1, 13)}
RECALL: dict[str, float] = {"keyfact_recall": 1.0}
TRUTH: dict[str, float] = {"faithfulness": 1.0}
GROWING = ("keyfacts_analytical", "keyfacts_narrative", "facts_faithful", "facts_objective", "facts_significant")


@pytest.mark.slow
async def test_missing_facts_are_worked_in_until_the_goal_is_met(any_court: Open) -> None:
    opened = any_court()
    result = await opened.refine(POOR, goals=RECALL)

    assert (result.run.status, result.run.stop_reason) == ("done", "goals_met")
    assert (result.initial_scores, result.scores) == ({"keyfact_recall": 2 / 24}, {"keyfact_recall": 1.0})
    assert stories(result) == [(0, (), True), (1, ("keyfact_recall",), True), (2, ("keyfact_recall",), True)]
    # Six at once: the five roots that are missing, then the first of the branches.
    first, second = opened.asked("revise")
    points = first.items("points").values()
    assert [point["task"] for point in points] == ["add"] * 6
    assert [point["answer"] for point in points] == [fact_of(n) for n in (5, 9, 12, 8, 4, 2)]
    assert all(point["evidence"].startswith(point["answer"][:-1]) for point in points)
    assert all(point["evidence"].count(".") == 1 for point in points), "one sentence has all of the answer"
    assert len(second.items("points")) == 5
    assert [item["text"] for item in first.items("keep").values()] == [fact_of(1)]
    # The trees are the same for every draft.
    assert len(opened.asked("keyfacts_analytical")) == 1
    assert len(opened.asked("align_facts")) == 3


async def test_unfaithful_sentences_are_corrected_or_go(any_court: Open) -> None:
    opened = any_court()
    result = await opened.refine(POOR, goals=TRUTH)

    assert result.run.stop_reason == "goals_met"
    assert (result.initial_scores, result.scores) == ({"faithfulness": 1 / 3}, {"faithfulness": 1.0})
    assert keepers_in(result.summary or "") == {1: "Tom1", 2: "Tom2"}
    (sheet,) = opened.asked("revise")
    wrong, invented = sheet.items("points").values()
    assert (wrong["task"], wrong["sentence"]) == ("correct", fact_of(2, "Bob"))
    assert wrong["evidence"].startswith("The keeper number 2 is called Tom2 and lives"), "the whole sentence"
    assert wrong["why"] == "The sentence says Bob, the passages Tom2."
    assert "Tom2" not in wrong["instruction"]
    assert invented["sentence"] == fact_of(77, "Jim")
    assert "evidence" not in invented
    assert not opened.asked(*GROWING)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
async def test_both_goals_are_met_by_every_policy(any_court: Open, policy: PolicyName) -> None:
    opened = any_court()
    result = await opened.refine(POOR, goals={**RECALL, **TRUTH}, policy=policy)

    assert result.run.stop_reason == "goals_met"
    assert result.initial_scores == {"keyfact_recall": 2 / 24, "faithfulness": 1 / 3}
    assert result.scores == {"keyfact_recall": 1.0, "faithfulness": 1.0}
    assert keepers_in(result.summary or "") == ALL
    aims = [made.aims for made in result.rounds[1:]]
    if policy == "consistency-first":
        # Beside the two that are wrong, four that are lacking are worked in at once, for there are free words.
        assert aims == [("faithfulness",), ("keyfact_recall",)]
        assert [len(made.findings) for made in result.rounds[1:]] == [6, 6]
    if policy == "paper":
        assert aims == [("keyfact_recall",), ("faithfulness",)]
    if opened.server:
        assert max(Counter(json.dumps(seen.body) for seen in opened.server.seen).values()) == 1


@pytest.mark.nightly
async def test_an_answer_to_a_query_is_refined_towards_the_facts_of_its_tree(court: Open) -> None:
    small = {"context_tokens": 2400}
    opened = court(document=island(120))
    found = await opened.keyfacts(settings=small)
    tree = found.trees[2]
    own = keepers_in(opened.document.text[slice(*tree.span)])
    summary = told(*list(own)[1:], wrong={1: "Tom1"})
    result = await opened.refine(
        summary, goals={**RECALL, **TRUTH}, settings={**small, "query": tree.query, "words": 600}
    )

    # Keeper 1 is another chunk's: of him nobody says that the document does not know him who has read this one alone.
    assert result.initial_scores == {"keyfact_recall": (len(own) - 1) / len(own), "faithfulness": 1.0}
    verdict = result.initial["faithfulness"]
    assert (verdict.judged, verdict.unjudged, verdict.findings) == (len(own) - 1, 1, ())
    assert result.run.stop_reason == "goals_met"
    assert keepers_in(result.summary or "") == own | {1: "Tom1"}
    assert {sheet.within("query") for sheet in opened.asked("revise")} == {tree.query}
