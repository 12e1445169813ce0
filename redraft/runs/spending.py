"""What a run would do and come to at most, before anything is asked or stored: drafting and judging together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from redraft.domain import Document, Usage
from redraft.evaluators.goals import refuse_self_check
from redraft.models.prices import PriceTable
from redraft.runs.forecast import Forecast, forecast
from redraft.runs.locating import located
from redraft.runs.opening import price_of, reasoning_reserve
from redraft.runs.parting import chapter_of, order_of, settings_of
from redraft.runs.preparing import Order, Prepared, prepare
from redraft.runs.sampling import candidate
from redraft.runs.staff import hire, under_settings
from redraft.runs.windows import known_window, with_windows
from redraft.settings import Limits, Role, Settings


@dataclass(frozen=True, slots=True)
class Spending:
    """What drafting and judging come to. `staff` are the settings of whoever does a stage; one judge stands for all."""

    prepared: Prepared
    order: Order
    forecast: Forecast
    staff: Mapping[Role, Settings]
    prices: PriceTable
    notes: tuple[str, ...]
    """What a user should know of it, in sentences."""
    chapters: tuple[Spending, ...] = ()
    """What each chapter comes to, where they are drafted by themselves. All figures are with theirs."""
    others: tuple[Spending, ...] = ()
    """What each draft beside the first one comes to, where there are several. All figures are with theirs, too."""

    @property
    def calls(self) -> int:
        """Of drafting and judging."""
        return self.prepared.plan.calls + self.forecast.calls + sum(one.calls for one in (*self.chapters, *self.others))

    @property
    def prompt_tokens(self) -> int:
        """Of drafting and judging."""
        own = self.prepared.plan.prompt_tokens + self.forecast.prompt_tokens
        return own + sum(one.prompt_tokens for one in (*self.chapters, *self.others))

    @property
    def completion_tokens(self) -> int:
        """Of drafting and judging."""
        own = self.prepared.plan.completion_tokens + self.forecast.completion_tokens
        return own + sum(one.completion_tokens for one in (*self.chapters, *self.others))

    @property
    def reasoning(self) -> int:
        """The tokens that models may use besides, to think."""
        return sum(calls * reasoning_reserve(settings) for settings, calls, _ in self._parts())

    def cost(self, *, with_reasoning: bool) -> float | None:
        """In US dollars; None where nobody knows a price."""
        total = 0.0
        for settings, calls, usage in self._parts():
            price = price_of(settings, self.prices)
            if calls and price is None:
                return None
            if price is not None:
                thinking = calls * reasoning_reserve(settings) if with_reasoning else 0
                total += price.of(Usage(usage.prompt_tokens, usage.completion_tokens + thinking))
        return total

    def _parts(self) -> Iterator[tuple[Settings, int, Usage]]:
        """Drafting, and each stage of judging: under which settings, how many calls, and what they use."""
        it = self.prepared.plan
        yield self.staff["writer"], it.calls, Usage(it.prompt_tokens, it.completion_tokens)
        for stage in self.forecast.stages:
            yield self.staff[stage.by], stage.calls, Usage(stage.prompt_tokens, stage.completion_tokens)
        for part in (*self.chapters, *self.others):
            yield from part._parts()

    def to_json(self) -> dict[str, object]:
        """The contract of `--dry-run --json`."""
        prepared, it, order = self.prepared, self.prepared.plan, self.order
        return {
            "source": {
                "id": prepared.document.id,
                "title": prepared.document.title,
                "tokens": it.document_tokens,
                "words": it.document_words,
                "chunks": it.chunks,
            },
            "model": prepared.settings.model,
            "judges": list(order.judging.judges or (prepared.settings.model,)) if order.judging else [],
            "validator": self.staff["validator"].model if order.judging else None,
            "tokenizer": prepared.tokenizer.name,
            **{name: value for name, value in asdict(it).items() if not name.startswith("document_")},
            "stages": [asdict(stage) for stage in self.forecast.stages],
            "calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "reasoning_tokens": self.reasoning,
            "cost_usd": self.cost(with_reasoning=True),
            "warnings": list(prepared.warnings),
        } | ({"chapters": [one.to_json() for one in self.chapters]} if self.chapters else {})


def spending_of(
    source: str | Sequence[str] | Document, settings: Settings, order: Order, prices: PriceTable
) -> Spending:
    """What a run of this order would come to."""
    settings, order = order.settled(settings), with_places(order, settings)
    # Nobody is asked, a server for its window neither.
    settings, order, notes = with_windows(settings, order, known_window)
    prepared = prepare(source, settings, given=order.given)
    # What a limit of cost would refuse is shown all the same.
    refuse_self_check(prepared.settings, order.judging, order.refinement)
    hired = hire(prepared.settings, order.judging, Limits(), prices, refinement=order.refinement)
    told = (*prepared.warnings, *notes)
    chapters = tuple(_of_chapters(prepared, order, prices))
    others = tuple(_of_others(prepared, prices))
    return Spending(prepared, order, forecast(prepared, order), under_settings(hired), prices, told, chapters, others)


def _of_chapters(prepared: Prepared, order: Order, prices: PriceTable) -> Iterator[Spending]:
    for title, span in prepared.chapters:
        chapter = chapter_of(prepared.document, title, span)
        yield spending_of(chapter, settings_of(prepared.settings, chapter), order_of(order), prices)


def _of_others(prepared: Prepared, prices: PriceTable) -> Iterator[Spending]:
    for number in range(2, prepared.settings.drafts + 1):
        one = candidate(prepared.document, prepared.settings, number)
        yield spending_of(prepared.document, one.settings, Order(), prices)


def with_places(order: Order, settings: Settings) -> Order:
    """The order with the addresses of those who judge and decide, where they are only named."""
    if order.judging is None:
        return order
    there = located(order.judging, settings, order.refinement)
    return replace(order, purpose=order.purpose.model_copy(update={"judging": there}))
