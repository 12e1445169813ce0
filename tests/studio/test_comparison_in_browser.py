"""A comparison as somebody sees it who opens the file: in a real browser, from a disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.store.store import Store
from redraft.studio.comparison import RunComparison, read_comparison
from redraft.studio.comparison_views import comparison_page
from tests.browser import serious
from tests.pages.support import PAYLOAD, STRUCTURE, changed, opened
from tests.studio.judged_runs import JudgedRuns

pytestmark = pytest.mark.slow
_OWN_STRUCTURE = STRUCTURE | {"standing", "letter", "first", "second", "metric"}
SHOWN = "() => [...document.querySelectorAll('[data-item]')].filter(one => one.checkVisibility()).map(one => one.id)"


@pytest.fixture(scope="module")
def two(keepers: JudgedRuns) -> RunComparison:
    """Flipped are the items 1 to 4, and all others are the same."""
    with Store(keepers.database) as store:
        return read_comparison(store, [keepers.first, keepers.second])


def opened_page(page: Any, comparison: RunComparison, folder: Path, anchor: str = "") -> Any:
    path = folder / "compare.html"
    path.write_text(comparison_page(comparison), "utf-8")
    return opened(page, path, anchor)


def test_page_loads_nothing_and_is_stepped_through(page: Any, two: RunComparison, tmp_path: Path) -> None:
    opened_page(page, two, tmp_path)
    assert page.requests == [f"file://{tmp_path}/compare.html"]
    assert page.troubles == []
    assert page.evaluate(SHOWN) == ["i1", "i2", "i3", "i4"], "what is the same is folded away"
    for item, signs, words in (("i2", "✓✗", "answered unanswered"), ("i1", "!✓", "contradicted answered")):
        assert page.locator(f"#{item} .verdicts .sign").all_inner_texts() == [*signs]
        assert page.locator(f"#{item} .verdicts .word").all_inner_texts() == words.split()
    opened_page(page, two, tmp_path)
    for key, expected in zip("jjkkfjjj", ["i1", "i2", "i1", "i1", "i1", "i2", "i3", "i4"], strict=True):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == expected
    assert page.evaluate("location.hash") == "#i4"
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()


def test_items_can_be_filtered(page: Any, two: RunComparison, tmp_path: Path) -> None:
    first = two.items[0]
    other = first.model_copy(update={"item": replace(first.item, metric="keyfact_recall")})
    opened_page(page, two.model_copy(update={"items": (other, *two.items[1:])}), tmp_path)
    page.get_by_label("flipped only").check()
    assert page.evaluate(SHOWN) == ["i1", "i2", "i3", "i4"]
    assert page.locator("[data-count]").inner_text() == "4 of 10 shown"
    assert page.locator("#said").inner_text() == "4 of 10 shown"
    page.locator("select[name=metric]").select_option("keyfact_recall")
    assert page.evaluate(SHOWN) == ["i1"]
    page.locator("select[name=metric]").select_option("")
    # The first summary contradicts what the second has right, names the keepers 3 and 4, and the second the keeper 5.
    page.locator("select[name=has]").select_option("B")
    assert page.evaluate(SHOWN) == ["i1", "i4"]
    page.keyboard.press("f")
    assert page.evaluate(SHOWN) == ["i1", "i4"], "who chooses from a list types for the list"
    page.click("h1")
    page.keyboard.press("f")
    assert page.evaluate(SHOWN) == ["i1", "i4"], "all that the second alone has is flipped"


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.nightly)])
def test_page_is_accessible(chromium: Any, two: RunComparison, tmp_path: Path, scheme: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1200, "height": 900}, bypass_csp=True)
    page = opened_page(context.new_page(), two, tmp_path)
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    assert serious(page) == []
    context.close()


def test_texts_are_never_markup(page: Any, two: RunComparison, tmp_path: Path) -> None:
    hostile = changed(two, lambda text: f"{text} {PAYLOAD}", _OWN_STRUCTURE)
    opened_page(page, hostile, tmp_path)
    assert page.troubles == []
    assert len(page.requests) == 1
    assert page.evaluate("window.harmed") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert "onerror='window.harmed=1'" in page.locator("h1").inner_text()
    assert "49" not in page.locator("h1").inner_text()
