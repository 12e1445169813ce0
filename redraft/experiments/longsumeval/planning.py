"""What LongSumEval's refinement comes to, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from redraft.domain import Document
from redraft.experiments.longsumeval.design import Design, Way
from redraft.experiments.planning import BUILT, USUAL_ROUNDS, Step, Told, a_text, step_of, table_of, told
from redraft.experiments.seats import Seat
from redraft.experiments.stages import DRAFTING
from redraft.models.prices import PriceTable
from redraft.reports.tables import Table
from redraft.runs.forecast import forecast
from redraft.runs.prepare import prepare
from redraft.settings import YARDSTICKS, Refine

_ABOUT = (
    "The first figures are what it comes to at most, where every draft is as long as it may be and every revision is"
    " made, and each way to refine begins anew. The expected ones are a rule of thumb: replies of 60 % of their room,"
    " and one revision."
)


def plan_table(documents: Sequence[Document], design: Design, prices: PriceTable) -> Table:
    """What there is to do, what it may cost, and what it will cost as a rule."""
    return table_of([step for document in documents for step in _steps(document, design)], _ABOUT, prices)


def _steps(document: Document, design: Design) -> Iterator[Step]:
    for part in design.needs:
        found = forecast(prepare(document, design.seated()), design.building(part))
        yield step_of(document, f"building {part}", design.seated(), 1, told(found.stages))
    for writer in design.writers:
        texts = [text for of_one in design.ready.systems.values() for text in of_one.get(document.id, ())]
        if not design.ready.systems:
            prepared = prepare(document, design.drafting(writer))
            it = prepared.plan
            stages = [(it.calls, it.prompt_tokens, it.completion_tokens)]
            yield step_of(document, f"{DRAFTING} {writer.name}", prepared.settings, 1, stages)
            texts = [a_text(it.words)]
        for way in design.ways:
            yield from _refining(document, writer, way, texts, design)


def _refining(document: Document, writer: Seat, way: Way, texts: Sequence[str], design: Design) -> Iterator[Step]:
    """The revisions by the writer, and the verdicts of the judge between them."""
    settings = design.drafting(writer).model_copy(update={"strategy": "given"})
    by = {name: getattr(design.judging, name) for name in YARDSTICKS.values()}
    for role, model in (("writer", settings), ("judge", design.seated())):
        most: list[Told] = []
        usual: list[Told] = []
        for text in texts:
            prepared, order = prepare(document, settings, given=text), design.refining(writer, way, text, by)
            assert isinstance(order.purpose, Refine)
            asked = order.purpose.refinement
            fewer = asked.model_copy(update={"rounds": min(USUAL_ROUNDS, asked.rounds)})
            likely = replace(order, purpose=order.purpose.model_copy(update={"refinement": fewer}))
            for some, one in ((most, order), (usual, likely)):
                stages = [it for it in forecast(prepared, one).stages if it.name not in BUILT]
                some += told([it for it in stages if (it.by == "writer") is (role == "writer")])
        name = f"{writer.name} to {way.thresholds}, {way.policy}: {role}"
        yield step_of(document, name, model, len(texts), most, usual)
