"""Every table of the HAMLET experiment, with numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from redraft.domain import Document, Evidence, KeyFact, KeyFacts, Level, Objection, Perspective, Span, Totals, Tree
from redraft.lab.experiments.hamlet import (
    HamletCell,
    HamletItem,
    difference_frame,
    error_frame,
    fact_frame,
    gap_frame,
    length_frame,
    pruning_frame,
    share_frame,
    size_frame,
    summary_frame,
)
from tests.lab.experiments.made import LOST, drawn, faithful, item, recall, rows

recall_frame, faithfulness_frame = (partial(share_frame, metric=metric) for metric in ("recall", "faithfulness"))
LEVELS = ("root", "branch", "leaf", "whole")
BASIS = ("items", "of", "failed", "unjudged")

# Of model a two summaries about the first fifth and one about the last; of model b one about the first, and one lost.
ITEMS = [
    item("a", 0.10, recall=recall((1, 1), (1, 2), (0, 3), unjudged=2)),
    item("a", 0.15, recall=recall((0, 1), (2, 2), (1, 1))),
    item("a", 0.90, recall=recall((1, 1), (0, 1), (0, 0))),
    item("b", 0.10, recall=recall((1, 1), (0, 4), (0, 0))),
    item("b", 0.90, failure=LOST),
]


def test_recall_is_pooled_over_a_cells_facts() -> None:
    table = recall_frame(ITEMS)
    assert rows(table, *LEVELS, "facts", *BASIS, model="a", position="0-20%") == [
        (1 / 2, 3 / 4, 1 / 4, 5 / 10, 10, 2, 2, 0, 2)
    ]
    assert rows(table, *LEVELS, "facts", *BASIS, model="a", position="80-100%") == [(1, 0, None, 1 / 2, 2, 1, 1, 0, 0)]
    assert rows(table, *LEVELS, "facts", *BASIS, model="a", position="all") == [
        (2 / 3, 3 / 5, 1 / 4, 6 / 12, 12, 3, 3, 0, 2)
    ]
    assert rows(table, *LEVELS, *BASIS, model="b", position="all") == [(1, 0, None, 1 / 5, 1, 2, 1, 0)]


def test_models_weigh_equally_in_the_mean() -> None:
    table = recall_frame(ITEMS)
    assert rows(table, *LEVELS, model="mean of models", position="0-20%") == [
        pytest.approx(((1 / 2 + 1) / 2, (3 / 4 + 0) / 2, 1 / 4, (5 / 10 + 1 / 5) / 2))
    ]
    assert rows(table, *LEVELS, *BASIS, model="mean of models", position="80-100%") == [(1, 0, None, 1 / 2, 1, 2, 1, 0)]
    assert not rows(recall_frame(ITEMS[:3]), "root", model="mean of models")


def test_gaps_span_best_to_worst_fifth() -> None:
    table = gap_frame(ITEMS)
    assert rows(table, *LEVELS, *BASIS, model="a") == [(1 / 2, 3 / 4, None, 0, 3, 3, 0, 2)]
    assert rows(table, *LEVELS, model="b") == [(None, None, None, None)], "one fifth alone has no gap"
    assert rows(table, *LEVELS, model="mean of models") == [(1 / 2, 3 / 4, None, 0)]


def test_faithfulness_is_pooled_by_fact_level() -> None:
    first = faithful((4, 6), root=(2, 2), branch=(1, 2), leaf=(0, 1), none=(1, 3), unjudged=1)
    second = faithful((2, 3), root=(1, 2), branch=(0, 0), leaf=(1, 1), none=(0, 1))
    overlap = faithful((1, 2), root=(1, 1), branch=(0, 0), leaf=(0, 0), none=(0, 1))
    table = faithfulness_frame([item("a", faithfulness=first), item("a", faithfulness=second), item("b", failure=LOST)])
    levels = ("root", "branch", "leaf", "none", "all")
    assert rows(table, *levels, "sentences", *BASIS, model="a") == [(3 / 4, 1 / 2, 1 / 2, 1 / 4, 6 / 9, 9, 2, 2, 0, 1)]
    assert rows(table, *levels, *BASIS, model="b") == [(None,) * 5 + (0, 1, 1, 0)]
    both = faithfulness_frame([item("a", faithfulness=first), item("b", faithfulness=overlap)])
    means = rows(both, *levels, model="mean of models")
    assert means == [pytest.approx((1, 1 / 2, 0, (1 / 3 + 0) / 2, (4 / 6 + 1 / 2) / 2))]


def test_summaries_weigh_equally_in_summary_means() -> None:
    items = [
        item(recall=recall((1, 1), (0, 2), (0, 2), unjudged=3), faithfulness=faithful((1, 2), unjudged=1), words=90),
        item(recall=recall((1, 1), (1, 1), (0, 0)), failure=LOST, words=110),
        item(failure=LOST),
    ]
    table = summary_frame(items)
    names = ("recall", "faithfulness", "mean", "words", "for recall", "for faithfulness", "of", "failed", "unjudged")
    assert rows(table, *names) == [(pytest.approx(0.6), 0.5, pytest.approx(0.55), 100, 2, 1, 3, 2, 4)]
    assert rows(summary_frame([item(failure=LOST)]), *names[:4]) == [(None, None, None, None)]


def test_errors_are_extrinsic_or_intrinsic() -> None:
    items = [
        item("a", faithfulness=faithful((2, 9), {"out_of_article": 5, "entity": 1, "relation": 1})),
        item("a", faithfulness=faithful((3, 6), {"out_of_article": 1, "relation": 2}, unjudged=2)),
        item("b", faithfulness=faithful((4, 4))),
        item("c", failure=LOST),
    ]
    table = error_frame(items)
    names = ("error", "sentences", "of all errors", "of intrinsic errors")
    assert rows(table, *names, model="a") == [
        ("extrinsic", 6, 0.6, None),
        ("intrinsic", 4, 0.4, 1.0),
        ("intrinsic: relation", 3, 0.3, 0.75),
        ("intrinsic: entity", 1, 0.1, 0.25),
        ("intrinsic: sentence", 0, 0.0, 0.0),
    ]
    assert rows(table, *names[1:], model="b", error="extrinsic") == [(0, None, None)]
    assert rows(table, *names[1:], model="c", error="extrinsic") == [(None, None, None)], "nobody has looked"
    assert rows(table, *names[1:], *BASIS, model="all models", error="extrinsic") == [(6, 0.6, None, 3, 4, 1, 2)]


def test_table_14_is_the_mean_of_models() -> None:
    items = [
        item("a", faithfulness=faithful((0, 10), {"out_of_article": 9, "entity": 1})),
        item("b", faithfulness=faithful((0, 2), {"out_of_article": 1, "relation": 1})),
    ]
    table, names = error_frame(items), ("error", "of all errors", "of intrinsic errors")
    assert rows(table, *names, model="mean of models") == [
        ("extrinsic", pytest.approx(0.7), None),
        ("intrinsic", pytest.approx(0.3), 1.0),
        ("intrinsic: relation", 0.25, 0.5),
        ("intrinsic: entity", pytest.approx(0.05), 0.5),
        ("intrinsic: sentence", 0.0, 0.0),
    ]
    assert rows(table, *names[1:], model="all models", error="extrinsic") == [(10 / 12, None)]


def test_length_is_correlated_with_recall_over_summaries() -> None:
    scores = [(100, (3, 10)), (200, (1, 10)), (300, (2, 10))]
    items = [item(words=words, recall=recall((1, 1), actual, (0, 0))) for words, actual in scores]
    table = length_frame(items)
    names = ("correlation", "summaries")
    assert rows(table, *names, level="branch") == [(pytest.approx(-0.5), 3)]
    assert rows(table, *names, level="root") == [(None, 3)], "all recalls are the same"
    assert rows(table, *names, level="leaf") == [(None, 0)]
    alike = [replace(item, words=100) for item in items]
    assert rows(length_frame(alike), *names, level="branch") == [(None, 3)]
    assert rows(length_frame(items[:2]), *names, level="branch") == [(None, 2)]
    two = length_frame([*items, *(replace(item, model="b", words=(item.words or 0) * 2) for item in items)])
    assert rows(two, "correlation", model="b", level="branch") == [(pytest.approx(-0.5),)]
    assert rows(two, "summaries", model="all models", level="branch") == [(6,)]


def fact(number: int, level: Level, *objections: str) -> KeyFact:
    return KeyFact(
        number,
        level,
        None,
        f"Fact {number}.",
        Evidence(""),
        tuple(Objection(objection, "") for objection in objections),
    )


def subject(title: str = "A Book", *, tokens: int = 1000) -> HamletCell:
    first = (fact(1, "root"), fact(2, "branch"), fact(3, "leaf", "significance"), fact(4, "leaf", "unjudged"))
    second = (fact(1, "root", "faithfulness", "objectivity"), fact(2, "branch", "orphaned"))
    third = (fact(1, "root"), fact(2, "branch"), fact(3, "branch"))
    trees = (
        Tree(0, "analytical", Span(0, 9), 0.2, first, "Why?"),
        Tree(1, "analytical", Span(9, 20), 0.7, second),
        Tree(0, "narrative", Span(0, 9), 0.2, third, "And then?"),
    )
    keyfacts = KeyFacts(title, title, "judge", "judge", {}, trees, ("no narrative key facts of chunk 2",))
    return HamletCell(Document(title, title, ""), tokens=tokens, keyfacts=keyfacts)


FAILED = HamletCell(Document("lost", "Lost", ""), tokens=500)
BOTH: tuple[Perspective, ...] = ("analytical", "narrative")


def test_sizes_count_what_passed_validation() -> None:
    table = size_frame(fact_frame([subject(), subject("Other", tokens=3000), FAILED], BOTH), BOTH)
    names = ("tokens", "trees", "queries", "root", "branch", "leaf", "facts", "unjudged")
    assert rows(table, *names, document="A Book", perspective="analytical") == [(1000, 2, 1, 1, 1, 0, 2, 1)]
    assert rows(table, *names, document="A Book", perspective="narrative") == [(1000, 1, 1, 1, 2, 0, 3, 0)]
    assert rows(table, *names, document="total", perspective="analytical") == [(4000, 4, 2, 2, 2, 0, 4, 2)]
    assert rows(table, *names, document="mean", perspective="narrative") == [(2000, 1, 1, 1, 2, 0, 3, 0)]


def test_pruning_is_told_by_level_and_reason() -> None:
    table = pruning_frame(fact_frame([subject(), FAILED], BOTH), BOTH)
    why = ("faithfulness", "objectivity", "significance", "orphaned", "unjudged")
    assert rows(table, "found", "pruned", "share", *why, perspective="analytical", level="root") == [
        (2, 1, 1 / 2, 1, 1, 0, 0, 0)
    ]
    assert rows(table, "found", "pruned", "share", *why, perspective="analytical", level="leaf") == [
        (2, 2, 1, 0, 0, 1, 0, 1)
    ]
    assert rows(table, "found", "pruned", "share", perspective="narrative", level="leaf") == [(0, 0, None)]
    assert rows(table, "found", "pruned", "share", perspective="both", level="all") == [(9, 4, 4 / 9)]


def done(model: str, drafting: Totals) -> HamletItem:
    measured = {"recall": recall((1, 1), (1, 1), (1, 1)), "faithfulness": faithful((1, 1))}
    return item(model, taken=drafting, **measured)


def test_scores_are_drawn_against_cost_or_tokens() -> None:
    priced = Totals(calls=4, prompt_tokens=800, completion_tokens=80, cost_usd=0.25)
    cheap = Totals(calls=2, prompt_tokens=200, completion_tokens=20, cost_usd=0.05)
    items = [done("a", priced), done("a", cheap), done("b", cheap), item("b", failure=LOST)]
    table = summary_frame(items)
    # Drafting alone: 880 and 220 tokens for 0.25 and 0.05 USD; of b one, for the other was not drafted.
    assert rows(table, "tokens each", "USD each") == [(550, pytest.approx(0.15)), (220, 0.05)]
    plots: dict[str, Any] = drawn("hamlet", summaries=table)
    assert {"cost_recall", "cost_faithfulness"} == set(plots)
    marks = plots["cost_recall"].frame[["name", "cost", "score"]].to_numpy().tolist()
    assert marks == [["a", pytest.approx(0.15), 1.0], ["b", 0.05, 1.0]]
    free = summary_frame([done("a", replace(cheap, cost_usd=None))])
    assert rows(free, "tokens each", "USD each") == [(220, None)]
    tokens: dict[str, Any] = drawn("hamlet", summaries=free)
    assert tokens["cost_recall"].cost.startswith("tokens per summary")
    assert not drawn("hamlet", summaries=summary_frame([done("a", Totals())])), "the built-in model takes nothing"


def test_models_differ_over_common_queries_only() -> None:
    # Root 2 of 2 against 1 of 2, branch 3 of 4 against 1 of 4, leaf 1 of 4 against 1 of 4, all 6 of 10 against 3 of 10.
    # The third query has no recall by b, so it counts for neither.
    items = [
        item("a", 0.1, recall=recall((1, 1), (1, 2), (0, 3)), faithfulness=faithful((3, 4), none=(1, 2))),
        item("b", 0.1, recall=recall((0, 1), (1, 2), (0, 3)), faithfulness=faithful((1, 4), none=(0, 1))),
        item("a", 0.5, recall=recall((1, 1), (2, 2), (1, 1)), faithfulness=faithful((2, 2))),
        item("b", 0.5, recall=recall((1, 1), (0, 2), (1, 1)), faithfulness=faithful((2, 2))),
        item("a", 0.9, recall=recall((1, 1), (1, 1), (1, 1))),
        item("b", 0.9, failure=LOST),
    ]
    table = difference_frame(items)
    columns = ("level", "of first", "of second", "difference", "95% from", "queries", "drawn")
    assert rows(table, *columns, metric="recall") == [
        ("root", 1.0, 0.5, 0.5, None, 2, "queries"),
        ("branch", 0.75, 0.25, 0.5, None, 2, "queries"),
        ("leaf", 0.25, 0.25, 0.0, None, 2, "queries"),
        ("all", 0.6, 0.3, pytest.approx(0.3), None, 2, "queries"),
    ]
    # Faithful are 5 of 6 sentences against 3 of 6, and of those that carry no fact 1 of 2 against 0 of 1.
    expected_recall = dict(zip(("none", "all"), (0.5, 1 / 3), strict=True))
    for level, difference in expected_recall.items():
        assert rows(table, "difference", metric="faithfulness", level=level) == [(pytest.approx(difference),)]
    assert rows(table, "of first", "difference", metric="faithfulness", level="root") == [(None, None)]


def test_model_differences_resample_documents() -> None:
    # a states the root of one of five documents, and b of none. A resample has that document k times of five: 0 at the
    # lower end (P(0) = 0.328), and 3 of 5 at the upper (P(at most 2) = 0.942, P(at most 3) = 0.993).
    items = [
        replace(item(model, recall=recall((int(model == "a" and n == 0), 1), (0, 0), (0, 0))), document=f"d{n}")
        for n in range(5)
        for model in ("a", "b")
    ]
    actual = rows(difference_frame(items), "difference", "95% from", "95% to", "drawn", metric="recall", level="root")
    assert actual == [(pytest.approx(0.2), 0.0, pytest.approx(0.6), "documents")]


def test_figure_3_has_perspective_and_level_panels() -> None:
    pictures = drawn("hamlet", recall=recall_frame(ITEMS))
    assert {f"recall_analytical_{level}" for level in LEVELS} | {"recall_by_place"} == set(pictures)
    points = pictures["recall_analytical_root"].frame.dropna(subset=["x", "y"])
    # Of the five fifths, in their middles, a has a root in the first and the last.
    assert points.loc[points["series"] == "a", ["x", "y"]].to_numpy().tolist() == [[10, 0.5], [90, 1]]
