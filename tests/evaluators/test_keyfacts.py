"""Key facts as values, by hand: lists made of replies, pruning, and the equations of HAMLET over them."""

from __future__ import annotations

from dataclasses import replace
from math import isclose
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.agents.judge import ItemResults
from redraft.domain import KeyFact, KeyFacts, Level, Objection, Perspective, Span, Tree
from redraft.evaluators.base import PanelVotes, Vote, Votes, bin_of, mean_evaluation
from redraft.evaluators.coverage import shares
from redraft.evaluators.factual import Shares, along_path, by_level, gaps, recalls
from redraft.evaluators.reference.keyfacts import LEVELS, ListedFact, flatten, items_of, pruned, pruning, trees_for
from redraft.evaluators.statistics import Statistics
from redraft.prompts.factual import FactTree

Reply = dict[str, dict[str, list[str]]]
WRONG = (Objection("objectivity", "That is an opinion."),)


def reply(roots: Reply) -> FactTree:
    """A tree as a model gives it, from its facts by root and by branch."""
    return FactTree.model_validate(
        {
            "roots": [
                {"fact": root, "branches": [{"fact": fact, "leaves": leaves} for fact, leaves in branches.items()]}
                for root, branches in roots.items()
            ]
        }
    )


def listed(*roots: Reply) -> list[tuple[int, Level, int | None, str]]:
    return [(fact.id, fact.level, fact.parent, fact.text) for fact in flatten([reply(root) for root in roots])]


def tree(
    roots: Reply, *wrong: str, perspective: Perspective = "analytical", position: float = 0.5, query: str = "Why?"
) -> Tree:
    """A tree from which the facts that are `wrong` were pruned."""
    facts = [replace(fact, objections=WRONG if fact.text in wrong else ()) for fact in flatten([reply(roots)])]
    return Tree(0, perspective, Span(0, 10), position, pruned(facts), query)


# Nine facts: two roots, three branches, four leaves.
GROWN: Reply = {"A": {"B": ["C", "D"], "E": ["F"]}, "G": {"H": ["I"]}}


def letters(facts: list[KeyFact] | tuple[KeyFact, ...]) -> str:
    return "".join(fact.text for fact in facts)


# The list.


@pytest.mark.parametrize(
    ("roots", "facts"),
    [
        ([{"A": {"B": ["C", "c.", "D"]}}], "ABCD"),
        ([{"A": {"B": ["C"], "E": ["C", "F"]}}], "ABCEF"),
        ([{"A": {"B": ["e!", "A", "B", "C"], "E": []}}], "ABCE"),
        ([{"A": {"B": ["C"]}}, {" a ": {"E": ["D"]}}], "ABCED"),
        ([{"A": {"B": ["C"]}}, {"A": {"“B”": ["D"]}}], "ABCD"),
        ([{"A": {"B": ["C"]}, "G": {"B": ["D"]}}], "ABCGBD"),
    ],
    ids=["a leaf twice", "in two branches", "as a branch or a root", "a root twice", "its branch too", "in two roots"],
)
def test_repeated_facts_are_listed_once(roots: list[Reply], facts: str) -> None:
    flat = flatten([reply(root) for root in roots])

    assert letters(flat) == facts
    assert [fact.id for fact in flat] == list(range(1, len(facts) + 1))
    levels = {fact.id: fact.level for fact in flat}
    above = {"branch": "root", "leaf": "branch"}
    assert all(fact.parent is None or levels[fact.parent] == above[fact.level] for fact in flat)


# Pruning.


def test_rates_of_pruning_by_level() -> None:
    # Of the first tree B goes, with C and D; of the second A, with B, and their leaves.
    assert pruning([tree(GROWN, "B"), tree({"A": {"B": ["C"]}}, "A")]) == {
        "root": {"found": 3, "pruned": 1, "share": 1 / 3},
        "branch": {"found": 4, "pruned": 2, "share": 2 / 4},
        "leaf": {"found": 5, "pruned": 3, "share": 3 / 5},
        "all": {"found": 12, "pruned": 6, "share": 6 / 12},
    }
    nothing = {"found": 0, "pruned": 0, "share": None}
    assert pruning([]) == dict.fromkeys(("root", "branch", "leaf", "all"), nothing)


# Which trees.


def keyfacts(*trees: Tree) -> KeyFacts:
    return KeyFacts("id", "document", "m", "m", {}, trees)


BOTH: tuple[Perspective, ...] = ("analytical", "narrative")


def test_summary_is_judged_by_its_query_tree() -> None:
    why, who = tree(GROWN, query="Why did she leave?"), tree(GROWN, perspective="narrative", query="Who left?")
    both_trees = keyfacts(why, who)

    assert trees_for(both_trees, None, BOTH) == (why, who)
    assert trees_for(both_trees, None, ("narrative",)) == (who,)
    assert trees_for(both_trees, "who LEFT", BOTH) == (who,)
    assert trees_for(both_trees, "Who left?", ("analytical",)) == ()
    assert trees_for(both_trees, "Who came?", BOTH) == ()


# Equation 1.


def told(items: list[ListedFact], *, stated: str, open_: str = "") -> dict[int, float]:
    """What facts count when a summary states these letters; nothing is known of the `open_` ones."""
    return {n: float(item.fact.text in stated) for n, item in enumerate(items) if item.fact.text not in open_}


def counts(shares: Shares) -> dict[str, tuple[Any, ...]]:
    return {level: (entry["stated"], entry["judged"], entry["recall"]) for level, entry in shares.items()}


