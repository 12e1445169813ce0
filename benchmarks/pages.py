"""Pages of large runs in a real browser: how large the file, how soon ready, how long a jump, how much memory.

    python -m benchmarks.pages [--keep DIR]

The document is the sample book over and over, up to 0.6 and 6 MB, with a summary of 900 words, 60 or 2,000 findings and
300 or 30,000 calls. Each figure is the median of five: `ready` from the beginning of the navigation until everything is
drawn and answers, `jump` from a click on a sentence until the frame after its source has come into view.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.common import SAMPLE, markdown, options_of
from redraft.domain import Evidence, PassageLocation, Span
from redraft.readers.documents import load
from redraft.report.dossier.contents import CallEntry, Dossier, FindingHistory, read_dossier
from redraft.report.history.lineage import TracedSentence
from redraft.report.pages.html import dossier_page
from redraft.runs.session import Session
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig
from tests.browser import browser, missing

SIZES = ((600_000, 60, 300), (6_000_000, 2_000, 30_000))
SENTENCES = 45
TIMES = 5


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--keep", type=Path, help="a folder for the pages, to look at them")
    options = parser.parse_args()
    if lacking := missing():
        print(f"skipped: {lacking}")
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        small = asyncio.run(drafted(Path(temporary) / "redraft.db"))
        rows: list[tuple[object, ...]] = [
            ("document", "findings", "calls", "made, s", "file, KB", "ready, s", "jump, ms", "memory, MB")
        ]
        for characters, findings, calls in SIZES:
            large = enlarged(small, characters, findings, calls)
            began = time.process_time()
            text = dossier_page(large)
            made = time.process_time() - began
            path = folder / f"{characters}.html"
            path.write_text(text, "utf-8")
            ready, jump, memory = looked_at(path)
            figures = (f"{characters / 1e6:g} MB", f"{findings:,}", f"{calls:,}", f"{made:.2f}")
            seen = (f"{path.stat().st_size / 1000:,.0f}", f"{ready:.2f}", f"{jump:.0f}", f"{memory:.0f}")
            rows.append((*figures, *seen))
        print(markdown(rows))


async def drafted(database: Path) -> Dossier:
    """A small run to enlarge."""
    judging = JudgeConfig(metrics=("coverage",))
    wanted = RefineConfig(goals={"coverage": 0.9}, rounds=2)
    async with Session(database, settings=DraftConfig(words=300, model="extractive")) as session:
        result = await session.summarize(load(SAMPLE), refinement=wanted, judging=judging)
        return await asyncio.to_thread(read_dossier, session.store, result.run.id)


def enlarged(small: Dossier, characters: int, findings: int, calls: int) -> Dossier:
    """The same of a longer document, with more of everything."""
    book = small.document.text or ""
    text = "\n\n".join([book] * (characters // len(book) + 1))[:characters]

    def span(number: int, among: int) -> Span:
        start = (characters - 500) * number // (among + 1)
        return Span(start, start + 120)

    sentences: list[TracedSentence] = []
    start = 0
    for number in range(1, SENTENCES + 1):
        like = small.sentences[number % len(small.sentences)]
        place, end = span(number, SENTENCES), start + len(like.text)
        percent = 100 * place.start // characters
        origins = tuple(replace(origin, span=place, percent=percent) for origin in like.origins[:1])
        sentences.append(replace(like, number=number, span=Span(start, end), origins=origins, direct=(), judged=()))
        start = end + 1
    summary = replace(small.result.draft, text=" ".join(sentence.text for sentence in sentences))
    return small.model_copy(
        update={
            "document": replace(small.document, text=text),
            "result": replace(small.result, draft=summary),
            "sentences": tuple(sentences),
            "findings": tuple(
                _finding(small.findings[0], number, span(number, findings)) for number in range(1, findings + 1)
            ),
            "calls": tuple(_call(small.calls[n % len(small.calls)], n) for n in range(calls)),
        }
    )


def _finding(like: FindingHistory, number: int, place: Span) -> FindingHistory:
    evidence = Evidence(like.finding.evidence.text if like.finding.evidence else "", place)
    finding = replace(like.finding, evidence=evidence, sentence="", place=PassageLocation("", "", ""))
    return like.model_copy(update={"number": number, "finding": finding, "sentence": None, "state": "open"})


def _call(like: CallEntry, number: int) -> CallEntry:
    return replace(like, number=number + 1, began=number * 0.2, seconds=1.0 + number % 7)


def looked_at(path: Path) -> tuple[float, float, float]:
    """Seconds until it is ready, milliseconds of a jump, megabytes of memory."""
    ready, jumps, memory = [], [], []
    for _ in range(TIMES):
        with browser() as chromium:
            page = chromium.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"file://{path.resolve()}", wait_until="commit")
            page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
            page.wait_for_timeout(500)
            ready.append(page.evaluate(_READY))
            jumps += [page.evaluate(_JUMP, number) for number in (40, 3, 25, 12, 33)]
            memory.append(_memory(page))
    return statistics.median(ready), statistics.median(jumps), statistics.median(memory)


# The page marks the moment at which everything answers; a frame later it is drawn.
_READY = """() => performance.getEntriesByName("ready")[0].startTime / 1000"""
_JUMP = """(number) => new Promise((done) => {
  const began = performance.now();
  document.querySelector(`[data-choose="${number}"]`).click();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


def _memory(page: Any) -> float:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(found["JSHeapUsedSize"]) / 1e6


if __name__ == "__main__":
    main()
