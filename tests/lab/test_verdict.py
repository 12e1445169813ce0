"""The sentence that says which system is better, and whether that can be trusted."""

from __future__ import annotations

from re import findall

import pytest

from redraft.lab.verdict import verdict
from redraft.report.tables import Cell, Table

COLUMNS = ("metric", "first", "second", "judge", "difference", "95% from", "95% to", "documents")
Ends = tuple[float | None, float | None]
NONE: Ends = (None, None)


def row(
    by: float | None, ends: Ends, metric: str = "coverage", pair: str = "AB", documents: int = 6
) -> tuple[Cell, ...]:
    return (metric, *pair, "j", by, *ends, documents)


def said(*rows: tuple[Cell, ...]) -> str:
    return verdict("grid", [Table("differences", "", "", "", COLUMNS, rows)])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([row(0.08, (0.02, 0.14))], "A scores 0.08 higher in coverage than B (95% interval 0.02 to 0.14)."),
        ([row(-0.08, (-0.14, -0.02))], "B scores 0.08 higher in coverage than A (95% interval 0.02 to 0.14)."),
        (
            [row(0.3, (-0.1, 0.7)), row(-0.1, (-0.2, -0.05), "spread")],
            "B scores 0.10 higher in spread than A (95% interval 0.05 to 0.20); the other difference may be chance.",
        ),
        ([row(0.08, (-0.02, 0.18))], "No metric tells A and B apart: no 95% interval excludes 0."),
        (
            [row(0.08, NONE, documents=3)],
            "A scores 0.08 higher in coverage than B; with 3 documents there is no interval (it takes 5), so this may"
            " be chance.",
        ),
        (
            [row(by, NONE, pair=pair, documents=3) for by, pair in ((0.1, "AB"), (0.3, "AC"), (0.2, "BC"))],
            "A scores 0.30 higher in coverage than C, and 2 more differences; with 3 documents there is no interval"
            " (it takes 5), so this may be chance.",
        ),
        (
            [row(0.0, NONE, documents=1)],
            "No metric tells A and B apart; with 1 document there is no interval (it takes 5).",
        ),
        ([row(None, NONE)], "Nothing can be compared: no two systems have scores on the same items."),
        (
            [row(0.0, (-0.1, 0.1), pair=pair) for pair in ("AB", "AC", "BC")],
            "No metric tells any two of the 3 systems apart: no 95% interval excludes 0.",
        ),
    ],
)
def test_the_verdict_names_winner_gap_and_certainty(rows: list[tuple[Cell, ...]], sentence: str) -> None:
    assert said(*rows) == sentence


def test_many_differences_are_shortened_with_a_caution() -> None:
    sentence = said(*(row(0.01 * at, (0.005, 0.5), f"m{at}") for at in range(1, 12)))
    assert findall(r"in (m\d+) than", sentence) == ["m11", "m10", "m9"]
    assert sentence.endswith("and 8 more differences; of 11 such intervals, one in twenty excludes 0 by chance.")


def test_the_verdict_uses_the_judges_mean() -> None:
    first_row, mean = row(0.5, (0.4, 0.6)), ("coverage", "A, 30 words", "B", "mean of judges", 0.1, 0.05, 0.2, 6)
    assert said(first_row, mean) == "“A, 30 words” scores 0.10 higher in coverage than B (95% interval 0.05 to 0.20)."


@pytest.mark.parametrize(
    ("models", "words", "sentence"),
    [
        (("a", "b"), (300, 320), "A scores 0.08 higher in coverage than B (95% interval 0.02 to 0.14)."),
        (("j", "j"), (300, 320), "A scores 0.08 higher in coverage than B (95% interval 0.02 to 0.14)."),
        (
            ("j", "b"),
            (300, 320),
            "No system is called better: the summaries of A were judged by the model that wrote them.",
        ),
        (
            ("a", "b"),
            (334, 542.3),
            "No system is called better: their lengths differ (542 words of B and 334 words of A).",
        ),
    ],
)
def test_own_judges_and_lengths_forbid_a_verdict(
    models: tuple[str, str], words: tuple[float, float], sentence: str
) -> None:
    systems = tuple(zip("AB", models, words, strict=True))
    configurations = Table("configurations", "", "", "", ("system", "model", "words"), systems)
    rows = [row(0.08, (0.02, 0.14))]
    tables = [configurations, Table("differences", "", "", "", COLUMNS, tuple(rows))]
    assert verdict("grid", tables) == sentence
    other = Table("differences", "", "", "", COLUMNS, (*rows, row(0.3, (0.2, 0.4), pair="BC")))
    if sentence.startswith("No"):
        assert verdict("grid", [configurations, other]).endswith(f"). Not compared: {sentence.partition(': ')[2]}")


def test_only_a_grid_has_a_verdict() -> None:
    differences = Table("differences", "", "", "", COLUMNS, (row(0.08, (0.02, 0.14)),))
    assert verdict("hamlet", [differences]) == verdict("grid", []) == said() == ""
