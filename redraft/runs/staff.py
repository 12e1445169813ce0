"""The models of a run, open as long as it works: who writes and who judges, all on one ledger and one budget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from redraft.errors import UsageError
from redraft.events import Observer
from redraft.models.base import Model
from redraft.models.budget import Budget
from redraft.models.limiter import shared_limiter
from redraft.models.prices import Price, PriceTable, builtin_prices
from redraft.models.recorded import RecordedModel
from redraft.prompts.book import PromptBook
from redraft.runs.opening import open_model, price_of, resolve
from redraft.settings import Judging, Limits, Settings
from redraft.store.runs import Run
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class Staff:
    """Who writes, and who judges: the first of the judges asks the questions."""

    writer: Model
    judges: tuple[Model, ...]
    validator: Model
    """Who validates the key facts that the first judge finds."""


@dataclass(frozen=True, slots=True)
class Hired:
    """A model under the settings that name it; `model` takes the place of opening it."""

    role: Literal["writer", "judge", "validator"]
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
    """The writer, then those who judge, each at its price. A cost limit needs the price of every one of them."""
    table = prices or builtin_prices()
    hired = [Hired("writer", settings, _price(settings, limits, table), model)]
    if judging is None:
        return hired
    if judges and tuple(judge.identity for judge in judges) != judging.judges:
        raise UsageError(f"the run's judges are {', '.join(judging.judges)}, and others were given")
    for at, name in enumerate(judging.judges):
        given = judges[at] if judges else None
        named = _named(name, judging, settings)
        named = named if given else resolve(named)
        hired.append(Hired("judge", named, _price(named, limits, table), given))
    if judging.validator:
        named = resolve(_named(judging.validator, judging, settings))
        hired.append(Hired("validator", named, _price(named, limits, table)))
    return hired


def _named(name: str, judging: Judging, settings: Settings) -> Settings:
    return settings.model_copy(update={"model": name, "base_url": judging.base_url})


def located(judging: Judging, settings: Settings) -> Judging:
    """The judging with the judges' address filled in, so that it is on record; names that mean nothing are refused."""
    if twice := next((name for name in judging.judges if judging.judges.count(name) > 1), None):
        raise UsageError(f"the judge {twice} is named twice", hint="use --repeat to let a judge judge more than once")
    address = judging.base_url or settings.base_url
    names = [*judging.judges, *([judging.validator] if judging.validator else [])]
    resolved = [resolve(settings.model_copy(update={"model": name, "base_url": address})) for name in names]
    return judging.model_copy(update={"base_url": next((one.base_url for one in resolved if one.base_url), None)})


def _price(settings: Settings, limits: Limits, table: PriceTable) -> Price | None:
    price = price_of(settings, table)
    if price is None and limits.max_cost is not None:
        raise UsageError(
            f"the price of {settings.model} is not known, so --max-cost cannot be kept",
            hint="give its price with --prices FILE, or use --max-calls",
        )
    return price


@asynccontextmanager
async def at_work(
    hired: Sequence[Hired], run: Run, book: PromptBook, store: Store, observer: Observer, budget: Budget | None = None
) -> AsyncIterator[Staff]:
    """Open every model, one that is named twice only once. A `budget` is shared with other runs."""
    limits = run.limits
    if budget is None:
        used = store.calls.totals(run.id)
        budget = Budget(
            max_calls=limits.max_calls, max_cost=limits.max_cost, calls=used.calls, cost=used.cost_usd or 0.0
        )
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
        team = [(one.role, opened[one.settings.model, one.settings.base_url]) for one in hired]
        writer = next(model for role, model in team if role == "writer")
        judges = tuple(model for role, model in team if role == "judge") or (writer,)
        yield Staff(writer, judges, next((model for role, model in team if role == "validator"), judges[0]))
