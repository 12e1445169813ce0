"""The measures beside numbers that were worked out elsewhere, and sweeps over settings of judges."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.agreement import HALVES, QAGS, SUMMEVAL, Set, half, judged, per_summary
from redraft.domain import Evaluation
from redraft.evaluators.consistency import exact, rouge1
from redraft.lab.agreement.agree import ASKED, combined, parse_sweep, rescored, swept_judging
from redraft.lab.agreement.measures import (
    between_systems,
    cohens_kappa,
    compare_verdicts,
    correlate,
    gwets_ac1,
    krippendorffs_alpha,
    percent_agreement,
    share_cells,
    within_documents,
)
from redraft.lab.agreement.people import HumanItem
from redraft.lab.agreement.report import READ, AgreeItem
from redraft.settings import JudgeConfig

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C and D: four observers, twelve units,
# gaps. The paper has 0.743 (nominal) and 0.849 (interval).
_A = (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None)
_B = (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3)
_C = (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None)
_D = (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None)
FOUR = list(zip(_A, _B, _C, _D, strict=True))


def test_a_share_has_wilsons_interval() -> None:
    """Newcombe (1998), table I, method 3: 81 of 263 is 0.2553 to 0.3662, and 0 of 20 is 0 to 0.1611."""
    names, about = (
        ("yes", "95% from", "95% to"),
        [pytest.approx(value, abs=0.00005) for value in (0.308, 0.2553, 0.3662)],
    )
    assert share_cells("yes", 81, 263) == dict(zip(names, about, strict=True))
    assert share_cells("yes", 0, 20) == dict(zip(names, (0, 0, pytest.approx(0.1611, abs=0.00005)), strict=True))
    assert share_cells("yes", 0, 0) == dict.fromkeys(names)


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("interval", 0.849)])
def test_krippendorffs_alpha_is_that_of_his_paper(level: str, alpha: float) -> None:
    assert krippendorffs_alpha(FOUR, level) == pytest.approx(alpha, abs=0.0005)  # type: ignore[arg-type]


def test_gwets_coefficient_equals_published_examples() -> None:
    """Gwet, "Kappa Statistic is not Satisfactory" (2002): 118, 5, 2 and 0 of 125; agreement 0.944 and kappa -0.023, and
    AC1 0.941. The four raters of Krippendorff's example: 0.77544 (Gwet's irrCAC, cac.raw4raters)."""
    pairs = [("+", "+")] * 118 + [("+", "-")] * 5 + [("-", "+")] * 2
    assert percent_agreement(pairs) == pytest.approx(0.944)
    assert gwets_ac1(pairs) == pytest.approx(0.941, abs=0.0005)
    kappa = cohens_kappa([first for first, _ in pairs], [second for _, second in pairs])
    assert kappa == pytest.approx(-0.0234, abs=0.00005)
    assert gwets_ac1(FOUR) == pytest.approx(0.77544, abs=0.000005)


def test_raters_who_say_the_same_of_everything() -> None:
    always = [(1, 1)] * 5
    assert (cohens_kappa([1] * 5, [1] * 5), gwets_ac1(always), krippendorffs_alpha(always)) == (None, 1.0, None)
    nobody = [(1, None), (None, None), (None, 2)]
    assert (percent_agreement(nobody), gwets_ac1(nobody), krippendorffs_alpha(nobody)) == (None, None, None)
    assert cohens_kappa([], []) is None


def test_small_p_values_use_all_orders() -> None:
    """Of the 24 orders of four two are perfect, one each way."""
    actual = correlate([1, 2, 3, 4], [10, 20, 30, 40], list("abcd"))
    assert [actual[name] for name in ("tau-b", "Spearman", "Pearson")] == [pytest.approx(1)] * 3
    assert actual["p"] == pytest.approx(2 / 24)


@pytest.mark.parametrize(
    ("ours", "human"), [([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([1.0, 2.0], [3.0, 3.0]), ([1.0], [1.0]), ([], [])]
)
def test_constant_or_short_series_have_no_correlation(ours: list[float], human: list[float]) -> None:
    actual = correlate(ours, human, [str(n) for n in range(len(ours))])
    assert actual.pop("n") == len(ours)
    assert set(actual.values()) == {None}
    within = within_documents(ours, human, ["one"] * len(ours))
    assert (within["documents"], within["of"], within["tau-b"]) == (0, 1 if ours else 0, None)


@pytest.mark.slow
def test_intervals_cover_the_truth_as_stated() -> None:
    """Two series with a known tau (2/pi asin r of normal ones, by Greiner), 40 documents of five each, 12 times."""
    generator, inside = np.random.default_rng(11), 0
    truth = 2 / np.pi * np.arcsin(0.5)
    groups = [str(n // 5) for n in range(200)]
    for _ in range(12):
        x = generator.normal(size=200)
        y = 0.5 * x + np.sqrt(0.75) * generator.normal(size=200)
        actual = correlate(x.tolist(), y.tolist(), groups)
        inside += actual["95% from"] <= truth <= actual["95% to"]
    assert inside >= 10


def test_systems_are_ranked_by_their_means() -> None:
    human = [1, 2, 3, 2, 3, 4]
    ours = [0.1, 0.2, 0.3, 0.2, 0.3, 0.4]
    actual = between_systems(ours, human, list("abcabc"), list("111222"))
    assert (actual["n"], actual["tau-b"], actual["p"]) == (3, pytest.approx(1), pytest.approx(1 / 3))
    assert (actual["95% from"], actual["95% to"]) == (pytest.approx(1), pytest.approx(1))
    assert between_systems(ours, human, ["a"] * 6, list("111222"))["tau-b"] is None
    # The mean of one system is of three summaries, that of the other of one, which is better.
    assert between_systems([0.5, 0.5, 0.5, 0.9], [0.5, 0.5, 0.5, 2], list("aaab"), list("1231"))["tau-b"] == 1.0
    assert between_systems([], [], [], [])["n"] == 0


def test_uninformative_documents_are_counted() -> None:
    actual = within_documents([1, 2, 2, 1, 5], [1, 2, 1, 2, 5], ["a", "a", "b", "b", "c"])
    assert (actual["documents"], actual["of"], actual["tau-b"]) == (2, 3, 0.0)
    # One document whose summaries go together, and one where as many pairs go either way: that says something, too.
    ours, human = [1, 2, 3, 4, 1, 2], [2, 4, 1, 3, 1, 2]
    actual = within_documents(ours, human, ["a"] * 4 + ["b"] * 2)
    assert (actual["documents"], actual["tau-b"]) == (2, pytest.approx(0.5))


def test_classes_are_told_apart() -> None:
    human = [True, True, True, True, False, False]
    verdicts = [True, True, True, False, False, True]
    actual = compare_verdicts(verdicts, human, list("abcdef"))
    assert actual["balanced accuracy"] == pytest.approx((3 / 4 + 1 / 2) / 2)
    names = ("precision right", "recall right", "precision wrong", "recall wrong")
    assert [actual[name] for name in names] == [0.75, 0.75, 0.5, 0.5]
    assert actual["95% from"] <= 0.625 <= actual["95% to"]


def test_one_class_alone_has_no_balanced_accuracy() -> None:
    actual = compare_verdicts([True, True], [True, True], ["a", "b"])
    names = ("balanced accuracy", "precision wrong", "recall wrong", "recall right")
    assert [actual[name] for name in names] == [None, None, None, 1.0]


def test_sweeps_have_lists_and_closed_ranges() -> None:
    sweep = parse_sweep(["threshold=0.2:0.7:0.1", "questions=3-6,6-12,9-15", "similarity=exact,rouge1"])
    assert sweep["threshold"] == ("0.2", "0.3", "0.4", "0.5", "0.6", "0.7")
    assert combined(sweep, ASKED) == [(("questions", value),) for value in ("3-6", "6-12", "9-15")]
    assert len(combined(sweep, READ)) == 12
    assert parse_sweep(["top-k=5,5"]) == {"top_k": ("5",)}
    assert (combined({}, ASKED), combined({}, READ)) == ([()], [()])


def test_readings_share_one_judge_configuration() -> None:
    base = JudgeConfig(similarity="rouge1", threshold=0.6)
    how = swept_judging(parse_sweep(["similarity=exact,rouge1", "threshold=0.2,0.4"]), base, ())
    assert (how.similarity, how.second_look) == ("rouge1", False)
    assert swept_judging(parse_sweep(["similarity=exact,judge"]), base, ()).similarity == "judge"
    judging = swept_judging(parse_sweep(["questions=9-15"]), base, (("questions", "9-15"),))
    assert (judging.questions, judging.second_look) == ((9, 15), True)


SAID = ("the keeper of the red lighthouse", "in 1880", "Tom", "by night", "nobody")
ANSWERS = ("the keeper of the lighthouse", "in 1881", "Tom", "", "a boy")


def score(similarity: str, threshold: float, unjudged: int = 0) -> float | None:
    """The score of the answers above, of which some have no verdict, under other settings."""
    claims = [
        {"found": actual, "expected": expected, "verdict": "consistent", "likeness": float(actual == expected)}
        for actual, expected in zip(SAID, ANSWERS, strict=True)
    ]
    for claim in claims[:unjudged]:
        claim["verdict"] = "unjudged"
    details = {"claims": claims}
    judged_count = len(claims) - unjudged
    evaluation = Evaluation("consistency", 3, "scored", 0.9, judged_count, unjudged, details=details)
    item = AgreeItem("d", "D", "set", "consistency", 0, HumanItem("1", "d", "", {}), "judge", (), evaluation)
    reading = (("similarity", similarity), ("threshold", str(threshold)))
    assert rescored(item, (), JudgeConfig(), None) is item
    return rescored(item, reading, JudgeConfig(), None).score


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.6, 0.8])
def test_answers_count_by_similarity_above_the_threshold(threshold: float) -> None:
    for name, alike in (("exact", exact), ("rouge1", rouge1)):
        likeness = [alike(reply, answer) if answer else 0.0 for reply, answer in zip(SAID, ANSWERS, strict=True)]
        expected = sum(like for like in likeness if like > threshold) / 5
        assert score(name, threshold) == pytest.approx(expected)
    assert len({round(rouge1(reply, answer), 3) for reply, answer in zip(SAID, ANSWERS, strict=True) if answer}) == 4


def test_too_few_verdicts_give_no_score() -> None:
    assert score("judge", 0.5) == pytest.approx(1 / 5)
    assert score("judge", 0.5, 2) == pytest.approx(1 / 3)
    assert score("judge", 0.5, 3) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "documents", "minimum"), [(QAGS, None, 0.5), (SUMMEVAL, 12, 0.3)], ids=("QAGS", "SummEval")
)
def test_consistency_agrees_with_people_about_summaries(dataset: Set, documents: int | None, minimum: float) -> None:
    if not dataset.is_there:
        pytest.skip("needs $REDRAFT_DATA")
    part = half(dataset.read(), HALVES[0], documents)
    tau = per_summary(judged(part, dataset.metric, dataset.human)[0])
    assert tau is not None
    assert tau > minimum
