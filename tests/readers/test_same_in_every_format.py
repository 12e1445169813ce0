"""The sample book has the same summary and the same findings in whatever format it comes, but for their places."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from redraft import Result, Session
from redraft.domain import Document
from redraft.report.history.results import finding_json
from tests.readers import makers
from tests.readers.test_formats import book, read

FORMATS = ("html", "epub", "docx", "pdf")
CHAPTERS = 2
WRONG = "Hester Vane came to the island of Sarn on Monday, 5 March 1924. Ruth Crane was a thief."


def in_format(form: str) -> Document:
    title, chapters = book()
    return read(form, getattr(makers, form)(title, chapters[:CHAPTERS]))


def drafted_and_judged(document: Document, folder: Path) -> tuple[str | None, Result]:
    """A summary of the document, and what is found wrong with a poor one."""

    async def work() -> tuple[str | None, Result]:
        async with Session(folder / f"{document.source}.db") as session:
            summary = (await session.summarize(document, words=80)).summary
            return summary, await session.evaluate(document, WRONG, metrics=["coverage", "consistency"])

    return asyncio.run(work())


@pytest.mark.nightly
def test_the_same_summary_and_the_same_findings(tmp_path: Path) -> None:
    plain, *others = (in_format(form) for form in FORMATS)
    summary, judged = drafted_and_judged(plain, tmp_path)
    found = [one for metric in judged.evaluations.values() for one in metric.findings]
    assert summary
    assert {one.metric for one in found} >= {"consistency"}
    for document in others:
        its_summary, its = drafted_and_judged(document, tmp_path)
        assert its_summary == summary
        assert its.scores == judged.scores
        its_found = [one for metric in its.evaluations.values() for one in metric.findings]
        assert list(map(finding_json, its_found)) == list(map(finding_json, found))
        placed = [finding_json(one, replace(document, text="")) for one in its_found if one.evidence]
        assert all(bool(one["evidence"]["pages"]) == (document.source == "x.pdf") for one in placed)  # type: ignore[index]
