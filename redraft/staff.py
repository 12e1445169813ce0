"""The models of a run, open as long as it works: who writes and who judges, all on one ledger and one budget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from redraft.errors import UsageError
from redraft.events import Observer
from redraft.models.base import Model
from redraft.models.budget import Budget
from redraft.models.limiter import shared_limiter
from redraft.models.opening import open_model, price_of, resolve
from redraft.models.prices import Price, PriceTable, builtin_prices
from redraft.models.recorded import RecordedModel
from redraft.prompts.book import PromptBook
from redraft.settings import Judging, Limits, Settings
from redraft.store.runs import Run
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class Staff:
    """Who writes, and who judges: the first of the judges asks the questions."""

    writer: Model
    judges: tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class Hired:
    """A model under the settings that name it; `model` takes the place of opening it."""

    settings: Settings
    price: Price | None
    model: Model | None = None


def hire(
    settings: Settings,
    judging: Judging | None,
    limits: Limits,
    prices: PriceTable | None,
    model: Model | None = None,
    judges: Sequence[Model] = (),
) -> list[Hired]:
    """The writer, then the judges, each at its price. A cost limit needs the price of every one of them."""
    table = prices or builtin_prices()
    hired = [_at_price(settings, limits, table, model)]
    names = judging.judges if judging else ()
    if judges and tuple(judge.identity for judge in judges) != names:
        raise UsageError(f"the run's judges are {', '.join(names)}, and others were given")
    for at, name in enumerate(names):
        named = settings.model_copy(update={"model": name, "base_url": judging.base_url if judging else None})
        given = judges[at] if judges else None
        hired.append(_at_price(named if given else resolve(named), limits, table, given))
    return hired


def located(judging: Judging, settings: Settings) -> Judging:
    """The judging with the judges' address filled in, so that it is on record; names that mean nothing are refused."""
    if twice := next((name for name in judging.judges if judging.judges.count(name) > 1), None):
        raise UsageError(f"the judge {twice} is named twice", hint="use --repeat to let a judge judge more than once")
    address = judging.base_url or settings.base_url
    resolved = [resolve(settings.model_copy(update={"model": name, "base_url": address})) for name in judging.judges]
    return judging.model_copy(update={"base_url": next((one.base_url for one in resolved if one.base_url), None)})


def _at_price(settings: Settings, limits: Limits, table: PriceTable, model: Model | None) -> Hired:
    price = price_of(settings, table)
    if price is None and limits.max_cost is not None:
        raise UsageError(
            f"the price of {settings.model} is not known, so --max-cost cannot be kept",
            hint="give its price with --prices FILE, or use --max-calls",
        )
    return Hired(settings, price, model)


@asynccontextmanager
async def at_work(
    hired: Sequence[Hired], run: Run, book: PromptBook, store: Store, observer: Observer
) -> AsyncIterator[Staff]:
    """Open every model, one that is named twice only once."""
    limits, used = run.limits, store.calls.totals(run.id)
    budget = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost, calls=used.calls, cost=used.cost_usd or 0.0)
    opened: dict[tuple[str, str | None], Model] = {}
    async with AsyncExitStack() as stack:
        for one in hired:
            key = (one.settings.model, one.settings.base_url)
            if key in opened:
                continue
            model = one.model
            if model is None:
                model = await stack.enter_async_context(open_model(one.settings, book, seconds=limits.timeout))
            limiter = shared_limiter(
                one.settings.base_url or one.settings.model,
                limits.concurrency,
                requests_per_minute=limits.requests_per_minute,
                tokens_per_minute=limits.tokens_per_minute,
            )
            opened[key] = RecordedModel(
                model,
                book=book,
                store=store,
                limiter=limiter,
                run=run.id,
                budget=budget,
                price=one.price,
                observer=observer,
            )
        team = [opened[one.settings.model, one.settings.base_url] for one in hired]
        yield Staff(team[0], tuple(team[1:]) or (team[0],))
