"""A comparison as somebody sees it who opens the file: in a real browser, from a disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.report.dossier.comparison.build import read_comparison
from redraft.report.dossier.comparison.contents import RunComparison
from redraft.report.pages.comparison import comparison_page
from redraft.store.store import Store
from tests.browser import serious
from tests.dossier.keepers import Shelf, stocked
from tests.pages.support import changed

pytestmark = pytest.mark.slow
PAYLOAD = (
    "</script></style><script>window.harmed=1</script><img src=x onerror='window.harmed=1'>\"'`--><!-- \u202e{{ 7*7 }}"
)
# What a program goes by. All else may come from a document, a reply, or a user.
STRUCTURE = frozenset(
    {"standing", "name", "letter", "contestant", "runs", "first", "second", "over", "created", "measure", "metric"}
    | {"id", "document", "run"}
)
SHOWN = "() => [...document.querySelectorAll('[data-item]')].filter(one => one.checkVisibility()).map(one => one.id)"


# Before the browser, in which another loop runs.
@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return stocked(tmp_path_factory.mktemp("compared"))


@pytest.fixture(scope="module")
def two(shelf: Shelf) -> RunComparison:
    """Flipped are the items 1 to 3, changed is 4, and all others are the same."""
    with Store(shelf.database) as store:
        return read_comparison(store, [shelf.first, shelf.second])


@pytest.fixture(scope="module")
def many(shelf: Shelf) -> RunComparison:
    with Store(shelf.database) as store:
        return read_comparison(store, shelf.named)


def opened(page: Any, beside: RunComparison, folder: Path, hash_: str = "") -> Any:
    path = folder / "compare.html"
    path.write_text(comparison_page(beside), "utf-8")
    page.goto(f"file://{path}{hash_}")
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def test_it_opens_from_a_disk_without_any_request(page: Any, two: RunComparison, tmp_path: Path) -> None:
    opened(page, two, tmp_path)
    assert page.requests == [f"file://{tmp_path}/compare.html"]
    assert page.troubles == []
    assert page.evaluate(SHOWN) == ["i1", "i2", "i3", "i4"], "what is the same is folded away"


def test_what_is_shown_can_be_chosen(page: Any, two: RunComparison, tmp_path: Path) -> None:
    opened(page, two, tmp_path)
    page.get_by_label("flipped only").check()
    assert page.evaluate(SHOWN) == ["i1", "i2", "i3", "i4"]
    assert page.locator("[data-count]").inner_text() == "4 of 10 shown"
    assert page.locator("#said").inner_text() == "4 of 10 shown"
    # The first summary contradicts what the second has right, names the keepers 3 and 4, and the second the keeper 5.
    page.locator("select[name=has]").select_option("B")
    assert page.evaluate(SHOWN) == ["i1", "i4"]
    page.keyboard.press("f")
    assert page.evaluate(SHOWN) == ["i1", "i4"], "who chooses from a list types for the list"
    page.click("h1")
    page.keyboard.press("f")
    assert page.evaluate(SHOWN) == ["i1", "i4"], "all that the second alone has is flipped"


def test_a_metric_can_be_chosen(page: Any, two: RunComparison, tmp_path: Path) -> None:
    (document,) = two.documents
    items = (document.items[0].model_copy(update={"metric": "keyfact_recall"}), *document.items[1:])
    opened(page, two.model_copy(update={"documents": (document.model_copy(update={"items": items}),)}), tmp_path)
    page.locator("select[name=metric]").select_option("keyfact_recall")
    assert page.evaluate(SHOWN) == ["i1"]


def test_addresses_lead_to_what_is_folded_away_or_filtered_out(page: Any, two: RunComparison, tmp_path: Path) -> None:
    opened(page, two, tmp_path, "#i9")
    page.wait_for_selector("#i9:focus")
    assert page.locator("#i9").is_visible()
    page.get_by_label("flipped only").check()
    assert not page.locator("#i9").is_visible()
    page.evaluate("location.hash = '#i10'")
    page.wait_for_selector("#i10:focus")
    assert not page.get_by_label("flipped only").is_checked()
    page.click("#i2 .verdicts a")
    page.wait_for_selector("#A-s3:focus")


def test_keys_lead_from_one_to_the_next(page: Any, two: RunComparison, tmp_path: Path) -> None:
    opened(page, two, tmp_path)
    for key, expected in zip("jjkkfjjj", ["i1", "i2", "i1", "i1", "i1", "i2", "i3", "i4"], strict=True):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == expected
    assert page.evaluate("location.hash") == "#i4"
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()


def test_every_verdict_has_a_sign_and_a_word(page: Any, two: RunComparison, tmp_path: Path) -> None:
    opened(page, two, tmp_path)
    assert page.locator("#i2 .verdicts .sign").all_inner_texts() == ["✓", "✗"]
    assert page.locator("#i2 .verdicts .word").all_inner_texts() == ["answered", "unanswered"]
    assert page.locator("#i1 .verdicts .sign").all_inner_texts() == ["!", "✓"]
    assert page.locator("#i1 .verdicts .word").all_inner_texts() == ["contradicted", "answered"]


@pytest.mark.parametrize(
    ("several", "scheme"),
    [
        (False, "light"),
        (True, "dark"),
        pytest.param(False, "dark", marks=pytest.mark.nightly),
        pytest.param(True, "light", marks=pytest.mark.nightly),
    ],
)
def test_nothing_serious_keeps_anybody_out(
    chromium: Any, two: RunComparison, many: RunComparison, tmp_path: Path, scheme: str, several: bool
) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1200, "height": 900}, bypass_csp=True)
    page = opened(context.new_page(), many if several else two, tmp_path)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert serious(page) == []
    context.close()


@pytest.mark.parametrize("width", [360, 390, 1440])
def test_it_fits_the_screen(page: Any, two: RunComparison, many: RunComparison, tmp_path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for beside in (two, many):
        opened(page, beside, tmp_path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        tables = page.locator("#who .scroll, #scores > .scroll, #about .scroll")
        assert tables.count() >= 2
        assert tables.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0


@pytest.mark.parametrize("several", [False, True])
def test_whatever_is_said_is_text(
    page: Any, two: RunComparison, many: RunComparison, tmp_path: Path, several: bool
) -> None:
    beside = many if several else two
    hostile = changed(beside.model_dump(), lambda text: f"{text} {PAYLOAD}", STRUCTURE)
    opened(page, RunComparison.model_validate(hostile), tmp_path)
    assert page.troubles == []
    assert len(page.requests) == 1
    assert page.evaluate("window.harmed") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert "onerror='window.harmed=1'" in page.locator("h1").inner_text()
    assert "49" not in page.locator("h1").inner_text()
