"""Runs beside each other: figures that were worked out by hand, and what cannot be compared."""

from __future__ import annotations

import pytest

from redraft.domain import Evaluation
from redraft.errors import RunError, UsageError
from redraft.report.dossier.comparison.build import fifth_of, read_comparison, standing
from redraft.report.dossier.comparison.contents import RunComparison, RunVerdict
from redraft.report.dossier.comparison.sides import interval_of_mean, item_values, letters
from redraft.report.pages.comparison import comparison_page
from redraft.store.store import Store
from tests.dossier.keepers import Shelf


def verdict(word: str, value: float | None) -> RunVerdict:
    return RunVerdict(run="", verdict=word, value=value, found="", sentences=())


def test_an_interval_of_what_is_always_the_same_is_that() -> None:
    for value in (0.0, 1.0, 0.25):
        found = interval_of_mean([value] * 5)
        assert found is not None
        assert (found.low, found.high) == (value, value)


def test_an_interval_holds_what_resamples_by_hand_would_come_to() -> None:
    # Of ten coins the mean of a resample is a tenth of a binomial number: of (10, 1/2) 2 to 8 hold at least 95 %.
    found = interval_of_mean([0.0] * 5 + [1.0] * 5)
    assert found is not None
    assert found.low == pytest.approx(0.2, abs=0.01)
    assert found.high == pytest.approx(0.8, abs=0.01)
    assert interval_of_mean([1.0, 0.0] * 5) == found, "the order makes no difference"


def test_from_fewer_than_five_values_there_is_no_interval() -> None:
    assert interval_of_mean([0.0, 1.0, 0.0, 1.0]) is None
    assert interval_of_mean([0.0, 1.0, 0.0, 1.0, 1.0]) is not None


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([("answered", 1.0), ("unanswered", 0.0)], "flipped"),
        ([("contradicted", 1.0), ("unanswered", 0.0)], "flipped"),
        ([("answered", 1.0), ("contradicted", 1.0)], "changed"),
        ([("disputed", 0.4), ("unanswered", 0.0)], "changed"),
        ([("disputed", 0.6), ("unanswered", 0.0)], "flipped"),
        ([("answered", 1.0), ("unjudged", None)], "open"),
        ([("answered", 1.0), ("unanswered", 0.0), ("unjudged", None)], "open"),
        ([("answered", 1.0), ("", None)], "open"),
        ([("answered", 1.0), ("answered", 1.0)], "same"),
    ],
)
def test_whether_an_item_flipped(verdicts: list[tuple[str, float | None]], expected: str) -> None:
    assert standing([verdict(*one) for one in verdicts]) == expected


