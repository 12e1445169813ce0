"""The page of stored results as somebody sees it who opens the file: in a real browser, from a disk."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from redraft.lab.experiments.published import read_results, report_page
from redraft.report.tables import Cell, Report, Table
from tests.browser import serious

pytestmark = pytest.mark.slow
PAYLOAD = (
    "</script></style><script>window.harmed=1</script><img src=x onerror='window.harmed=1'>\"'`--><!-- \u202e{{ 7*7 }}"
)
COLUMNS = ("perspective", "model", "position", "root", "branch", "leaf", "whole", "facts")


def recall(model: str) -> Table:
    rows: list[tuple[Cell, ...]] = [
        ("narrative", name, place, 0.5, None, 0.001, 0.25, 7) for name in (model, "b") for place in ("0-20%", "20-40%")
    ]
    return Table("recall", f"Recall, {model}", f"Shares for {model}.", "Rests on 4 of 4 items.", COLUMNS, tuple(rows))


def many_rows() -> Table:
    rows = tuple((f"row {at}", at) for at in range(1000))
    return Table("rows", "Rows", "Many.", "Rests on 1,000 rows.", ("name", "number"), rows)


def opened(page: Any, folder: Path, model: str = "a", experiment: str = "hamlet") -> Any:
    report = Report(experiment, f"Title of {model}", (model,), {model: [model]}, (recall(model), many_rows()), [])
    for name in ("one", "two"):
        (folder / name).mkdir(exist_ok=True)
        content = report.files()["tables.json"]
        (folder / name / "tables.json").write_text(content, "utf-8")
    path = folder / "report.html"
    path.write_text(report_page(read_results([str(folder)])), "utf-8")
    page.goto(f"file://{path}")
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


@pytest.mark.nightly
def test_the_page_opens_offline_and_downloads_data(page: Any, tmp_path: Path) -> None:
    opened(page, tmp_path)
    assert page.requests == [f"file://{tmp_path}/report.html"]
    assert page.troubles == []
    drawn = [panel.locator("figure.plot").count() for panel in page.locator("#e1-t1 .panel").all()]
    assert drawn[0] == drawn[1] > 0
    assert page.locator("#e1-t1 .panel .letter").all_inner_texts() == ["A", "B"]
    boxes = [panel.bounding_box() for panel in page.locator("#e1-t1 .panel").all()]
    assert boxes[0]["y"] == boxes[1]["y"], "two sets of results stand side by side"
    with page.expect_download() as download:
        page.locator("#e1-t2 a[download]").first.click()
    assert download.value.suggested_filename == "hamlet-rows.csv"
    rows = list(csv.reader(Path(download.value.path()).read_text("utf-8").splitlines()))
    assert (len(rows), rows[-1]) == (1001, ["row 999", "999"])
    assert page.locator("#e1-t2-1 tbody tr").count() == 300
    assert page.locator("#e1-t2-1 .left-out").inner_text() == "700 more rows are in the file."
    page.get_by_role("link", name="Rows", exact=True).first.click()
    page.wait_for_url("**#e1-t2")


def test_unmeasured_is_a_dash_small_is_visible(page: Any, tmp_path: Path) -> None:
    opened(page, tmp_path)
    page.locator("#e1-t1-1 .data > summary").click()
    first = page.locator("#e1-t1-1 .data tbody tr").first.locator("td").all_inner_texts()
    assert first == ["narrative", "a", "0-20%", "0.50", "–", "0.001", "0.25", "7"]


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1440, "light"),
        (360, "dark"),
        pytest.param(1440, "dark", marks=pytest.mark.nightly),
        pytest.param(360, "light", marks=pytest.mark.nightly),
    ],
)
def test_the_page_is_accessible_and_fits(chromium: Any, tmp_path: Path, width: int, scheme: str) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.requests, page.troubles = [], []
    opened(page, tmp_path, model="a-model-with-a-name-that-does-not-end-" * 4)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious(page) == []
    page.close()


@pytest.mark.nightly
def test_whatever_is_stored_is_text(page: Any, tmp_path: Path) -> None:
    for at, experiment in enumerate(("hamlet", PAYLOAD)):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        opened(page, folder, model=PAYLOAD, experiment=experiment)
        assert page.evaluate("window.harmed") is None
        assert page.locator("img:not(.plot img)").count() == 0
        assert page.locator("script").count() == 1
        assert page.troubles == []
        assert "window.harmed" in page.locator("h2").first.inner_text()
        assert "\u202e" not in (folder / "report.html").read_text("utf-8")
        assert page.locator("a[download]").first.get_attribute("download").endswith(".csv")
    names = json.loads((tmp_path / "0" / "one" / "tables.json").read_text("utf-8"))["tables"][0]["title"]
    assert PAYLOAD in names, "the payload was there"
