"""How far judges agree with people, as it is put on record and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from redraft.store.store import Store
from tests.store.support import AGREEMENT, STANDING


def test_a_figure_holds_for_one_standing_and_takes_the_place_of_an_earlier_one(place: Path | str) -> None:
    with Store(place) as store:
        store.agreements.keep(AGREEMENT)
        again = replace(AGREEMENT, value=0.4, n=200, measured="2026-11-23")
        store.agreements.keep(again)
        other = replace(AGREEMENT, level="systems")
        store.agreements.keep(other)
        assert store.agreements.of(STANDING) == [other, again]
        changes = ({"judge": "x"}, {"metric": "x"}, {"version": 4}, {"prompts": ""}, {"terms": ""})
        assert [store.agreements.of(replace(STANDING, **one)) for one in changes] == [[]] * 5  # type: ignore[arg-type]


def test_what_is_no_unicode_and_a_day_that_is_left_out(place: Path | str) -> None:
    with Store(place) as store:
        strange = replace(STANDING, judge="model \ud800")
        store.agreements.keep(replace(AGREEMENT, standing=strange, measured=""))
        [found] = store.agreements.of(strange)
        assert len(found.measured) == len("2026-11-22")
