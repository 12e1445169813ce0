"""What the experiment of HAMLET comes to, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.domain import Document
from redraft.experiments.hamlet.experiment import QUERY, Design
from redraft.experiments.hamlet.records import KEYFACTS
from redraft.experiments.planning import Step, step_of, table_of, told
from redraft.experiments.stages import DRAFTING, JUDGING
from redraft.models.prices import PriceTable
from redraft.reports.tables import Table
from redraft.runs.forecast import forecast
from redraft.runs.model_pool import hire, under_settings
from redraft.runs.models import resolve
from redraft.runs.prepare import Order, prepare
from redraft.settings import Evaluate, Judging, Limits

_TREES = "finding key facts"
_VERDICTS = ("keyfact_recall", "faithfulness")


def plan_table(documents: Sequence[Document], design: Design, prices: PriceTable) -> Table:
    """What there is to do, and what it may cost."""
    about = (
        "Each item is one query put to one model. How many key facts there are, and how many sentences an answer has,"
        " is not known before: validation and judging come to about so much, the rest to so much at most. Expected"
        " are replies of 60 % of their room."
    )
    return table_of([step for document in documents for step in _steps(document, design)], about, prices)


def _steps(document: Document, design: Design) -> Iterator[Step]:
    order = design.building()
    grown = forecast(prepare(document, design.judging()), order)
    trees = next(stage.calls for stage in grown.stages if stage.name == _TREES)
    staff = under_settings(hire(resolve(design.judging()), order.judging, Limits(), None))
    judge = staff["judge"]
    for settings, by in ((judge, "judge"), (staff["validator"], "validator")):
        found = told(stage for stage in grown.stages if stage.by == by)
        name = KEYFACTS if by == "judge" else f"{KEYFACTS}: validation"
        yield step_of(document, name, settings, 1, found)
    queries = min(design.queries or trees, trees)
    verdict = Evaluate(judging=Judging(metrics=_VERDICTS, perspective=design.perspective, evidence="whole"))
    for one in design.models:
        prepared = prepare(document, design.drafting(one.name, QUERY))
        it, times = prepared.plan, queries
        yield step_of(
            document,
            DRAFTING,
            prepared.settings,
            times,
            times * [(it.calls, it.prompt_tokens, it.completion_tokens)],
        )
        stages = forecast(prepared, Order(verdict)).stages
        verdicts = told(stage for stage in stages if stage.name in _VERDICTS)
        yield step_of(document, f"{JUDGING} {one.name}", judge, times, times * verdicts)
