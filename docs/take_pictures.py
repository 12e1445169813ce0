"""Takes the pictures of the documentation: python docs/take_pictures.py [NAME ...]

Each page is opened in a real browser at 1440 and at 390 pixels, with the sample book and the built-in model. How it
looks depends on the browser and its fonts, so that no test compares pictures: look at them. A picture that a page of
the documentation shows goes into docs/pictures; the others go into redraft-pictures in the temporary folder.
"""

from __future__ import annotations

import asyncio
import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from redraft import DraftConfig, JudgeConfig, RefineConfig, Session, Store, load, read_dossier  # noqa: E402
from redraft.lab.experiments.chunk_size import ChunkSizeDesign  # noqa: E402
from redraft.lab.experiments.published import read_file_of_results, report_page  # noqa: E402
from redraft.report.pages.html import dossier_page  # noqa: E402
from redraft.runs.experiment_runner import ExperimentRunner  # noqa: E402
from redraft.settings import Limits  # noqa: E402
from redraft.studio.comparison import read_comparison  # noqa: E402
from redraft.studio.comparison_views import comparison_page  # noqa: E402
from tests.browser import browser, missing  # noqa: E402

SAMPLE, PICTURES = ROOT / "examples" / "the-salt-ledger.md", ROOT / "docs" / "pictures"
OTHERS = Path(tempfile.gettempdir()) / "redraft-pictures"
SIZES = {1440: 900, 390: 844}
PARTS = ("scores", "rounds", "facts", "places", "calls")
_QUALITY = 78


async def refined(database: Path) -> str:
    """A run with something to see in every part of its page."""
    wanted = RefineConfig(goals={"coverage": 0.5, "consistency": 0.9, "keyfact_recall": 0.3}, rounds=3)
    judging = JudgeConfig(metrics=tuple(wanted.goals))
    given = (ROOT / "examples" / "a-first-summary.md").read_text("utf-8")
    async with Session(database, settings=DraftConfig(words=200, model="extractive")) as session:
        return (await session.refine(load(SAMPLE), given, refinement=wanted, judging=judging)).run.id


def dossier(folder: Path) -> str:
    """The address of a dossier that was made for this."""
    database, path = folder / "redraft.db", folder / "dossier.html"
    run = asyncio.run(refined(database))
    with Store(database) as store:
        path.write_text(dossier_page(read_dossier(store, run)), "utf-8")
    return f"file://{path}"


def taken(page: Any, name: str) -> None:
    """Keep a small screenshot of a page."""
    session = page.context.new_cdp_session(page)
    shot = session.send("Page.captureScreenshot", {"format": "webp", "quality": _QUALITY})
    pages = [ROOT / "README.md", *PICTURES.parent.glob("*.md")]
    shown = any(f"pictures/{name}.webp" in one.read_text("utf-8") for one in pages)
    path = (PICTURES if shown else OTHERS) / f"{name}.webp"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(base64.b64decode(shot["data"]))


def of_dossier(folder: Path) -> None:
    """The reading view, in light and in dark, and each part below it."""
    address = dossier(folder)
    with browser() as chromium:
        for width, height in SIZES.items():
            for scheme in ("light", "dark"):
                page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                page.goto(f"{address}#s2")
                page.wait_for_selector("html[data-ready]", state="attached")
                page.wait_for_timeout(500)
                page.evaluate("scrollTo(0, 0)")
                taken(page, f"dossier-{width}-{scheme}")
                for part in PARTS if scheme == "light" else ():
                    page.evaluate(f"document.getElementById('{part}').scrollIntoView()")
                    page.wait_for_timeout(300)
                    taken(page, f"dossier-{part}-{width}")
                page.close()


def of_comparison(folder: Path) -> None:
    """The top of a comparison, in light and in dark, and each part below it."""
    database, path = folder / "redraft.db", folder / "compare.html"
    runs = asyncio.run(compared(database))
    with Store(database) as store:
        path.write_text(comparison_page(read_comparison(store, runs)), "utf-8")
    with browser() as chromium:
        for width, height in SIZES.items():
            for scheme in ("light", "dark"):
                page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                page.goto(f"file://{path}")
                page.wait_for_selector("html[data-ready]", state="attached")
                taken(page, f"comparison-{width}-{scheme}")
                for part in ("items", "places", "summaries") if scheme == "light" else ():
                    page.evaluate(f"document.getElementById('{part}').scrollIntoView()")
                    page.wait_for_timeout(300)
                    taken(page, f"comparison-{part}-{width}")
                page.close()


async def compared(database: Path) -> list[str]:
    """Two runs on the sample book, of different lengths."""
    judging = JudgeConfig(metrics=("coverage", "consistency", "keyfact_recall"))
    async with Session(database, settings=DraftConfig(model="extractive")) as session:
        made = [await session.summarize(load(SAMPLE), words=words, judging=judging) for words in (150, 400)]
    return [one.run.id for one in made]


def of_report(folder: Path) -> None:
    """The top of a page of stored results."""
    with Store(folder / "redraft.db") as store:
        bench = ExperimentRunner(store, Limits())
        outcome = asyncio.run(ChunkSizeDesign(judges=("extractive",)).run([load(SAMPLE)], bench))
    (folder / "tables.json").write_text(outcome.report().files()["tables.json"], "utf-8")
    path = folder / "report.html"
    path.write_text(report_page([read_file_of_results(folder / "tables.json", "results")]), "utf-8")
    with browser() as chromium:
        for width, height in SIZES.items():
            page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme="light")
            page.goto(f"file://{path}")
            page.wait_for_selector("html[data-ready]", state="attached")
            taken(page, f"report-{width}")
            page.close()


def of_studio(folder: Path) -> None:
    """Every page of the studio; docs/take_studio_pictures.py takes single ones."""
    from take_studio_pictures import of_studio as taken_of

    taken_of(folder)


PAGES = {"dossier": of_dossier, "comparison": of_comparison, "report": of_report, "studio": of_studio}


def main() -> None:
    if lacking := missing():
        sys.exit(lacking)
    for name in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            PAGES[name](Path(folder))


if __name__ == "__main__":
    main()
