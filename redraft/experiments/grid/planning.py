"""What a grid comes to, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from redraft.domain import Document
from redraft.experiments.grid.design import Contestant, Design, Yardsticks
from redraft.experiments.planning import BUILT, USUAL_ROUNDS, Step, Told, a_text, step_of, table_of, told
from redraft.experiments.seats import Seat
from redraft.experiments.stages import DRAFTING, JUDGING
from redraft.models.prices import PriceTable
from redraft.reports.tables import Table
from redraft.runs.forecast import forecast
from redraft.runs.prepare import prepare
from redraft.settings import Evaluate, Refine, Settings

_ABOUT = (
    "The first figures are what it comes to at most, where every draft is as long as it may be and every revision is"
    " made. The expected ones are a rule of thumb: replies of 60 % of their room, and one revision."
)


def plan_table(documents: Sequence[Document], design: Design, prices: PriceTable) -> Table:
    """What there is to do, what it may cost, and what it will cost as a rule."""
    return table_of([step for document in documents for step in _steps(document, design)], _ABOUT, prices)


def _steps(document: Document, design: Design) -> Iterator[Step]:
    first = design.builder
    for part in design.needs:
        stages = forecast(prepare(document, first), design.building(part)).stages
        yield step_of(document, f"building {part}", first, 1, told(stages))
    words: dict[str, int] = {}
    for one in design.contestants:
        if one.settings is not None:
            prepared = prepare(document, design.drafting(one))
            words[one.name] = prepared.plan.words
            if one.refines is None:
                it = prepared.plan
                drafted = [(it.calls, it.prompt_tokens, it.completion_tokens)]
                yield step_of(document, f"{DRAFTING} {one.name}", prepared.settings, 1, drafted)
            else:
                yield from _refining(document, one, design, words[one.name])
    yield from _verdicts(document, design, words)


def _refining(document: Document, one: Contestant, design: Design, words: int) -> Iterator[Step]:
    """The revisions by the contestant, and the verdicts of the first judge between them."""
    settings = design.drafting(one).model_copy(update={"strategy": "given", "words": words})
    most = design.refining(one, a_text(words), Yardsticks())
    assert isinstance(most.purpose, Refine)
    fewer = most.purpose.refinement.model_copy(update={"rounds": min(USUAL_ROUNDS, most.purpose.refinement.rounds)})
    usual = replace(most, purpose=most.purpose.model_copy(update={"refinement": fewer}))
    prepared = prepare(document, settings, given=most.given)
    for by, model in (("writer", settings), ("judge", design.seated(design.judges[0]))):
        stages, likely = (
            told(
                stage
                for stage in forecast(prepared, order).stages
                if (stage.by == "writer") is (by == "writer") and stage.name not in BUILT
            )
            for order in (most, usual)
        )
        yield step_of(document, f"refining {one.name}: {by}", model, 1, stages, likely)


def _verdicts(document: Document, design: Design, words: dict[str, int]) -> Iterator[Step]:
    """What every judge reads of every contestant; of summaries that are there as many as there are."""
    for seat in design.judges:
        settings = design.seated(seat).model_copy(update={"strategy": "given", "words": None})
        for one in design.contestants:
            texts = [a_text(words[one.name])] if one.settings else list(_ready(document, one, design))
            stages: list[Told] = []
            for text in texts:
                order = design.verdict(seat, text, Yardsticks(), design.metrics)
                assert isinstance(order.purpose, Evaluate)
                found = forecast(prepare(document, settings, given=text), order).stages
                stages += told(it for it in found if it.name not in BUILT)
            yield step_of(document, f"{JUDGING} {one.name} by {seat.name}", settings, len(texts), stages)
        if design.prefers:
            yield _preferences(document, design, words, settings, seat)


def _preferences(document: Document, design: Design, words: dict[str, int], settings: Settings, seat: Seat) -> Step:
    stages: list[Told] = []
    by_name = {one.name: one for one in design.contestants}
    for first, second in design.pairs:
        texts = [_text(document, by_name[name], design, words) for name in (first, second)]
        if all(texts):
            # Two texts that are not written yet are as long as one another, and yet not the same.
            order = design.comparing(seat, texts[0], f"{texts[1]} -")
            stages += told(forecast(prepare(document, settings, given=texts[0]), order).stages)
    return step_of(document, f"preferences by {seat.name}", settings, len(design.pairs), stages)


def _text(document: Document, one: Contestant, design: Design, words: dict[str, int]) -> str:
    return a_text(words[one.name]) if one.settings else next(iter(_ready(document, one, design)), "")


def _ready(document: Document, one: Contestant, design: Design) -> Sequence[str]:
    return design.ready.systems[one.name].get(document.id, ())
