"""Takes the pictures of the studio: python docs/take_studio_pictures.py [PAGE ...]

Each page is opened in a real browser at 1440 and at 390 pixels, with the sample book and the built-in model; the run
under way has a model that stops to think. How it looks depends on the browser and its fonts: look at them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from take_pictures import SAMPLE, SIZES, taken  # noqa: E402

import redraft  # noqa: E402
from redraft import Session  # noqa: E402
from redraft.settings import ModelSettings  # noqa: E402
from tests.browser import browser, missing  # noqa: E402
from tests.chatserver import ChatRequest, ChatServer  # noqa: E402
from tests.studio.served import Served, at_rest, begin, chapter, served  # noqa: E402

_BEFORE_IT_THINKS = 5


@contextmanager
def full_studio(folder: Path) -> Iterator[tuple[Served, dict[str, str]]]:
    """A studio with something on every page, and the addresses of these."""
    go_on = threading.Event()

    async def thinking(seen: ChatRequest) -> str:
        while seen.index >= _BEFORE_IT_THINKS and not go_on.is_set():  # noqa: ASYNC110  (it is set in another thread)
            await asyncio.sleep(0.05)
        return (
            "Hester Vane came to Sarn in March 1924 to value the saltworks, and found that the accounts did not agree."
        )

    os.environ.setdefault("OPENAI_API_KEY", "none")
    with ChatServer(thinking) as chat:
        model = ModelSettings(model="openai:thinking", base_url=chat.base_url, context_tokens=8000)
        with served(folder, models={"thinking": model}) as at, at.client() as client:
            first = {"text": chapter(), "title": "The Causeway"}
            run = begin(client, kind="refine", words=80, goals={"coverage": 0.9, "consistency": 0.9}, **first)
            at_rest(client, run)
            at_rest(client, begin(client, kind="evaluate", words=120, metrics=["coverage", "keyfact_recall"], **first))
            at_rest(client, begin(client, words=60, strategy="direct", query="Who kept the ledger?", **first))
            whole = {"text": SAMPLE.read_text("utf-8"), "title": "The Salt Ledger"}
            waiting = begin(client, kind="refine", words=100, goals={"coverage": 0.8}, review=True, **whole)
            at_rest(client, waiting)
            live = begin(client, model="thinking", words=100, **whole)
            asyncio.run(batch_of_reports(folder, at))
            packs = {one["kind"]: one["id"] for one in client.get("/api/packs").json()["packs"]}
            yield at, {
                "runs": "/runs", "run": f"/runs/{run}", "live": f"/runs/{live}", "review": f"/runs/{waiting}/review",
                "new": "/runs/new", "pack": f"/packs/{packs['questions']}", "facts": f"/keyfacts/{packs['keyfacts']}",
                "packs": "/packs", "api": "/api", "batches": "/batches", "batch": "/batches/reports",
            }  # fmt: skip
            go_on.set()


async def batch_of_reports(folder: Path, at: Served) -> None:
    """A batch with a document that cannot be read."""
    (folder / "reports").mkdir()
    for number, part in enumerate(SAMPLE.read_text("utf-8").split("\n## ")[1:], 1):
        (folder / "reports" / f"report-{number}.md").write_text(f"# {part}", "utf-8")
    (folder / "reports" / "scanned.txt").write_text("", "utf-8")
    async with Session(at.told.database) as session:
        goals = {"coverage": 0.4, "consistency": 0.9}
        options = {"words": 60, "goals": goals, "rounds": 1}
        await redraft.batch(session, [folder / "reports"], name="reports", **options)


def planned(page: Any, at: Served) -> None:
    """Fill in the form, up to the plan."""
    page.goto(f"{at.url}/runs/new")
    page.wait_for_selector("html[data-ready]", state="attached")
    page.set_input_files("[data-file]", str(SAMPLE))
    page.check("[data-kind][value=refine]")
    page.click("text=Show the plan")
    page.wait_for_selector("h1:has-text('Plan for')")


def of_studio(folder: Path, *wanted: str) -> None:
    """The wanted pages of the studio, or all."""
    with full_studio(folder) as (at, pages), browser() as chromium:
        for width, height in SIZES.items():
            for scheme in ("light", "dark"):
                page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                page.goto(at.entrance)
                for name, path in pages.items():
                    # In the dark the two that are looked at most.
                    if (wanted and name not in wanted) or (scheme == "dark" and name not in ("runs", "review")):
                        continue
                    page.goto(f"{at.url}{path}")
                    page.wait_for_selector("html[data-ready]", state="attached")
                    page.wait_for_timeout(2500 if name == "live" else 500)
                    taken(page, f"studio-{name}-{width}{'-dark' if scheme == 'dark' else ''}")
                if scheme == "light" and (not wanted or "plan" in wanted):
                    planned(page, at)
                    taken(page, f"studio-plan-{width}")
                page.close()


if __name__ == "__main__":
    if lacking := missing():
        sys.exit(lacking)
    with tempfile.TemporaryDirectory() as made:
        of_studio(Path(made), *sys.argv[1:])
