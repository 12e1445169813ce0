"""Each kind of picture shows the numbers that it was given, where they belong: worked out by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from redraft.report.plots.curves import Curve, CurvePoint, Densities, Trend, Trends
from redraft.report.plots.figure import Grid, Grids
from redraft.report.plots.picture import NARROW, WIDE, PictureStyle
from redraft.report.plots.scores import CostPoint, Differences, Metric, PlottedDifference, RoundScores, ScoreAgainstCost
from redraft.report.plots.shares import DocumentPart, Parts, ShareBar, Shares
from tests.plots.reading import Mark, Read

NAN = float("nan")
near = pytest.approx
both = pytest.mark.parametrize("look", [WIDE, NARROW], ids=["wide", "narrow"])


def filled(mark: Mark) -> bool:
    return any(name.startswith("plot-f") for name in mark.look.split())


def close(value: float) -> object:
    """Coordinates are rounded, so that sums of two of them may be off by a hundredth."""
    return pytest.approx(value, abs=0.03)


class TestRoundScores:
    plot = RoundScores(
        [Metric("coverage", [0.2, 0.4, 0.3, None, 0.6], goal=0.8), Metric("consistency", [0.6, NAN, 0.6, 0.6, 0.6])],
        [True, True, False, True, True],
    )

    @both
    def test_each_score_stands_at_its_height(self, look: PictureStyle) -> None:
        read = Read(self.plot.picture(look))
        for words, label in (("draft: 0.2", "0.2"), ("round 1: 0.4", "0.4"), ("round 4: 0.6", "0.6")):
            assert read.tipped(f"coverage, {words}").middle[1] == close(read.tick(label)[1])
        half = (read.tick("0.2")[1] + read.tick("0.4")[1]) / 2
        assert read.tipped("coverage, round 2: 0.3").middle == (close(read.tick("2")[0]), close(half))

    def test_a_refused_round_is_hollow_and_off_the_line(self) -> None:
        read = Read(self.plot.picture())
        assert not filled(read.tipped("coverage, round 2: 0.3, rejected"))
        assert filled(read.tipped("coverage, round 1"))
        dotted = [mark for mark in read.of("path", "plot-s1") if mark.attributes.get("stroke-dasharray") == "1 3"]
        assert [(mark.left, mark.right) for mark in dotted] == [(close(read.tick("1")[0]), close(read.tick("2")[0]))]

    def test_the_round_after_a_refused_one_goes_on_from_the_draft_before_it(self) -> None:
        read = Read(RoundScores([Metric("m", [0.2, 0.4, 0.3, 0.6])], [True, True, False, True]).picture())
        lines = [mark for mark in read.of("path", "plot-s1") if mark.attributes.get("stroke-width") == "2"]
        assert (lines[-1].left, lines[-1].right) == (close(read.tick("1")[0]), close(read.tick("3")[0]))
        assert (lines[-1].bottom, lines[-1].top) == (close(read.tick("0.4")[1]), close(read.tick("0.6")[1]))

    def test_what_was_not_measured_is_a_hole(self) -> None:
        read = Read(self.plot.picture())
        assert not any("round 3" in mark.tip for mark in read.marks if "coverage" in mark.tip)
        lines = [mark for mark in read.of("path", "plot-s1") if not mark.tip and mark.attributes["fill"] == "none"]
        assert not any(mark.right > read.tick("2")[0] + 1 for mark in lines), "no line over a taken round without score"

    def test_the_goal_is_a_dashed_line_at_its_height(self) -> None:
        read = Read(self.plot.picture())
        height = read.tick("0.8")[1]
        goal = [m for m in read.of("line", "plot-rule") if m.wide > 300 and "stroke-dasharray" in m.attributes]
        assert [mark.top for mark in goal] == [close(height)]

    def test_the_table_has_holes_too(self) -> None:
        assert self.plot.picture().data.columns == ("round", "draft", "coverage", "consistency")
        assert self.plot.picture().data.rows == (
            ("draft", "taken", 0.2, 0.6),
            ("1", "taken", 0.4, None),
            ("2", "rejected", 0.3, 0.6),
            ("3", "taken", None, 0.6),
            ("4", "taken", 0.6, 0.6),
            ("goal", "", 0.8, None),
        )

    def test_it_is_said_in_words(self) -> None:
        told = self.plot.picture().alt.replace("\u2068", "").replace("\u2069", "")
        assert "coverage (goal 0.8): 0.2, 0.4, 0.3, –, 0.6." in told
        assert "Rejected: 2." in told


class TestDensities:
    plot = Densities([Curve("one", [2.0, 0.0]), Curve("other", [0.5, 1.5])], Curve("reference", [1.0, None]))

    @both
    def test_heights_stand_at_the_middle_of_their_stretch(self, look: PictureStyle) -> None:
        read = Read(self.plot.picture(look))
        zero, whole = read.tick("0")[0], read.tick("100")[0]
        line = next(mark for mark in read.of("path", "plot-s1") if not mark.tip and not filled(mark))
        assert (line.left, line.right) == (close(zero + (whole - zero) / 4), close(zero + (whole - zero) * 3 / 4))
        assert (line.top, line.bottom) == (close(read.tick("2.0")[1]), close(read.tick("0.0")[1]))

    def test_an_even_spread_is_a_dashed_line_at_one(self) -> None:
        read = Read(self.plot.picture())
        (even,) = [mark for mark in read.of("line", "plot-rule") if mark.wide > 300]
        assert even.top == close(read.tick("1.0")[1])

    def test_words_and_table(self) -> None:
        picture = self.plot.picture()
        assert picture.data.rows == ((25.0, 2.0, 0.5, 1.0), (75.0, 0.0, 1.5, None))
        assert "highest at 75% (1.5)" in picture.alt


class TestShares:
    plot = Shares([ShareBar("a", [0.5, 0.3, 0.2]), ShareBar("hole", [0.5, None, 0.2]), ShareBar("counts", [6, 3, 3])])

    @both
    def test_bars_are_as_long_as_their_shares(self, look: PictureStyle) -> None:
        read = Read(self.plot.picture(look))
        zero, whole = read.tick("0")[0], read.tick("100")[0]
        for name, begin, end in (("a, beginning", 0, 0.5), ("a, middle", 0.5, 0.8), ("counts, end", 0.75, 1)):
            bar = read.tipped(name)
            assert bar.left == close(zero + (whole - zero) * begin)
            assert bar.right == close(zero + (whole - zero) * end)
        assert not any("hole," in mark.tip for mark in read.marks)
        assert "unknown" in read.words

    def test_an_even_spread_ends_at_thirds(self) -> None:
        read = Read(self.plot.picture())
        zero, whole = read.tick("0")[0], read.tick("100")[0]
        rules = {mark.left for mark in read.of("line", "plot-rule") if mark.wide == 0}
        assert sorted(rules) == [close(zero + (whole - zero) / 3), close(zero + (whole - zero) * 2 / 3)]

    def test_the_shares_are_written_into_the_bars(self) -> None:
        words = Read(self.plot.picture()).words
        assert [word for word in words if re.fullmatch(r"\d+%", word)] == ["50%", "30%", "20%", "50%", "25%", "25%"]


def test_no_line_goes_through_the_names_above_narrow_rows() -> None:
    read = Read(TestShares.plot.picture(NARROW))
    names = [mark for mark in read.of("text") if mark.attributes["font-size"] == "13"]
    upright = [mark for mark in read.of("line", "plot-rule") if mark.wide == 0]
    assert len(names) == 3
    assert len(upright) == 6
    crossed = [one for one in names for line in upright if line.top < one.bottom - 3 and line.bottom > one.top + 3]
    assert crossed == []


def test_zero_stays_clear_of_the_words_above_a_narrow_row() -> None:
    read = Read(Differences([PlottedDifference("a judge", -0.2)], "a", "b", "score").picture(NARROW))
    (name,) = [mark for mark in read.of("text") if mark.attributes["font-size"] == "13"]
    (zero,) = read.of("line", "plot-rule")
    assert zero.top - name.bottom > 2


class TestParts:
    plot = Parts([DocumentPart("I", 0.5, 8, 2, 0.2, 0.8), DocumentPart("II", None, 0, 3), DocumentPart("III", 0.0, 4)])

    @both
    def test_what_was_not_judged_is_hatched_between_the_least_and_the_most(self, look: PictureStyle) -> None:
        read = Read(self.plot.picture(look))
        bars = [mark for mark in read.of("rect") if "I: 0.5" in mark.tip.replace("\u2068", "").replace("\u2069", "")]
        solid, hatched = bars
        # 4 of 10 are right, and 2 of 10 are open.
        assert (solid.left, solid.right) == (close(read.tick("0.0")[0]), close(read.tick("0.4")[0]))
        assert (hatched.left, hatched.right) == (close(read.tick("0.4")[0]), close(read.tick("0.6")[0]))
        assert hatched.attributes["fill"].startswith("url(#")
        middle = (read.tick("0.4")[0] + read.tick("0.6")[0]) / 2
        (score,) = [mark for mark in read.of("path") if mark.tip.startswith("\u2068I\u2069: 0.5")]
        assert score.middle[0] == close(middle)

    def test_the_interval_is_a_whisker(self) -> None:
        read = Read(self.plot.picture())
        (whisker,) = [mark for mark in read.of("line", "plot-rule") if mark.wide > 50]
        assert (whisker.left, whisker.right) == (close(read.tick("0.2")[0]), close(read.tick("0.8")[0]))

    def test_a_part_without_verdicts_is_hatched_as_a_whole_and_has_no_score(self) -> None:
        read = Read(self.plot.picture())
        bar = read.tipped("II: –")
        assert (bar.tag, bar.left, bar.right) == ("rect", close(read.tick("0.0")[0]), close(read.tick("1.0")[0]))

    def test_a_score_of_zero_is_a_mark_at_zero(self) -> None:
        read = Read(self.plot.picture())
        mark = read.tipped("III: 0,")
        assert (mark.tag, mark.middle[0]) == ("path", close(read.tick("0.0")[0]))


class TestScoreAgainstCost:
    def test_marks_stand_at_cost_and_score(self) -> None:
        plot = ScoreAgainstCost([CostPoint("a", 2, 0.4, 0.2, 0.6), CostPoint("b", 4, 0.8)], "coverage")
        read = Read(plot.picture())
        mark = read.tipped("a: ")
        assert mark.middle == (close(read.tick("2")[0]), close(read.tick("0.4")[1]))
        lines = [line for line in read.of("line", "plot-axis") if line.left == line.right == mark.middle[0]]
        upright = max(lines, key=lambda line: line.bottom - line.top)
        assert (upright.top, upright.bottom) == (close(read.tick("0.6")[1]), close(read.tick("0.2")[1]))

    def test_who_has_no_price_is_named_and_not_drawn(self) -> None:
        picture = ScoreAgainstCost([CostPoint("a", 1, 0.4), CostPoint("free", None, 0.8)], "coverage").picture()
        assert "free" in picture.caption
        assert "free" not in Read(picture).words
        assert ("free", None, 0.8, None, None) in picture.data.rows

    @both
    def test_names_keep_off_each_other(self, look: PictureStyle) -> None:
        crowd = [CostPoint(f"model-{at}", 1 + at / 50, 0.7 + at / 400) for at in range(8)]
        assert Read(ScoreAgainstCost(crowd, "coverage").picture(look)).collisions() == []


class TestDifferences:
    plot = Differences(
        [
            PlottedDifference("up", 0.1, 0.05, 0.2, 9),
            PlottedDifference("open", -0.1, -0.2, 0.1),
            PlottedDifference("hole", None),
        ],
        "new",
        "old",
        "coverage",
    )

    @both
    def test_marks_and_whiskers_stand_at_their_values(self, look: PictureStyle) -> None:
        read = Read(self.plot.picture(look))
        mark = read.tipped("up: +0.10 [+0.05, +0.20]")
        assert mark.middle[0] == close(read.tick("0.1")[0])
        spans = [(m.left, m.right) for m in read.of("line", "plot-s1") if m.wide > 5]
        half = (read.tick("0.0")[0] + read.tick("0.1")[0]) / 2
        assert spans[0] == (close(half), close(read.tick("0.2")[0]))

    def test_only_a_clear_difference_is_filled_and_one_without_an_interval_has_a_mark_of_its_own(self) -> None:
        read = Read(self.plot.picture())
        assert "no interval" not in read.words, "the legend has only the marks that are there"
        bare = Read(replace(self.plot, differences=[*self.plot.differences, PlottedDifference("bare", 0.1)]).picture())
        assert {"the interval excludes 0", "the interval includes 0", "no interval"} <= {*bare.words}
        assert "plot-s6" in bare.tipped("bare").look
        assert "plot-s1" in bare.tipped("open").look
        assert filled(read.tipped("up"))
        assert not filled(read.tipped("open"))
        assert not any(mark.tip.startswith("\u2068hole") for mark in read.marks)

    def test_the_line_at_zero_says_whose_side_is_which(self) -> None:
        read = Read(self.plot.picture())
        zero = read.tick("0.0")[0]
        assert any(mark.left == close(zero) for mark in read.of("line", "plot-rule"))
        words = " ".join(read.words).replace("\u2068", "").replace("\u2069", "")
        assert "← more in old" in words
        assert "more in new →" in words

    @both
    @pytest.mark.parametrize("value", [-0.4, 0.4, 0.0], ids=["zero at the right", "zero at the left", "in the middle"])
    def test_the_line_at_zero_goes_through_neither_word_above_it(self, look: PictureStyle, value: float) -> None:
        names = ("extractive, hierarchical, 200 words", "extractive, incremental, chunks of 1024, 100 words")
        plot = Differences([PlottedDifference("coverage", value, value - 0.05, value + 0.05, 9)], *names, "score")
        read = Read(plot.picture(look))
        sides = [one for one, words in zip(read.of("text"), read.words, strict=True) if {"←", "→"} & {*words}]
        assert len(sides) == 2
        for rule in read.of("line", "plot-rule"):
            for side in sides:
                beside = rule.right < side.left or rule.left > side.right
                assert beside or rule.top >= side.bottom or rule.bottom <= side.top


class TestTrends:
    plot = Trends(
        [
            Trend(
                "a",
                [
                    CurvePoint(0, 0.2, 0.0, 0.4),
                    CurvePoint(10, 0.4, 0.2, 0.6),
                    CurvePoint(20, None),
                    CurvePoint(30, 1.0),
                ],
            ),
            Trend("b", [CurvePoint(0, NAN), CurvePoint(30, 0.6, 0.4, None)]),
        ],
        "context read, in tokens",
        "accuracy",
        "Accuracy",
    )

    @both
    def test_between_whole_steps_there_is_no_tick(self, look: PictureStyle) -> None:
        rounds = Trends([Trend("a", [CurvePoint(at, 0.5) for at in range(3)])], "round", "score", "By round")
        read = Read(rounds.picture(look))
        assert all(read.tick(label)[0] > 0 for label in ("0", "1", "2"))
        assert {read.tick(label)[0] for label in ("0.0", "0.5", "1.0", "1.5")} == {-1.0}

    def test_long_names_that_begin_alike_are_told_apart_in_the_legend_of_a_phone(self) -> None:
        both_ways = [f"openai:SmolLM2-135M-Instruct, hierarchical, {way}" for way in ("TF-IDF cosine", "alignment")]
        trends = Trends([Trend(name, [CurvePoint(1, 0.5), CurvePoint(2, 0.6)]) for name in both_ways], "x", "y", "Two")
        assert {"…TF-IDF cosine", "…alignment"} <= {*Read(trends.picture(NARROW)).words}
        assert {*both_ways} <= {*Read(trends.picture(WIDE)).words}

    def test_lines_stop_at_holes(self) -> None:
        read = Read(self.plot.picture())
        lines = [mark for mark in read.of("path", "plot-s1") if mark.attributes.get("stroke-width") == "2"]
        line = max(lines, key=lambda mark: mark.wide)
        assert (line.left, line.right) == (close(read.tick("0")[0]), close(read.tick("10")[0]))
        assert (line.top, line.bottom) == (close(read.tick("0.4")[1]), close(read.tick("0.2")[1]))
        assert read.tipped("a, 30: 1").middle == (close(read.tick("30")[0]), close(read.tick("1.0")[1]))

    def test_what_is_a_share_has_no_room_beyond_zero_and_one(self) -> None:
        def shown(*values: float, ends: tuple[float, ...] = ()) -> list[str]:
            line = Trend("a", [CurvePoint(10 * at, value) for at, value in enumerate(values)])
            return Read(replace(self.plot, trends=[line], ends=ends).picture()).words

        assert {"0.90", "1.00"} <= set(shown(1.0, 1.0))
        assert not [word for word in shown(1.0, 1.0) if word.startswith("1.") and word != "1.00"]
        assert not [word for word in shown(0.0, 0.0) if word.startswith("−")]
        assert "0.0" not in shown(0.5, 0.6)
        assert {"0.0", "1.0"} <= set(shown(0.5, 0.6, ends=(0, 1)))

    def test_the_band_goes_from_low_to_high(self) -> None:
        read = Read(self.plot.picture())
        (band,) = [mark for mark in read.of("path", "plot-f1") if "fill-opacity" in mark.attributes]
        assert (band.top, band.bottom) == (close(read.tick("0.6")[1]), close(read.tick("0.0")[1]))
        assert not read.of("path", "plot-f2") or not any(
            "fill-opacity" in m.attributes for m in read.of("path", "plot-f2")
        )

    def test_half_an_interval_is_none(self) -> None:
        assert self.plot.picture().data.rows[-1] == ("b", 30.0, 0.6, None, None)


class TestGrids:
    plot = Grids(
        [Grid("m", [[1.0, 0.5], [None, 0.25]])], ["short", "long"], ["start", "end"], "length", "third", "share", "Grid"
    )

    def test_every_cell_has_its_number_and_its_shade(self) -> None:
        read = Read(self.plot.picture())
        assert [word for word in read.words if word in ("1.00", "0.50", "0.25", "–")] == ["1.00", "0.50", "–", "0.25"]
        shades = [mark.attributes["fill-opacity"] for mark in read.of("rect", "plot-f1")]
        assert shades == ["0.50", "0.25", "0.12"]

    def test_columns_that_do_not_fit_go_on_below(self) -> None:
        columns = [f"{at}0k" for at in range(1, 14)]
        plot = Grids([Grid("m", [[0.11] * 13])], ["row"], columns, "third", "length", "share", "Grid")
        for look in (WIDE, NARROW):
            read = Read(plot.picture(look))
            assert read.words.count("0.11") == 13
            assert all(column in read.words for column in columns)
            assert read.outside() == read.collisions() == []
