"""The tables of the experiment on a growing span, on summaries made by hand with numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any, cast

import pytest

from redraft import DraftConfig
from redraft.domain import Document, Span
from redraft.errors import UsageError
from redraft.lab.experiments.context import ContextDesign, FactJudge
from redraft.lab.experiments.context_frames import (
    PHASES,
    AtomicFact,
    ContextItem,
    FactComparison,
    StepPlan,
    SummarySentencePlaces,
    accuracy_frame,
    change_frame,
    density_frame,
    halves_frame,
    parts_of,
    position_frame,
    share_frame,
)
from redraft.lab.experiments.orders import NamedModel, ReadingOrder
from redraft.lab.experiments.questioner import ReadingStep, plan_steps
from tests.lab.experiments.made import drawn, rows

WHO = ("a", "direct")
LENGTH = 1200


def at(middle: int) -> Span:
    return Span(middle - 10, middle + 10)


def told(number: int, *places: tuple[int, float]) -> SummarySentencePlaces:
    return SummarySentencePlaces(
        number, f"Sentence {number}.", "", tuple((at(middle), weight) for middle, weight in places)
    )


def fact(
    middle: int | None, supported: bool | None = None, like: float | None = None, said: bool | None = None
) -> AtomicFact:
    return AtomicFact("F.", 1, None if middle is None else at(middle), supported, "", like, said)


def item(
    number: int,
    end: int,
    sentences: tuple[SummarySentencePlaces, ...],
    facts: tuple[AtomicFact, ...],
    *compared: FactComparison,
) -> ContextItem:
    step = ReadingStep(number, 100 * number, 100 * number)
    return ContextItem("d", "A Book", LENGTH, *WHO, step, end, 50, 0, sentences, facts, 0, compared)


# Half of the book is read, then all of it. In the first summary a sentence comes from each third of that half, and one
# from nowhere; in the second one comes from two places, with three quarters and one quarter of its weight.
FIRST = item(
    1,
    600,
    (told(1, (100, 1.0)), told(2, (300, 1.0)), told(3, (500, 1.0)), told(4)),
    (fact(100, True), fact(100, True), fact(300, True), fact(500, True), fact(None)),
)
SECOND = item(
    2,
    1200,
    (told(1, (100, 1.0)), told(2, (700, 1.0)), told(3, (1100, 1.0)), told(4, (100, 0.75), (500, 0.25))),
    (
        *(fact(100, True, 0.8, True), fact(100, True, 0.6, False), fact(700, False)),
        *(fact(1100), fact(700), fact(None)),
    ),
    # Of five facts two are there again; of six two were there, and of one nobody can tell.
    FactComparison("words", 0.5, (True, True, False, False, False), (True, True, False, False, None, False)),
)
ITEMS = (FIRST, SECOND)
REFERENCE = ContextItem(
    *("d", "A Book", LENGTH, "reference", "", ReadingStep(0, 200, None), LENGTH),
    words=40,
    sentences=(told(1, (100, 1.0)), told(2, (1100, 1.0))),
)
BOOK = Document("d", "A Book", "x" * LENGTH)
COURSES = (StepPlan(BOOK, (FIRST.step, SECOND.step), 50, reference=REFERENCE),)
THIRDS = ("1st", "2nd", "3rd")


def test_positions_by_thirds_read_and_total() -> None:
    table = position_frame(ITEMS, COURSES)
    read, total, expected = ([f"{kind} {third}" for third in THIRDS] for kind in ("read", "whole", "expected"))

    # 100, 300 and 500 of 600 are one in each third; of 1,200 two are in the first third and one in the second. What is
    # read is all of the first third and half of the second, 400 and 200 of 600 characters.
    (actual,) = rows(table, *read, *total, *expected, step=1)
    assert actual == pytest.approx((1 / 3, 1 / 3, 1 / 3, 2 / 3, 1 / 3, 0, 2 / 3, 1 / 3, 0))
    # 1 + 0.75 of four in the first third, 1 + 0.25 in the second, 1 in the last.
    (actual,) = rows(table, *read, *expected, step=2)
    assert actual == pytest.approx((0.4375, 0.3125, 0.25, 1 / 3, 1 / 3, 1 / 3))
    # Three sentences from three thirds are even. Four are looked at by quarters: 1.75, 0.25, 1 and 1 of 4.
    entropy = -(0.4375 * log(0.4375) + 0.0625 * log(0.0625) + 0.5 * log(0.25)) / log(4)
    assert rows(table, "sentences", "located", "spread", step=1) == [(4, 3, pytest.approx(1.0))]
    assert rows(table, "sentences", "located", "spread", step=2) == [(4, 4, pytest.approx(entropy))]
    assert rows(table, *total, "words", system="reference") == [(0.5, 0.0, 0.5, 40)]


def test_half_against_half() -> None:
    (actual,) = rows(
        halves_frame(ITEMS, COURSES), *THIRDS, *(f"change {third} (%)" for third in THIRDS), system="a, direct"
    )
    # All: 1 + 1.75, 1 + 1.25 and 1 + 1 of seven. 0.4375 is by 31.25 % more than a third, 0.3125 by 6.25 % less.
    assert actual == pytest.approx((2.75 / 7, 2.25 / 7, 2 / 7, 31.25, -6.25, -25))
    # Of what was nothing no share has grown.
    lonely = item(1, 600, (told(1, (100, 1.0)),), ())
    (actual,) = rows(halves_frame((lonely, SECOND), ()), *(f"change {third} (%)" for third in THIRDS))
    assert actual == (pytest.approx(-56.25), None, None)


def test_six_of_thirteen_steps_are_lower() -> None:
    many = [item(n, 1200, (told(1, (100 if n <= 6 else 1100, 1.0)),), ()) for n in range(1, 14)]
    halves = [f"{half} {third}" for half in ("lower", "upper") for third in THIRDS]
    (actual,) = rows(halves_frame(many, ()), "1st", *halves)
    assert actual == pytest.approx((6 / 13, 1, 0, 0, 0, 0, 1))
    phases = [parts_of(step, many)[2] for step in many]
    assert [phases.count(phase) for phase in PHASES] == [4, 4, 5]
    assert phases == sorted(phases, key=PHASES.index)


def changes(items: Sequence[ContextItem], section: str) -> tuple[Any, ...]:
    fates = ("matching", "lost", "new")
    names = (*fates, "kept", "unjudged", *(f"expected {fate}" for fate in fates))
    (actual,) = rows(change_frame(items), *names, section=section)
    return actual


def test_matching_lost_and_new_facts_by_section() -> None:
    # Four facts of each step have a place and a verdict. Half of the book is new: two of the four of now would be in
    # either half, and two of the four before would be lost. Of the first third everything was read before: 4/3 match,
    # and 4/3 of the 8/3 that were there are lost.
    assert changes(ITEMS, "anywhere") == pytest.approx((2, 3, 3, 2, 1, 2, 2, 2))
    assert changes(ITEMS, "beginning") == pytest.approx((2, 1, 0, 2, 0, 4 / 3, 4 / 3, 0))
    assert changes(ITEMS, "middle") == pytest.approx((0, 1, 1, 0, 1, 2 / 3, 2 / 3, 2 / 3))
    assert changes(ITEMS, "end") == pytest.approx((0, 0, 1, 0, 0, 0, 0, 4 / 3))
    assert changes(ITEMS, "added") == pytest.approx((0, 0, 2, 0, 1, 0, 0, 2))
    assert changes(ITEMS, "nowhere") == (0, 1, 1, 0, 0, None, None, None)

    fates = ("matching", "lost", "new")
    table = change_frame(ITEMS)
    assert rows(table, *fates, "kept", "unjudged", "measure", step=2, section="middle") == [(0, 1, 1, 0, 1, "words")]
    assert rows(table, "expected new", section="nowhere") == [(None,)]
    shares = share_frame(ITEMS)
    assert rows(shares, *fates, "facts", steps="all steps", section="anywhere") == [(0.25, 0.375, 0.375, 8)]
    assert rows(shares, *fates, "facts", steps="lower half", section="anywhere") == [(None, None, None, 0)]
    assert rows(shares, *(f"expected {fate}" for fate in fates), steps="upper half", section="added") == [(0, 0, 1)]


def test_an_even_spread_after_a_quarter() -> None:
    before = item(1, 300, (), (fact(100), fact(200)))
    comparison = FactComparison("words", 0.5, (True, False), (True, False, False, False))
    items = (before, item(2, 1200, (), (fact(100), fact(500), fact(700), fact(1100)), comparison))
    # Of four facts one is in the old quarter; of the two before three quarters go.
    assert changes(items, "anywhere")[5:] == pytest.approx((1, 1.5, 3))
    # The first third is the old quarter and a twelfth more.
    assert changes(items, "beginning")[5:] == pytest.approx((1, 1.5, 4 / 12))
    assert changes(items, "middle")[5:] == pytest.approx((0, 0, 4 / 3))
    assert changes(items, "added")[:3] == (0, 0, 3)


def test_too_few_fact_verdicts_give_no_shares() -> None:
    comparison = FactComparison("words", None, (True, None, None, None, None), (True, True, None, None, None, None))
    silent = replace(SECOND, compared=(comparison,))
    counts = rows(change_frame((FIRST, silent)), "matching", "unjudged", section="anywhere")
    assert counts == [(2, 8)]
    shares = rows(share_frame((FIRST, silent)), "matching", "unjudged", steps="all steps", section="anywhere")
    assert shares == [(None, 8)]


def test_facts_supported_by_position() -> None:
    columns = ("facts", "supported", "verified", "unjudged")
    table = accuracy_frame(ITEMS)
    # Of eleven facts seven have a verdict, and one of these is not borne out.
    assert rows(table, *columns, section="anywhere") == [(11, pytest.approx(6 / 7), 7, 4)]
    assert rows(table, *columns, section="beginning") == [(4, 1.0, 4, 0)]
    assert rows(table, *columns, section="middle") == [(3, 0.5, 2, 1)]
    assert rows(table, *columns, section="end") == [(2, 1.0, 1, 1)]
    assert rows(table, *columns, section="nowhere") == [(2, None, 0, 2)]
    # Two of eleven have a verdict by the reference, which is no share; of those in the beginning these are half.
    assert rows(table, "likeness", "in reference", "aligned", section="anywhere") == [(pytest.approx(0.7), None, 2)]
    assert rows(table, "in reference", "aligned", section="beginning") == [(0.5, 2)]


def test_a_curve_from_the_middle_is_symmetric() -> None:
    middle = item(1, 1200, (told(1, (600, 1.0)),), ())
    heights = [height for (height,) in rows(density_frame([middle], ()), "density", steps="all steps")]
    assert heights == pytest.approx(heights[::-1])
    assert max(heights) == heights[24] == pytest.approx(heights[25])
    assert sum(heights) / len(heights) == pytest.approx(1, abs=0.01), "an even spread is 1"
    places = [place for (place,) in rows(density_frame([middle], ()), "place (%)", steps="all steps")]
    assert (places[0], places[24], places[-1]) == (1.0, 49.0, 99.0)


def test_what_was_not_made_is_a_hole() -> None:
    lost = ContextItem("d", "A Book", LENGTH, *WHO, ReadingStep(1, 100, 100), 600)
    assert rows(position_frame((lost, SECOND), ()), "sentences", "read 1st", "spread", step=1) == [(None, None, None)]
    assert rows(position_frame((lost, SECOND), ()), "expected 1st", step=1) == [(pytest.approx(2 / 3),)]
    assert len(change_frame((lost, replace(SECOND, compared=())))) == 0


def test_pictures_are_drawn_from_tables_alone() -> None:
    plots = drawn("context", position_densities=density_frame(ITEMS, COURSES), fact_shares=share_frame(ITEMS))
    curves = plots["position_densities"]
    assert (set(curves.frame["series"]), curves.reference) == ({"a, direct", "reference"}, "reference")
    facts = plots["fact_shares_1"].shares()
    assert list(facts.loc["anywhere"]) == [0.25, 0.375, 0.375]
    assert list(facts.loc["anywhere, even spread"]) == pytest.approx([1 / 3] * 3)
    assert all("</svg>" in plot.svg() for plot in plots.values())


def test_steps_are_read() -> None:
    def steps(written: str) -> object:
        return ReadingOrder(steps=written).steps  # type: ignore[arg-type]

    assert steps("10000:128000:10000") == (*range(10_000, 120_001, 10_000), 128_000)
    assert steps("2000,4000,3000") == (2000, 3000, 4000)
    assert steps("1000:1000:500") == (1000,)
    for wrong in ("a:b:c", "1000:500:100", "1000:5000:0", "1000:5000", "10", "64:999999999999:1"):
        with pytest.raises(UsageError, match="are not steps"):
            steps(wrong)


def test_steps_fit_the_document() -> None:
    steps, note = plan_steps(None, 200_000, 150_000, None)
    assert ([step.tokens for step in steps], note) == ([*range(10_000, 120_001, 10_000), 128_000], "")
    # The last step is all of a document that ends before the others would.
    steps, note = plan_steps(None, 45_000, 33_000, None)
    assert [step.until for step in steps] == [10_000, 20_000, 30_000, 40_000, None]
    assert "the last of which is all of it" in note
    # One that has room for fewer than two of the usual steps is read in thirteen parts, if these are long enough.
    steps, note = plan_steps(None, 6_500, 5_000, None)
    assert [step.tokens for step in steps] == [500 * n for n in range(1, 14)]
    assert steps[-1].until is None
    assert "13 of about 500" in note
    assert len(plan_steps(None, 1_000, 760, None)[0]) == 3  # of at least 256 tokens each
    assert len(plan_steps(None, 6_500, 5_000, 500)[0]) == 5  # of at least twice the words of a summary each
    steps, note = plan_steps((500, 1_000), 700, 500, None)
    assert [(step.tokens, step.until) for step in steps] == [(500, 500), (700, None)]


def test_incompletely_split_summaries_lose_no_facts() -> None:
    model, nobody = NamedModel("extractive", DraftConfig(model="extractive")), cast("Any", None)
    design = ContextDesign(writers=(model,), judges=(model,))
    plan = replace(COURSES[0], document=Document("d", "A Book", "Ann slept. Ben rowed."))
    bureau = FactJudge(design, plan, nobody, nobody, nobody, design.similarity(plan.document))
    slept, rowed = (replace(fact(100), text=text) for text in ("Ann slept.", "Ben rowed."))
    assert bureau.match_facts([slept, rowed], [slept], is_complete=True) == (True, False)
    assert bureau.match_facts([slept, rowed], [slept], is_complete=False) == (True, None)
    assert bureau.match_facts([slept], [], is_complete=False) == (None,)