def test_recall_and_gap_by_hand() -> None:
    # Without B, C, D: A E F G H I are left, and on F nothing is known.
    items = items_of([tree(GROWN, "B")])
    verdicts = told(items, stated="AFH", open_="F")
    assert counts(recalls(items, verdicts)) == {
        "all": (2, 5, 2 / 5),
        "root": (1, 2, 1 / 2),
        "branch": (1, 2, 1 / 2),
        "leaf": (0, 1, 0.0),
    }
    first = tree(GROWN, position=0.1)
    second = tree({"A": {"B": ["C"]}}, position=0.5)
    third = tree({"A": {"B": []}}, position=0.9)
    items = items_of([first, second, third])
    verdicts = told(items, stated="ABC")
    fifths = {
        name: recalls(items, {n: verdicts[n] for n, item in enumerate(items) if bin_of(item.tree.position) == name})
        for name in ("0-20%", "40-60%", "80-100%")
    }
    assert [fifths[name]["all"]["recall"] for name in fifths] == [3 / 9, 1.0, 1.0]
    # Roots 1/2, 1, 1; branches 1/3, 1, 1; leaves 1/4, 1 and none.
    assert gaps(fifths) == pytest.approx({"all": 1 - 3 / 9, "root": 1 / 2, "branch": 1 - 1 / 3, "leaf": 1 - 1 / 4})
    assert gaps({"80-100%": fifths["80-100%"]}) == dict.fromkeys(("all", "root", "branch", "leaf"))
    del fifths["0-20%"]
    assert gaps(fifths) == {"all": 0.0, "root": 0.0, "branch": 0.0, "leaf": None}


@pytest.mark.parametrize(
    ("position", "fifth"), [(0.0, "0-20%"), (0.1999, "0-20%"), (0.2, "20-40%"), (0.6, "60-80%"), (1.0, "80-100%")]
)
def test_five_bins(position: float, fifth: str) -> None:
    assert bin_of(position) == fifth


# Equation 2.


def test_faithfulness_by_level_and_path() -> None:
    shares = by_level({0: 1.0, 2: 0.0}, {0: {"root"}, 1: {"root"}, 2: set()})
    assert {
        level: (finding["faithful"], finding["judged"], finding["faithfulness"]) for level, finding in shares.items()
    } == {
        "all": (1, 2, 1 / 2),
        "root": (1, 1, 1.0),
        "branch": (0, 0, None),
        "leaf": (0, 0, None),
        "none": (0, 1, 0.0),
    }
    items = items_of([tree(GROWN)])
    values = {0: 1.0, 1: 0.0, 2: 1.0, 3: 0.0, 4: 0.5, 5: 1.0, 7: 1.0, 8: 1.0}
    assert along_path(items, values) == {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0, 4: 0.5, 5: 0.5}, "root G has no verdict"
    two = items_of([tree({"A": {"B": ["C"]}}), tree({"A": {"B": ["C"]}}, perspective="narrative")])
    assert along_path(two, dict.fromkeys(range(6), 1.0) | {0: 0.0}) == {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1}


ITEMS = items_of([tree(GROWN), tree(GROWN, position=0.7)])
GOOD, BAD, WORSE = "good", "bad", "worse"


@st.composite
def panels(draw: st.DrawFn) -> list[tuple[str, Votes]]:
    """Up to five judges, each with verdicts on some of the items; what is good may count less than all of it."""
    sittings = []
    for number in range(draw(st.integers(1, 5))):
        by_item = draw(st.dictionaries(st.sampled_from(range(len(ITEMS))), st.sampled_from([GOOD, BAD, WORSE])))
        votes = {
            n: Vote(verdict, draw(st.floats(0.5, 1)) if verdict == GOOD else 0.0) for n, verdict in by_item.items()
        }
        sittings.append((f"judge {number}", ItemResults(votes)))
    return sittings


def weighted(parts: Any, name: str) -> float:
    """What the parts of a breakdown come to together."""
    total = sum(part["judged"] for part in parts)
    return sum(part[name] * part["judged"] for part in parts if part["judged"]) / total


@settings(max_examples=40)
@given(panels())
def test_score_is_the_mean_of_its_breakdowns(sittings: list[tuple[str, Votes]]) -> None:
    panel = PanelVotes(sittings, len(ITEMS), GOOD)
    items, evaluation = panel.items, mean_evaluation(Statistics(), panel)

    assert items.keys() == {n for _, votes in sittings for n in votes.verdicts}
    if not items:
        assert (evaluation.outcome, evaluation.score) == ("failed", None)
        return
    score = evaluation.score
    assert score is not None
    values = {n: item.value for n, item in items.items()}
    levels = {n: {item.fact.level} for n, item in enumerate(ITEMS)}
    of_recall, of_faithfulness = recalls(ITEMS, values), by_level(values, levels)
    breakdowns = [
        weighted(shares(items, [item.fact.level for item in ITEMS]).values(), "score"),
        weighted(shares(items, [bin_of(item.tree.position) for item in ITEMS]).values(), "score"),
        weighted([of_recall[level] for level in LEVELS], "recall"),
        weighted([of_faithfulness[level] for level in LEVELS], "faithfulness"),
        of_recall["all"]["recall"],
        of_faithfulness["all"]["faithfulness"],
        (of_recall["all"]["stated"] or 0) / len(items),
    ]
    assert all(share is not None and isclose(share, score, abs_tol=1e-12) for share in breakdowns)