def test_letters_go_on_behind_z() -> None:
    known = ["A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]
    assert [letters(at) for at in (0, 1, 25, 26, 27, 51, 52, 701, 702)] == known


def test_a_place_belongs_to_one_fifth() -> None:
    assert [fifth_of(percent) for percent in (0, 19, 20, 39, 40, 79, 80, 99, 100)] == [0, 0, 1, 1, 2, 3, 4, 4, 4]


def test_only_what_a_score_is_the_mean_of_has_an_interval() -> None:
    items = {"claims": [{"value": 1.0}, {"value": 0.0}, {"value": None}], "others": [{"value": 0.25}, {"value": 0.25}]}
    assert item_values(Evaluation("m", 1, "scored", 0.5, judged=2, unjudged=1, details=items)) == [1.0, 0.0]
    assert item_values(Evaluation("m", 1, "scored", 0.7, judged=2, unjudged=1, details=items)) == ()
    assert item_values(Evaluation("m", 1, "failed", None, details=items)) == ()


@pytest.fixture(scope="module")
def pair(keepers: Shelf) -> RunComparison:
    """Of ten keepers the first summary names 1, 3, 4 and wrongly 2, the second names 1, 2 and 5."""
    with Store(keepers.database) as store:
        return read_comparison(store, [keepers.first, keepers.second])


def test_items_and_titles_are_in_the_language_of_their_document(pair: RunComparison) -> None:
    def paged(document: str, summary: str) -> str:
        documents = tuple(one.model_copy(update={"language": document}) for one in pair.documents)
        runs = tuple(one.model_copy(update={"language": summary}) for one in pair.runs)
        return comparison_page(pair.model_copy(update={"documents": documents, "runs": runs}))

    page = paged("he", "ar")
    items = len(pair.documents[0].items)
    assert page.count('<span dir="auto" lang="he">') == items + sum(bool(i.expected) for i in pair.documents[0].items)
    assert page.count('<q dir="auto" lang="ar">') == page.count("<q ") > 0
    assert page.count('<span lang="ar">') == sum(len(run.sentences) for run in pair.runs)
    assert 'dir="auto" lang' not in paged("", "")


@pytest.mark.slow
def test_what_flipped_comes_first_then_what_is_told_otherwise(pair: RunComparison) -> None:
    (document,) = pair.documents
    asked = [(one.text.rstrip("?").split()[4], one.standing) for one in document.items]
    assert asked[:4] == [("2", "flipped"), ("3", "flipped"), ("4", "flipped"), ("5", "flipped")]
    assert {one for _, one in asked[4:]} == {"same"}
    assert [one.number for one in document.items] == list(range(1, 11))
    three = document.items[1]
    assert [(one.run, one.verdict, one.found) for one in three.verdicts] == [
        ("A", "answered", "Tom3"),
        ("B", "unanswered", ""),
    ]
    assert three.expected == "Tom3"
    assert three.place is not None
    assert "keeper number 3 is called Tom3" in three.place.text


def test_the_difference_is_paired_by_item(pair: RunComparison) -> None:
    coverage, consistency = pair.differences
    # 3 of 10 against 3 of 10: two more, two less, six alike.
    assert (coverage.metric, coverage.pairs, coverage.left_out, coverage.over) == ("coverage", 10, 0, "items")
    assert coverage.difference == pytest.approx(0)
    assert coverage.interval == interval_of_mean([1.0, 1.0, -1.0, -1.0, *[0.0] * 6])
    assert "is the same for A and B" in coverage.says
    assert "includes 0, so there may be no difference" in coverage.says
    # 3 of 4 claims hold of the first, all 3 of the second. They are other claims, and cannot be paired.
    assert consistency.difference == pytest.approx(-0.25)
    assert consistency.interval is None
    assert "cannot be paired" in consistency.says


def test_scores_have_intervals_where_there_are_enough_items(pair: RunComparison) -> None:
    first, second = ({one.metric: one for one in run.scores} for run in pair.runs)
    assert (first["coverage"].score, second["coverage"].score) == (0.3, 0.3)
    assert first["coverage"].interval == interval_of_mean([1.0] * 3 + [0.0] * 7)
    assert (first["consistency"].score, first["consistency"].judged) == (0.75, 4)
    assert first["consistency"].interval is None


def test_where_they_differ_is_told_by_fifth(pair: RunComparison) -> None:
    told = {one.fifth: one for one in pair.fifths if one.measure == "coverage"}
    # Two of ten keepers stand in each fifth: of the first both are named by both, one of them wrongly by the first.
    assert (told[1].values, told[1].pairs, told[1].interval) == ((0.5, 1.0), 2, None)
    assert told[2].values == (1.0, 0.0)
    assert told[3].values == (0.0, 0.5)
    assert all(sum(one.fifths) == pytest.approx(1) for one in pair.contestants)


def test_runs_that_differ_in_nothing_are_told_apart_by_their_ids(pair: RunComparison, keepers: Shelf) -> None:
    assert [one.label for one in pair.contestants] == [
        f"your summary ({keepers.first})",
        f"your summary ({keepers.second})",
    ]


def test_a_wrong_sentence_is_marked(pair: RunComparison) -> None:
    marked = [one.number for one in pair.runs[0].sentences if one.wrong]
    assert marked == [2]
    assert "coverage: contradicted" in pair.runs[0].sentences[1].wrong


def test_several_documents_are_paired(keepers: Shelf) -> None:
    with Store(keepers.database) as store:
        found = read_comparison(store, keepers.named)
    assert [(one.letter, one.label, len(one.runs)) for one in found.contestants] == [
        ("A", "much", 7),
        ("B", "little", 6),
    ]
    (coverage,) = found.differences
    # Of n keepers one has n - 1 and the other 1, for n from 5 to 10; one document has no second summary.
    expected = [(n - 2) / n for n in range(5, 11)]
    assert (coverage.pairs, coverage.left_out, coverage.over) == (6, 1, "documents")
    assert coverage.difference == pytest.approx(sum(expected) / 6)
    assert coverage.interval == interval_of_mean(expected)
    assert "excludes 0" in coverage.says
    assert any("1 of 7 documents have runs of one system only" in one for one in found.warnings)
    fifths = {one.fifth: one for one in found.fifths if one.measure == "coverage"}
    assert fifths[1].over == "documents"
    assert fifths[5].values[1] == 0.0
    assert len(found.documents) == 7
    numbers = [item.number for document in found.documents for item in document.items]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_same_comparison_is_the_same_to_the_byte(keepers: Shelf) -> None:
    with Store(keepers.database) as store:
        one, other = (read_comparison(store, keepers.named).model_dump_json() for _ in range(2))
    assert one == other


def test_several_runs_of_a_contestant_on_a_document_count_with_their_mean(keepers: Shelf) -> None:
    runs = [one.split("=")[1] for one in keepers.named]
    # Of five keepers the first summary names four and the second one; of six keepers the third names five.
    with Store(keepers.database) as store:
        found = read_comparison(store, [f"both={runs[0]}", f"both={runs[1]}", f"both={runs[2]}", f"one={runs[3]}"])
    both = found.contestants[0]
    assert (both.label, both.runs, both.scores[0].documents) == ("both", ("A1", "A2", "A3"), 2)
    assert both.scores[0].mean == pytest.approx(((0.8 + 0.2) / 2 + 5 / 6) / 2)
    assert both.scores[0].interval is None
    (coverage,) = found.differences
    assert (coverage.pairs, coverage.difference) == (1, pytest.approx(4 / 6))
    assert "An interval needs at least 5" in coverage.says


def test_runs_of_one_contestant_are_not_compared(keepers: Shelf) -> None:
    keys = [f"one={one.split('=')[1]}" for one in keepers.named[:4]]
    with (
        Store(keepers.database) as store,
        pytest.raises(UsageError, match="all of these runs belong to one system: one"),
    ):
        read_comparison(store, keys)


def test_scores_by_other_judges_are_not_compared(keepers: Shelf) -> None:
    with Store(keepers.database) as store:
        found = read_comparison(store, [keepers.first, keepers.other_judge])
    assert any("coverage are not comparable: the judges differ" in one for one in found.warnings)
    coverage = next(one for one in found.differences if one.metric == "coverage")
    assert coverage.difference is None
    assert coverage.interval is None
    assert "Not compared: the judges differ" in coverage.says
    assert not [one for one in found.fifths if one.measure == "coverage"]


def test_scores_by_other_questions_are_not_compared(keepers: Shelf) -> None:
    with Store(keepers.database) as store:
        found = read_comparison(store, [keepers.first, keepers.other_pack])
    assert any("the questions or key facts differ" in one for one in found.warnings)
    assert all(item.standing == "open" for item in found.documents[0].items)
    assert {one.verdict for item in found.documents[0].items for one in item.verdicts if one.value is None} == {""}


def test_what_has_no_verdict_in_one_run_counts_nowhere(keepers: Shelf) -> None:
    with Store(keepers.database) as store:
        found = read_comparison(store, [keepers.first, keepers.hole])
    open_ = [item for item in found.documents[0].items if item.standing == "open"]
    assert len(open_) == 1
    assert [one.value for one in open_[0].verdicts][1] is None
    coverage = found.differences[0]
    assert (coverage.pairs, coverage.left_out) == (9, 1)
    assert any("B: 1 of 10 items of coverage has no verdict" in one for one in found.warnings)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["first"], "you gave only one run"),
        (["first", "first"], "is given twice"),
        (["first", "elsewhere"], "no two of these runs are of the same document"),
        (["first", "pack"], "made no summary: it builds questions"),
    ],
)
def test_what_cannot_be_compared_is_told(keepers: Shelf, keys: list[str], said: str) -> None:
    with Store(keepers.database) as store, pytest.raises((UsageError, RunError), match=said):
        read_comparison(store, [getattr(keepers, key) for key in keys])


