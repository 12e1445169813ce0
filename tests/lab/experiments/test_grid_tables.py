"""The tables of a grid and of LongSumEval's refinement, with numbers that are worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redraft.lab.experiments.experiment import Outcome
from redraft.lab.experiments.frames import spent
from redraft.lab.experiments.published import draw_pictures
from redraft.report.tables import Table
from redraft.runs.experiment_runner import Failure
from redraft.settings import DraftConfig, JudgeConfig, ModelSettings, Price
from tests.lab.experiments.grids import (
    contestant,
    design,
    judged,
    outcome,
    refined,
    refined_outcome,
    refining,
    totals,
    voted,
)
from tests.lab.experiments.made import rows

DOCUMENTS = ("d1", "d2", "d3", "d4", "d5")


def table_of(name: str, experiment_outcome: Any) -> Table:
    tables: tuple[Table, ...] = experiment_outcome.report().tables
    return next(table for table in tables if table.name == name)


def one_row(table: Table, *names: str, **criteria: Any) -> tuple[Any, ...]:
    (row,) = rows(table, *names, **criteria)
    return row


def lone_winner() -> Outcome[Any, Any]:
    """`a` is better by 1 on one of five documents, and as good on the others."""
    judgments = [judged(document, "a", {"coverage": float(document == "d1")}) for document in DOCUMENTS]
    return outcome(design("a", "b"), judgments + [judged(document, "b", {"coverage": 0.0}) for document in DOCUMENTS])


def test_paired_differences_resample_documents() -> None:
    # A resample of five has the one document k times, and the mean k/5, with k binomial over five draws of 0.2: P(0) =
    # 0.328 is more than 2.5 %, P(at most 2) = 0.942 is less than 97.5 %, and P(at most 3) = 0.993 is more. So the
    # interval is from 0 to 3/5, whatever is drawn.
    actual = one_row(
        table_of("differences", lone_winner()), "difference", "95% from", "95% to", "documents", "left out"
    )
    assert actual == pytest.approx((0.2, 0.0, 0.6, 5, 0))
    counts = one_row(table_of("differences", lone_winner()), "higher", "lower", "equal")
    assert counts == (1, 0, 4)
    assert one_row(table_of("scores", lone_winner()), "score", "95% from", "95% to", "sd", system="a") == pytest.approx(
        (0.2, 0.0, 0.6, 0.4472135955)  # the deviation of 1, 0, 0, 0, 0: the root of 0.8 / 4
    )


def test_repeated_summaries_average_and_holes_drop_out() -> None:
    # On d1 `a` has 0.2 and 0.6, so 0.4, and b 0.1: 0.3. On d2 a has 0.5, and b 0.6: -0.1. On d3 b has no score. So the
    # mean difference is 0.1 over two documents, and a's mean is (0.4 + 0.5 + 0.9) / 3 = 0.6.
    scores = [
        ("d1", "a", 0.2),
        ("d1", "b", 0.1),
        ("d2", "a", 0.5),
        ("d2", "b", 0.6),
        ("d3", "a", 0.9),
        ("d3", "b", None),
    ]
    judgments = [judged(document, name, {"coverage": score}) for document, name, score in scores]
    judgments.append(judged("d1", "a", {"coverage": 0.6}, number=2))
    grid_outcome = outcome(design("a", "b"), judgments)
    columns = ("difference", "95% from", "documents", "higher", "lower", "left out")
    actual = one_row(table_of("differences", grid_outcome), *columns)
    assert actual == (pytest.approx(0.1), None, 2, 1, 1, 1)
    columns = ("score", "documents", "summaries", "of", "failed", "unjudged")
    assert one_row(table_of("scores", grid_outcome), *columns, system="a") == (pytest.approx(0.6), 3, 4, 4, 0, 0)
    assert one_row(table_of("scores", grid_outcome), *columns, system="b") == (pytest.approx(0.35), 2, 2, 3, 1, 3)
    assert one_row(table_of("summaries", grid_outcome), "coverage", "status", document="D3", system="b") == (
        None,
        "failed",
    )
    assert table_of("failures", grid_outcome).rows[0][2:4] == ("coverage", "no score")


def test_judges_average_only_over_common_items() -> None:
    # j says 0.2 and 0.6 of a, and 0 of b; k says 0.4 and 0.8 of a, and on d2 nothing of b. Over both a has 0.3 and 0.7
    # and b 0 on d1 alone, so that they differ by 0.3 there.
    scores_by_judge = [("d1", "j", 0.2, 0.0), ("d2", "j", 0.6, 0.0), ("d1", "k", 0.4, 0.0), ("d2", "k", 0.8, None)]
    judgments = [judged(document, "a", {"coverage": a}, judge) for document, judge, a, _ in scores_by_judge]
    judgments += [judged(document, "b", {"coverage": b}, judge) for document, judge, _, b in scores_by_judge]
    grid_outcome = outcome(design("a", "b", judges=("j", "k")), judgments)
    differences = rows(table_of("differences", grid_outcome), "judge", "difference", "documents")
    assert differences == [
        ("j", pytest.approx(0.4), 2),
        ("k", pytest.approx(0.4), 1),
        ("mean of judges", pytest.approx(0.3), 1),
    ]
    (a, b) = rows(table_of("configurations", grid_outcome), "coverage", "summaries", "of")
    assert a == (pytest.approx(0.5), 2, 2)
    assert b == (pytest.approx(0.0), 2, 2)


def test_judges_agreement_uses_scores_and_votes() -> None:
    # Scores 0.2 and 0.6 by j, 0.4 and 0.8 by k: always 0.2 apart, in the same order. The squares within summaries are
    # 0.04; over all six pairs of values (0.04 × 3 + 0.16 × 2 + 0.36) / 6 = 0.1333. Alpha is 1 - 0.04 / 0.1333 = 0.7.
    judgments = [judged(document, "a", {"coverage": score}) for document, score in (("d1", 0.2), ("d2", 0.6))]
    judgments += [judged(document, "a", {"coverage": score}, "k") for document, score in (("d1", 0.4), ("d2", 0.8))]
    # Votes a, a, b, b by j and a, a, b, tie by k: 3 of 4 equal. By chance 0.5 × 0.5 + 0.5 × 0.25 = 0.375, so kappa is
    # 0.375 / 0.625 = 0.6. Of eight votes four are a, three b, one a tie: by chance 1 - (12 + 6) / 56 = 38 / 56 differ,
    # so alpha is 1 - 0.25 / (38 / 56) = 0.6316. d5 is one text, of which nobody was asked.
    votes = [("d1", "a", "a"), ("d2", "a", "a"), ("d3", "b", "b"), ("d4", "b", "tie")]
    pairs = [voted(document, j) for document, j, _ in votes] + [voted(document, k, "k") for document, _, k in votes]
    pairs += [voted("d5", "tie", judge, same=True) for judge in ("j", "k")]
    grid_outcome = outcome(design("a", "b", judges=("j", "k"), prefer=True), judgments, pairs)
    table = table_of("judges", grid_outcome)
    actual = one_row(table, "items", "difference", "tau-b", "alpha", of="coverage")
    assert actual == pytest.approx((2, -0.2, 1.0, 0.7))
    actual = one_row(table, "items", "equal", "kappa", "alpha", of="preference: overall")
    assert actual == pytest.approx((4, 0.75, 0.6, 1 - 0.25 / (38 / 56)))


def test_preferences_are_shares_of_decided_pairs() -> None:
    # Five for a, three for b, two ties, of which one leans to a and in one the order decides: 50 %, 30 %, 20 %, and a
    # balance of 0.2. Of one pair the judge cannot tell, one failed, and one was not made.
    winners = ["a"] * 5 + ["b"] * 3
    pairs = [voted(f"d{n}", winner) for n, winner in enumerate(winners)]
    pairs += [voted("d8", "tie", leaning="a"), voted("d9", "tie", order_decides=True), voted("d10", "")]
    pairs += [voted("d11", "", failure=Failure("preference", "rejected", "no")), voted("d12", "", made=False)]
    judgments = [judged("d1", "a", {"coverage": 1.0}), judged("d1", "b", {"coverage": 1.0})]
    table = table_of("preferences", outcome(design("a", "b", prefer=True), judgments, pairs))
    shares = one_row(table, "% first", "% second", "% tie", "balance", "verdicts", aspect="overall")
    assert shares == pytest.approx((50, 30, 20, 0.2, 10))
    columns = ("for first", "for second", "ties", "lean to first", "lean to second", "order decides", "cannot tell")
    assert one_row(table, *columns, "failed", "of", aspect="logic") == (5, 3, 2, 1, 0, 1, 1, 1, 13)
    low, high = one_row(table, "95% from", "95% to", aspect="overall")
    assert -1 < low < 0.2 < high < 1


def test_configurations_show_settings_and_mean_results() -> None:
    # Words: two summaries of three. Tokens 10 and 20, novel trigrams 0.5 and 0.7, so 60 %; repeated 0 and 0.1, so 5 %.
    grid_design = design("a")
    set_up = contestant("a", strategy="hierarchical", chunk_tokens=512, words=100)
    grid_design = grid_design.model_copy(update={"contestants": (set_up,)})
    judgments = [
        judged("d1", "a", {"coverage": 0.5}, lengths={"tokens": 10, "novel_trigrams": 0.5, "repeated_trigrams": 0.0}),
        judged("d2", "a", {"coverage": 1.0}, lengths={"tokens": 20, "novel_trigrams": 0.7, "repeated_trigrams": 0.1}),
    ]
    table = table_of("configurations", outcome(grid_design, judgments))
    assert table.rows[0][:6] == ("a", "a", "hierarchical", 512, 100, pytest.approx(0.75))
    assert table.rows[0][6:] == (3.0, 15.0, pytest.approx(60.0), pytest.approx(5.0), 2, 2)


def test_an_unknown_price_makes_cost_unknown() -> None:
    judgments = [
        judged("d1", "a", {"coverage": 1.0}, taken=totals(2, 100, 10, 0.5)),
        judged("d2", "a", {"coverage": 1.0}, taken=totals(4, 300, 30, 1.5)),
        judged("d1", "b", {"coverage": 1.0}, taken=totals(1, 10, 1, None)),
    ]
    assert list(spent(item.taken for item in judgments).values()) == [7, 0, 410, 41, None]
    assert spent(item.taken for item in judgments[:2])["USD"] == 2.0
    # Tokens and money stand beside the scores, for the picture.
    assert one_row(table_of("scores", outcome(design("a", "b"), judgments)), "tokens each", "USD each", system="a") == (
        220,
        1,
    )


def test_reports_show_holes_and_draw_the_rest() -> None:
    lost = Failure("summaries", "missing", "it has no summary of this document")
    hole = judged("d2", "people", {})
    hole = replace(hole, text=None, failure=lost)
    grid_design = design("a", prefer=True, ready={"people": {"d1": ("x",)}})
    grid_design = grid_design.model_copy(
        update={"contestants": (*grid_design.contestants, type(grid_design.contestants[0])("people"))}
    )
    judgments = [judged(one, "a", {"coverage": 0.5}, taken=totals(1, 9, 1)) for one in ("d1", "d2")]
    pairs = [replace(one, second="people") for one in (voted("d1", "a"), voted("d2", "", made=False))]
    grid_outcome = outcome(grid_design, [*judgments, judged("d1", "people", {"coverage": 1.0}), hole], pairs)
    report = grid_outcome.report()
    pictures = draw_pictures("grid", report.tables)
    assert {"scores", "differences_1", "preferences_1", "documents", "cost_coverage"} == set(pictures)
    by_name = {table.name: table for table in report.tables}
    assert one_row(by_name["summaries"], "status", "coverage", document="D2", system="people") == ("failed", None)
    assert "it has no summary of this document" in report.to_markdown()
    assert [item["status"] for item in report.items] == ["done", "done", "done", "failed", "done", "not made"]
    assert report.headline[1] == "people: coverage 1.00"
    assert report.to_markdown().count(grid_outcome.basis) == 1
    better = (
        "people scores 0.50 higher in coverage than a; with 1 document there is no interval (it takes 5), so this may"
        " be chance."
    )
    assert report.verdict == better
    assert all(better in text for text in (report.brief(), report.files()["report.md"]))


def test_records_hold_no_texts_servers_or_keys() -> None:
    grid_design = design("a", "b", judges=("j", "k"), prefer=True, ready={"people": {"d1": ("A secret text.",)}})
    place: dict[str, Any] = {
        "base_url": "http://secret/v1",
        "key_env": "SECRET",
        "price": Price(prompt=1, completion=2),
    }
    contestants = tuple(
        replace(contestant, settings=DraftConfig(words=90, **place)) for contestant in grid_design.contestants
    )
    judges = tuple(replace(judge, settings=DraftConfig(**place)) for judge in grid_design.judges)
    judging = JudgeConfig(metrics=("coverage",), models={"j": ModelSettings(model="m", base_url="http://secret/v1")})
    grid_design = grid_design.model_copy(update={"contestants": contestants, "judges": judges, "judging": judging})
    judgment = judged(
        "d1", "a", {"coverage": 0.5}, text="A secret text.", runs={"drafting": "r1"}, taken=totals(1, 9, 1)
    )
    report = outcome(grid_design, [judgment], [voted("d1", "b", leaning="b")]).report()
    assert "secret" not in "".join(report.files().values()).casefold()
    summary, pair = report.items
    assert "seconds" not in str(summary["taken"])
    assert str(pair["votes"]).count("'winner': 'second'") == 4


def four() -> Any:
    """Four documents: coverage and consistency of first drafts, and of what became of them."""
    return [
        refined("d1", {"coverage": 0.4, "consistency": 0.5}, {"coverage": 0.6, "consistency": 0.8}),
        refined("d2", {"coverage": 0.5, "consistency": 1.0}, {"coverage": 0.5, "consistency": 1.0}),
        refined(
            "d3",
            {"coverage": 0.7, "consistency": 0.7},
            {"coverage": 0.8, "consistency": 0.7},
            {"coverage": 0.9, "consistency": 0.9},
        ),
        refined("d4", {"coverage": 0.8, "consistency": 0.8}),
    ]


def test_refining_gains_by_subset_as_table_iii() -> None:
    table = table_of("gains", refined_outcome(refining("paper"), *four()))
    columns = ("initial", "refined", "change %", "gain", "documents", "summaries", "of")
    # All: 0.4, 0.5, 0.7, 0.8 become 0.6, 0.5, 0.9, 0.8; 0.6 becomes 0.7, which is a sixth more.
    actual = one_row(table, *columns, subset="all", metric="coverage")
    assert actual == pytest.approx((0.6, 0.7, 100 / 6, 0.1, 4, 4, 4))
    # Low coverage: d1 and d2, 0.45 to 0.55. Low consistency (below 0.73): d1 and d3, 0.6 to 0.85 in consistency.
    assert one_row(table, *columns, subset="coverage < 0.6", metric="coverage") == pytest.approx(
        (0.45, 0.55, 100 / 4.5, 0.1, 2, 2, 2)
    )
    assert one_row(table, *columns, subset="consistency < 0.73", metric="consistency") == pytest.approx(
        (0.6, 0.85, 100 * 0.25 / 0.6, 0.25, 2, 2, 2)
    )
    sd = one_row(table, "sd initial", "sd refined", subset="coverage < 0.6", metric="coverage")
    assert sd == pytest.approx((0.1 / 2**0.5, 0.1 / 2**0.5))


def test_refining_gains_by_round() -> None:
    refining_outcome = refined_outcome(refining("paper"), *four())
    # Round 1: 0.6, 0.5, 0.8, 0.8, so 0.675 and 0.075 more. Round 2: d3 alone goes on, to 0.9; the others stay.
    columns = ("round", "score", "gain", "step", "revised", "taken", "meet all", "summaries")
    actual = rows(table_of("rounds", refining_outcome), *columns, metric="coverage")
    assert actual[0] == pytest.approx((0, 0.6, 0.0, None, 0, 0, 1, 4))
    assert actual[1] == pytest.approx((1, 0.675, 0.075, 0.075, 3, 2, 2, 4))
    assert actual[2] == pytest.approx((2, 0.7, 0.1, 0.025, 1, 1, 3, 4))


def test_thresholds_and_orders_are_compared() -> None:
    by_editor = [
        refined("d1", {"coverage": 0.4, "consistency": 0.5}, {"coverage": 0.4, "consistency": 0.9}, order="editor"),
        refined("d2", {"coverage": 0.5, "consistency": 1.0}, {"coverage": 0.7, "consistency": 1.0}, order="editor"),
        refined("d3", {"coverage": 0.7, "consistency": None}, order="editor"),
        refined("d4", order="editor", failure=Failure("refining", "rejected", "no")),
    ]
    refining_outcome = refined_outcome(refining("paper", "editor"), *four(), *by_editor)
    columns = ("met at first", "met at last", "open", "revisions", "summaries", "of")
    # Paper: d4 meets both from the start; d1 and d3 do so at the end. Revisions: 1, 1, 2, 0.
    assert rows(table_of("thresholds", refining_outcome), *columns) == [
        (1, 3, 0, 1.0, 4, 4),
        (0, 1, 1, pytest.approx(2 / 3), 3, 4),
    ]
    # Of d1, d2 and d3 both orders have a coverage: 0.6, 0.5, 0.9 less 0.4, 0.7, 0.7 is 0.2, -0.2, 0.2 and 0.0667 on
    # average; of d1 and d2 a consistency: 0.8 - 0.9 and 1 - 1.
    actual = rows(table_of("orders", refining_outcome), "metric", "difference", "documents", "of")
    assert actual == [("coverage", pytest.approx(0.2 / 3), 3, 4), ("consistency", pytest.approx(-0.05), 2, 4)]


def test_refining_reports_draw_gains_and_name_failures() -> None:
    refinements = [*four(), refined("d5", failure=Failure("refining", "rejected", "no such thing"))]
    report = refined_outcome(refining("paper"), *refinements).report()
    assert set(draw_pictures("longsumeval", report.tables)) == {"rounds_coverage", "rounds_consistency", "gains_1"}
    assert "no such thing" in report.to_markdown()
    assert "Based on 4 of 5 items (one draft refined in one way each); 1 failed" in report.to_markdown()
    assert report.headline[0] == "a, coverage 0.6, consistency 0.73, paper, questions: coverage 0.60 → 0.70 (16.67%)"
    assert not [table.name for table in report.tables if table.name == "orders"], "there is one order only"
