"""A result in a notebook and in a program: its short form, Markdown, JSON and data frames."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from redraft import Document, Result, Session, Store, UsageError, read_result
from tests.cli.inside import keepers_court
from tests.judges import Court, told

POOR = told(1, wrong={2: "Bob"})
HOSTILE = "# <script>alert(1)</script> | $x^2$ & [a](http://x)"


@pytest.fixture
async def judged(court: Court) -> Result:
    return await court.evaluate(POOR, metrics=("coverage", "consistency"))


async def test_the_short_form_fits_a_few_lines(court: Court, judged: Result) -> None:
    assert repr(judged).startswith(f"Result(run='{judged.run.id}', kind='evaluate', status='done', title='The Keepers'")
    rounded = {name: round(score or 0, 3) for name, score in judged.scores.items()}
    assert rounded != judged.scores
    assert f"scores={rounded}, findings={len(judged.findings)}, cost_usd=" in repr(judged)
    assert len(repr(judged)) < 300
    async with court.session() as session:
        assert POOR[:30] not in repr(await session.build(court.document)), "it works without a draft, too"


async def test_markdown_has_the_summary_and_the_scores(judged: Result) -> None:
    shown = judged._repr_markdown_()
    assert "> " + POOR.split(".")[0] in shown
    assert re.search(rf"\| coverage +\| {judged.scores['coverage']:.3f} +\|", shown)
    assert shown.startswith(f"The Keepers · evaluate · {judged.run.id} · done · complete · ")


async def test_nothing_in_markdown_is_markup_of_a_text(tmp_path: Path) -> None:
    async with Session(tmp_path / "x.db") as session:
        document = Document.from_text("It rained all day in the town, and nobody came. " * 9, HOSTILE)
        shown = (await session.evaluate(document, HOSTILE, metrics=["consistency"]))._repr_markdown_()
    assert "<script" not in shown.replace("\\<script", "")
    assert "[a](" not in shown.replace("\\[a\\](", "")
    assert " $x" not in shown


async def test_the_json_has_the_findings_in_every_kind_of_run(court: Court, judged: Result) -> None:
    refined = await court.refine(POOR, goals={"coverage": 1.0}, rounds=1)
    for result in (judged, refined):
        content: Any = json.loads(json.dumps(result.model_dump(mode="json")))
        assert content["run"] == result.run.id
        found = [one["id"] for name in content["metrics"] for one in content["metrics"][name]["findings"]]
        assert found == [one.id for one in result.findings]
        assert result.model_dump() == result.model_dump(mode="json")
    assert judged.findings
    assert refined.model_dump()["summary"] == refined.summary
    with pytest.raises(UsageError, match="there is no mode 'xml'"):
        judged.model_dump(mode="xml")  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_json_is_what_the_command_prints(tmp_path: Path) -> None:
    with keepers_court(tmp_path) as command:
        printed = command.run("evaluate", "book.md", "poor.md", "--metric", "consistency", "--json").json
        refined = command.run("refine", "book.md", "poor.md", "--goal", "consistency=0.9", "--json").json
        with Store(command.database) as store:
            assert json.loads(json.dumps(read_result(store, printed["run"]).model_dump(mode="json"))) == printed
            assert json.loads(json.dumps(read_result(store, refined["run"]).model_dump(mode="json"))) == refined


@pytest.mark.parametrize("package", ["pandas", "polars"])
async def test_a_frame_has_a_row_for_each_metric_or_finding(
    judged: Result, court: Court, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package)
    monkeypatch.setattr("redraft.report.tables.find_spec", lambda name: name == package or None)
    scores, findings = judged.to_frame(), judged.to_frame("findings")
    assert list(scores["metric"]) == list(judged.evaluations)
    assert dict(zip(scores["metric"], scores["score"], strict=True))["coverage"] == judged.scores["coverage"]
    assert list(findings["id"]) == [one.id for one in judged.findings]
    assert set(findings["run"]) == {judged.run.id}
    spans = [one.evidence.span for one in judged.findings if one.evidence and one.evidence.span]
    assert spans[0].start in list(findings["start"])
    async with court.session() as session:
        empty = (await session.build(court.document)).to_frame("findings")
    assert len(empty) == 0
    assert list(empty.columns) == list(findings.columns)


async def test_a_frame_without_a_package_for_it_says_what_to_install(
    judged: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redraft.report.tables.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs pandas or polars, and neither is installed"):
        judged.to_frame()
    with pytest.raises(UsageError, match="a frame has no 'rounds'"):
        judged.to_frame("rounds")  # type: ignore[arg-type]