@pytest.mark.parametrize("keys", [("plain", "plainer"), ("first", "plain")])
def test_runs_that_no_metric_has_both_scored_are_compared_and_that_is_said(
    keepers: Shelf, keys: tuple[str, str]
) -> None:
    with Store(keepers.database) as store:
        found = read_comparison(store, [getattr(keepers, key) for key in keys])
    assert len(found.contestants) == 2
    assert found.warnings[0].startswith("No metric has scored two of these runs")


def test_a_metric_without_a_score_is_named_with_its_reason(keepers: Shelf) -> None:
    with Store(keepers.database) as store:
        found = read_comparison(store, [keepers.first, keepers.second, keepers.coverage_only])
    assert any(one == "No consistency score for C: it was not judged by this metric." for one in found.warnings)
    assert {(one.first, one.second) for one in found.differences if one.metric == "consistency"} == {("A", "B")}
    assert {one.metric for one in found.contestants[2].scores} == {"coverage"}


def test_a_metric_that_failed_is_named_with_its_reason(keepers: Shelf) -> None:
    with Store(keepers.database) as store:
        found = read_comparison(store, [keepers.first, keepers.second, keepers.failed])
    (told,) = [one for one in found.warnings if "No consistency score" in one]
    assert told.startswith("No consistency score for C: ")
    assert "it was not judged by this metric" not in told
    shown = next(one for one in found.runs[2].scores if one.metric == "consistency")
    assert told.endswith(f"{shown.reason}.")
