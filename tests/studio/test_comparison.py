"""Runs are compared by figures that were worked out by hand, and what cannot be compared is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from redraft.domain import Evaluation
from redraft.errors import RunError, UsageError
from redraft.evaluators.statistics import Interval, interval_of_mean
from redraft.report.dossier.contents import JudgedItem, read_dossier
from redraft.settings import ModelSettings
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.studio.comparison import (
    RunComparison,
    ScoreDifference,
    item_values,
    judging_terms,
    read_comparison,
    standing,
)
from redraft.studio.comparison_views import comparison_page, comparison_verdict
from tests.history.test_judges import HASHES, HERE, run_judged_by
from tests.studio.judged_runs import JudgedRuns

RUN = run_judged_by("openai:a")
NEAR = {"near": ModelSettings(model="openai:a", base_url=HERE)}


@pytest.mark.parametrize(
    ("changed", "different"),
    [
        (run_judged_by("openai:a", questions=7, batch=1, pack="p"), []),
        (run_judged_by("near", base_url=None, models=NEAR), []),
        (replace(RUN, prompt_hashes={**HASHES, "merge": "5"}), []),
        (run_judged_by("openai:a", base_url="http://there/v1"), ["the judges differ"]),
        (run_judged_by("openai:a", "openai:b"), ["the judges differ"]),
        (run_judged_by("openai:a", repeat=3), ["the ways of judging differ"]),
        (replace(RUN, prompt_hashes={**HASHES, "ask_summary": "9"}), ["the prompts differ"]),
        (run_judged_by("extractive"), ["the judges differ", "the prompts differ"]),
    ],
)
def test_terms_name_what_makes_scores_incomparable(changed: Run, different: list[str]) -> None:
    terms, changed_terms = (judging_terms(each_run, "consistency", 3) for each_run in (RUN, changed))
    assert [what for what in terms if terms[what] != changed_terms[what]] == different
    assert terms != judging_terms(RUN, "consistency", 4)


@pytest.fixture(scope="module")
def store(keepers: JudgedRuns) -> Iterator[Store]:
    with Store(keepers.database) as store:
        yield store


@pytest.fixture(scope="module")
def pair(keepers: JudgedRuns, store: Store) -> RunComparison:
    """Of ten keepers the first summary names 1, 3, 4 and wrongly 2, the second names 1, 2 and 5."""
    return read_comparison(store, [keepers.first, keepers.second])


def test_intervals_and_values_by_hand() -> None:
    # Of ten coins the mean of a resample is a tenth of a binomial number: of (10, 1/2) 2 to 8 hold at least 95 %.
    assert interval_of_mean([0.0] * 5 + [1.0] * 5) == pytest.approx((0.2, 0.8), abs=0.01)
    assert interval_of_mean([0.0] * 5 + [1.0] * 5) == interval_of_mean([1.0, 0.0] * 5), "the order makes no difference"
    assert interval_of_mean([0.0, 1.0, 0.0, 1.0]) is None, "four values are too few"
    assert [interval_of_mean([value] * 5) for value in (0.0, 0.25)] == [(0.0, 0.0), (0.25, 0.25)]
    items = {"claims": [{"value": 1.0}, {"value": 0.0}, {"value": None}], "others": [{"value": 0.25}, {"value": 0.25}]}
    scored = Evaluation("m", 1, "scored", 0.5, judged=2, unjudged=1, details=items)
    assert item_values(scored) == [1.0, 0.0]
    assert item_values(replace(scored, score=0.7)) == ()
    assert item_values(Evaluation("m", 1, "failed", None, details=items)) == ()


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ({"answered": 1.0, "unanswered": 0.0}, "flipped"),
        ({"contradicted": 1.0, "unanswered": 0.0}, "flipped"),
        ({"answered": 1.0, "contradicted": 1.0}, "changed"),
        ({"disputed": 0.4, "unanswered": 0.0}, "changed"),
        ({"answered": 1.0, "unanswered": 0.0, "unjudged": None}, "open"),
        ({"answered": 1.0}, "same"),
    ],
)
def test_standing_of_an_item(verdicts: dict[str, float | None], expected: str) -> None:
    item = JudgedItem("", "", text="", verdict="", value=None, place=None, sentences=(), key="")
    items = [replace(item, verdict=name, value=value) for name, value in verdicts.items()]
    assert standing([item if item.verdict else None for item in items]) == expected


def test_verdict_claims_only_clear_differences(pair: RunComparison) -> None:
    equal, differing = pair.differences

    def clauses(of: ScoreDifference, **changes: Any) -> list[str]:
        changed = pair.model_copy(update={"differences": (of.model_copy(update=changes),)})
        return [says for _, _, says in comparison_verdict(changed)]

    length = "they have 28 and 21 words: the longer has more room"
    assert clauses(equal) == ["Coverage is equal", length]
    assert clauses(differing, interval=Interval(-0.4, -0.1)) == ["Consistency is higher for B", length]
    assert clauses(differing, interval=Interval(-0.4, 0.1)) == ["No clear difference in consistency", length]
    assert clauses(differing, interval=None) == ["Consistency 0.75 for A and 1.00 for B", length]
    assert clauses(differing, difference=None) == []


@pytest.mark.slow
def test_flipped_items_come_first(pair: RunComparison) -> None:
    questions = [(item.item.text.rstrip("?").split()[4], item.standing) for item in pair.items]
    assert questions[:4] == [("2", "flipped"), ("3", "flipped"), ("4", "flipped"), ("5", "flipped")]
    assert {standing for _, standing in questions[4:]} == {"same"}
    assert [item.number for item in pair.items] == list(range(1, 11))
    third = pair.items[1]
    verdicts = [(run, item.verdict, item.found) for run, item in third.verdicts.items() if item]
    assert verdicts == [("A", "answered", "Tom3"), ("B", "unanswered", "")]
    assert third.item.expected == "Tom3"
    assert third.item.evidence is not None
    assert "keeper number 3 is called Tom3" in third.item.evidence.text


def test_runs_and_differences_have_figures(pair: RunComparison) -> None:
    coverage, consistency = pair.differences
    # 3 of 10 against 3 of 10: two more, two less, six alike.
    assert (coverage.metric, coverage.pairs) == ("coverage", 10)
    assert coverage.difference == pytest.approx(0)
    assert coverage.interval == interval_of_mean([1.0, 1.0, -1.0, -1.0, *[0.0] * 6])
    page = " ".join(comparison_page(pair).split())
    assert "Coverage is the same for A and B, over 10 items judged for both. The 95% interval" in page
    assert "It includes 0, so there may be no difference." in page
    # 3 of 4 claims hold of the first, all 3 of the second. They are other claims, and cannot be paired.
    assert (consistency.difference, consistency.interval) == (pytest.approx(-0.25), None)
    assert "Consistency is 0.25 lower for A than for B. It judges each summary's own sentences, which cannot" in page
    assert [(run.letter, run.label) for run in pair.runs] == [("A", "your summary"), ("B", "your summary")]
    first, second = (run.scores for run in pair.runs)
    assert (first["coverage"].score, second["coverage"].score) == (0.3, 0.3)
    assert first["coverage"].interval == interval_of_mean([1.0] * 3 + [0.0] * 7)
    assert (first["consistency"].score, first["consistency"].interval) == (0.75, None), "four items are too few"
    page = comparison_page(pair)
    assert page.count('class="sentence flawed"') == page.count('class="sentence flawed" id="A-s2"') == 1
    assert "coverage: contradicted" in page


def test_incomparable_scores_are_not_compared(keepers: JudgedRuns, store: Store) -> None:
    comparison = read_comparison(store, [keepers.first, keepers.other_judge])
    assert any("coverage are not comparable: the judges differ" in warning for warning in comparison.warnings)
    coverage = next(difference for difference in comparison.differences if difference.metric == "coverage")
    assert (coverage.difference, coverage.interval) == (None, None)
    assert coverage.reason == "the judges differ"
    assert "Not compared: the judges differ." in comparison_page(comparison)
    comparison = read_comparison(store, [keepers.first, keepers.other_pack])
    assert any("the questions or key facts differ" in warning for warning in comparison.warnings)
    assert all(item.standing == "open" for item in comparison.items)
    assert "not asked" in comparison_page(comparison)
    comparison = read_comparison(store, [keepers.first, keepers.hole])
    (open_item,) = [item for item in comparison.items if item.standing == "open"]
    verdict = open_item.verdicts["B"]
    assert verdict is not None
    assert verdict.value is None
    coverage = comparison.differences[0]
    assert coverage.pairs == 9
    assert any("B: 1 of 10 items of coverage has no verdict" in warning for warning in comparison.warnings)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["first"], "you gave only one run"),
        (["first", "first"], "is given twice"),
        (["first", "elsewhere"], "these runs are of different documents: "),
        (["first", "pack"], "made no summary: it builds questions"),
    ],
)
def test_nothing_to_compare_is_an_error(keepers: JudgedRuns, store: Store, names: list[str], message: str) -> None:
    with pytest.raises((UsageError, RunError), match=message):
        read_comparison(store, [getattr(keepers, name) for name in names])
    with pytest.raises(RunError, match="made no summary: it builds questions"):
        read_dossier(store, keepers.pack)
    with pytest.raises(UsageError, match="runs is the text '3fa2c1d0'"):
        read_comparison(store, "3fa2c1d0")
    database: Any = "redraft.db"
    with pytest.raises(UsageError, match="store is of the type str"):
        read_comparison(database, ["3fa2c1d0", "4fa2c1d0"])


def test_missing_scores_are_named_with_reasons(keepers: JudgedRuns, store: Store) -> None:
    for keys in ([keepers.plain, keepers.plainer], [keepers.first, keepers.plain]):
        assert read_comparison(store, keys).warnings[0].startswith("No metric has scored two of these runs")
    comparison = read_comparison(store, [keepers.first, keepers.coverage_only, keepers.failed])
    (failed,) = [warning for warning in comparison.warnings if "No consistency score" in warning]
    assert "B has not been judged for consistency." in comparison.warnings
    reason = comparison.runs[2].result.evaluations["consistency"].reason
    assert failed == f"No consistency score for C: {reason}."
    assert {difference.metric for difference in comparison.differences} == {"coverage"}
    assert set(comparison.runs[1].scores) == {"coverage"}
