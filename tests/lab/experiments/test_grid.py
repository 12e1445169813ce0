"""A grid and LongSumEval's refinement from end to end: what they come to, that they go on and pay nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.lab.experiments.experiment import Outcome
from redraft.lab.experiments.grid import GridDesign, contestants
from redraft.lab.experiments.longsumeval import LongSumEvalDesign as RefiningDesign
from redraft.lab.experiments.orders import GridOrder, NamedModel
from redraft.lab.experiments.published import result_files
from redraft.lab.experiments.sources import read_existing_summaries
from redraft.llm.budget import PriceTable
from redraft.readers.documents import parse
from redraft.report.tables import Report
from redraft.settings import JudgeConfig, Price
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, text_of
from tests.judges import PerfectModel, ScriptedReply, Sheet, keepers_in, read_sheet, summary_of
from tests.lab.experiments.made import rows
from tests.lab.experiments.world import run_in, sent, serving

KEEPERS = 8
PRICES = PriceTable({}, {name: Price(prompt=1, completion=2) for name in ("whole", "half", "fair", "first")})


class Courteous(PerfectModel):
    """Knows which summary tells of more, and prefers the structure of whatever comes first."""

    def prefer_summary(self, sheet: Sheet) -> ScriptedReply:
        reply = super().prefer_summary(sheet)
        return reply | {"structure": "first"}


def is_drafting(sheet: Sheet) -> bool:
    """Whether a model is to draft a summary, which is replied to in prose, as a revision is."""
    return sheet.prompt == "revise" and not sheet.items("points")


def reply(request: ChatRequest) -> ScriptedReply:
    """Models that tell of all keepers, or of every second one; judges that are fair, or courteous."""
    sheet = read_sheet(request)
    if request.model in ("whole", "half") and is_drafting(sheet):
        numbers = sorted(keepers_in(text_of(request.messages[0])))
        return summary_of(*(numbers if request.model == "whole" else numbers[::2]))
    return (Courteous() if request.model == "first" else PerfectModel())(sheet)


def islands(*first: int) -> list[Document]:
    """A document for each of these numbers, which tells of the keepers from it on."""
    return [
        parse(
            (
                f"# Island {n}\n\n"
                + "\n\n".join(
                    f"The keeper number {at} is called Tom{at} and lives at station {7 * at} by the cold sea."
                    for at in range(n, n + KEEPERS)
                )
            ).encode(),
            name=f"island{n}.md",
        )
        for n in first
    ]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving(reply) as running:
        yield running


def settings(url: str, model: str, **more: Any) -> DraftConfig:
    return DraftConfig(model=f"openai:{model}", base_url=url, strategy="direct", context_tokens=8000, words=80, **more)


def designed(url: str, **changes: Any) -> GridDesign:
    """Two models before two judges."""
    models = [NamedModel(name, settings(url, name)) for name in ("whole", "half")]
    seats = tuple(
        NamedModel(name, settings(url, name).model_copy(update={"strategy": "given", "words": None}))
        for name in ("fair", "first")
    )
    judging = JudgeConfig(metrics=("coverage", "consistency"), questions=KEEPERS)
    systems = contestants(models, GridOrder(strategies=("direct",), word_limits=(80,)))
    grid_design = GridDesign(contestants=systems, judges=seats, judging=judging, prefer=True)
    return grid_design.model_copy(update=changes)


async def run(
    folder: Path, documents: list[Document], design: GridDesign, limits: Limits | None = None
) -> Outcome[Any, Any]:
    """The grid, from where it is."""
    outcome: Outcome[Any, Any] = await run_in(folder, documents, design, limits, PRICES)
    return outcome


@pytest.mark.slow
async def test_a_grid_finds_coverage_and_order_effects(tmp_path: Path, server: ChatServer) -> None:
    documents = islands(1, 21)
    human = tmp_path / "people" / "people"
    human.mkdir(parents=True)
    # A pack of so short a text has six questions, about the first six keepers. People tell of two of these on the
    # first island, of one by a wrong name, and of none on the other.
    (human / "island1.txt").write_text(summary_of(1, wrong={3: "Bob"}), "utf-8")
    (human / "elsewhere.txt").write_text("Nobody asked.", "utf-8")
    ready, strangers = read_existing_summaries([str(tmp_path / "people")], documents)
    plain = designed(server.base_url)
    contestants = (*plain.contestants, type(plain.contestants[0])("people"))
    design = plain.model_copy(update={"contestants": contestants, "ready": ready, "strangers": strangers})
    plan = design.plan(documents, PRICES)
    total = dict(zip(plan.columns, plan.rows[-1], strict=True))
    outcome = await run(tmp_path, documents, design)
    assert len(server.seen) <= int(str(total["calls"]))
    assert float(str(total["USD"])) > 0
    report = outcome.report()
    scores, differences, preferences, agreement = (report.tables[n] for n in (0, 2, 3, 4))
    actual = rows(scores, "metric", "system", "score", "documents", judge="fair")
    assert [row[2:] for row in actual if row[0] == "coverage"] == [(1.0, 2), (0.5, 2), (pytest.approx(1 / 6), 1)]
    assert [row[2:] for row in actual if row[0] == "consistency"] == [(1.0, 2), (1.0, 2), (0.5, 1)]
    criteria = {"metric": "coverage", "judge": "mean of judges", "first": "whole"}
    assert rows(differences, "second", "difference", "left out", **criteria) == [
        ("half", 0.5, 0),
        ("people", pytest.approx(5 / 6), 1),
    ]
    criteria = {"first": "whole", "second": "half", "judge": "first"}
    columns = ("aspect", "for first", "for second", "ties", "order decides")
    assert rows(preferences, *columns, **criteria) == [
        ("overall", 2, 0, 0, 0),
        ("detail", 2, 0, 0, 0),
        ("structure", 0, 0, 2, 2),
        ("logic", 0, 0, 2, 0),
    ]
    assert rows(preferences, "of", "verdicts", first="half", second="people", judge="fair", aspect="detail") == [(2, 1)]
    assert rows(agreement, "alpha", "tau-b", of="coverage") == [pytest.approx((1.0, 1.0))]
    assert rows(agreement, "equal", of="preference: structure") == [(1.0,)]
    assert "ready-made summaries of documents that are not part of the experiment: 1" in report.to_markdown()
    assert not outcome.complete
    assert "it has no summary of this document" in report.to_markdown()
    request_count = len(server.seen)
    assert result_files((await run(tmp_path, documents, design)).report()) == result_files(report)
    assert len(server.seen) == request_count, "a repetition asks nothing"
    assert max(sent(server).values()) == 1


@pytest.mark.slow
async def test_failures_leave_holes_and_stop_nothing(tmp_path: Path) -> None:
    def broken(request: ChatRequest) -> str | Answer | Fault:
        drafting = is_drafting(read_sheet(request))
        return Fault("status", status=400, message="No.") if request.model == "half" and drafting else reply(request)

    with serving(broken) as server:
        outcome = await run(tmp_path, islands(1), designed(server.base_url))
    report = outcome.report()
    tables = {table.name: table for table in report.tables}
    assert rows(tables["scores"], "score", "failed", "of", metric="coverage", judge="fair") == [
        (1.0, 0, 1),
        (None, 1, 1),
    ]
    assert [row[1] for row in tables["failures"].rows] == ["half"]
    assert rows(tables["preferences"], "verdicts", "of", aspect="overall", judge="fair") == [(0, 1)]


async def test_bad_options_are_refused_before_any_request(tmp_path: Path, server: ChatServer) -> None:
    documents, design = islands(1), designed(server.base_url)
    twice = (*design.contestants, design.contestants[0])
    narrow = tuple(
        NamedModel(judge.name, judge.settings.model_copy(update={"context_tokens": 4000})) for judge in design.judges
    )
    for changes, message in (
        (
            {"judges": narrow, "judging": JudgeConfig(metrics=("booookscore",))},
            "booookscore does not fit into a window",
        ),
        ({"contestants": twice}, "two systems are named whole"),
        ({"judging": JudgeConfig(metrics=("position",))}, "position gives no score"),
    ):
        with pytest.raises(UsageError, match=message):
            await run(tmp_path, documents, design.model_copy(update={**changes}))
    (tmp_path / "lines.jsonl").write_text('{"document": "island1", "system": "a"}\n', "utf-8")
    with pytest.raises(UsageError, match="there is no `summary` with a text"):
        read_existing_summaries([str(tmp_path / "lines.jsonl")], documents)
    with pytest.raises(UsageError, match="there is no such file or folder"):
        read_existing_summaries([str(tmp_path / "nowhere")], documents)
    assert server.seen == []


def refining(url: str) -> RefiningDesign:
    """One model that tells of half of what there is, refined in two orders."""
    seat = settings(url, "fair").model_copy(update={"strategy": "given", "words": None})
    judging = JudgeConfig(judges=("openai:fair",), base_url=url, questions=KEEPERS)
    goals = {"coverage": 0.9, "consistency": 0.9}
    writer = NamedModel("half", settings(url, "half"))
    return RefiningDesign(
        writers=(writer,),
        judges=(NamedModel("fair", seat),),
        judging=judging,
        thresholds=(goals,),
        orders=("paper", "editor"),
    )


@pytest.mark.slow
async def test_refining_measures_gains_and_judges_drafts_once(tmp_path: Path, server: ChatServer) -> None:
    documents, design = islands(1), refining(server.base_url)
    plan = design.plan(documents, PRICES)

    async def done() -> Report:
        return (await run_in(tmp_path, documents, design, None, PRICES)).report()

    report = await done()
    assert len(server.seen) <= int(str(dict(zip(plan.columns, plan.rows[-1], strict=True))["calls"]))
    gains = {table.name: table for table in report.tables}["gains"]
    criteria = {"subset": "all", "metric": "coverage"}
    assert rows(gains, "order", "initial", "refined", **criteria) == [("paper", 0.5, 1.0), ("editor", 0.5, 1.0)]
    request_count = len(server.seen)
    assert result_files(await done()) == result_files(report)
    assert len(server.seen) == request_count
    assert max(sent(server).values()) == 1
