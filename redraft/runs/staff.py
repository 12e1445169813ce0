"""The models of a run, open as long as it works: who writes and who judges, all on one ledger and one budget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType

from redraft.errors import UsageError
from redraft.evaluators.forecasting import Role
from redraft.events import Observer
from redraft.models.base import Model
from redraft.models.budget import Budget
from redraft.models.limiter import shared_limiter
from redraft.models.prices import Price, PriceTable, builtin_prices
from redraft.models.recorded import RecordedModel
from redraft.prompts.book import PromptBook
from redraft.runs.opening import address_in, exact_tokenizer, open_model, price_of, provider_of, resolve
from redraft.settings import EXTRACTIVE, Judging, Limits, Refinement, Settings
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.threads import off_loop
from redraft.text.tokens import Tokenizer

_NOBODY: Mapping[str, Model] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Staff:
    """Who writes, and who judges: the first of the judges asks the questions."""

    writer: Model
    judges: tuple[Model, ...]
    validator: Model
    """Who validates the key facts that the first judge finds."""
    decider: Model
    """Who decides what a revision shall mend, where the policy leaves that to a model."""


@dataclass(frozen=True, slots=True)
class Hired:
    """A model under the settings that name it; `model` takes the place of opening it."""

    role: Role
    settings: Settings
    price: Price | None
    model: Model | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        """The same for all the roles of one model: its name and its address, or the identity of an object."""
        return (self.settings.model, None if self.model else self.settings.base_url)


def by_identity(models: Iterable[Model]) -> dict[str, Model]:
    """The models that are handed over, by identity: under it they are named in settings and on record.

    One object may have several roles. Two of one identity would answer for each other out of the cache, so they are
    refused.
    """
    known: dict[str, Model] = {}
    for model in models:
        if known.setdefault(model.identity, model) is not model:
            raise _confused(model.identity)
    return known


def _confused(identity: str) -> UsageError:
    return UsageError(
        f"two models have the identity {identity}, so nobody could tell their answers apart",
        hint="give each its own, with ChatModel(chat, identity=...), or let one judge several times with repeat",
    )


def hire(
    settings: Settings,
    judging: Judging | None,
    limits: Limits,
    prices: PriceTable | None,
    *,
    refinement: Refinement | None = None,
    objects: Mapping[str, Model] = _NOBODY,
) -> list[Hired]:
    """The writer, then those who judge and decide, each at its price. A cost limit needs the price of every one.

    A name that is the identity of one of the `objects` means that object; any other is opened.
    """
    table = prices or builtin_prices()
    named: list[tuple[Role, str]] = []
    if judging is not None:
        named += [("judge", name) for name in judging.judges]
        named += [("validator", judging.validator)] if judging.validator else []
        named += [("decider", refinement.decider)] if refinement and refinement.decider else []
    hired = [Hired("writer", settings, _price(settings, limits, table), objects.get(settings.model))]
    for role, name in named:
        model = objects.get(name)
        under = _elsewhere(settings, name, _address(name, judging, settings, objects))
        under = under if model else resolve(under)
        hired.append(Hired(role, under, _price(under, limits, table), model))
    return hired


def located(
    judging: Judging, settings: Settings, refinement: Refinement | None = None, objects: Mapping[str, Model] = _NOBODY
) -> Judging:
    """The judging with its models' address filled in, so that it is on record; names that mean nothing are refused.

    Objects bring their own addresses. Where the models that are named have several addresses none is filled in: then
    each provider's are where the writer's are, or where the provider is.
    """
    if twice := next((name for name in judging.judges if judging.judges.count(name) > 1), None):
        raise UsageError(f"the judge {twice} is named twice", hint="use --repeat to let a judge judge more than once")
    names = {*judging.judges, judging.validator, refinement.decider if refinement else None} - {None, *objects}
    addresses = {
        resolve(_elsewhere(settings, name, _address(name, judging, settings, objects))).base_url
        for name in names
        if name and name != EXTRACTIVE
    }
    return judging.model_copy(update={"base_url": addresses.pop() if len(addresses) == 1 else judging.base_url})


def _address(name: str, judging: Judging | None, settings: Settings, objects: Mapping[str, Model]) -> str | None:
    """Where a model that judges or decides is: where the judging says, or else where the writer is.

    Where the writer is a model of another provider its address is of no use, and whoever names a provider has chosen
    where the document goes.
    """
    if judging is not None and judging.base_url:
        return judging.base_url
    writer = provider_of(settings.model)
    if settings.base_url and (settings.model in objects or writer in ("", provider_of(name))):
        return settings.base_url
    return address_in(settings.model) if writer == provider_of(name) else None


def _elsewhere(settings: Settings, name: str, address: str | None) -> Settings:
    """The settings for another model, which has the key of the writer's address only if it is there."""
    key = settings.key_env if address is not None and address == settings.base_url else None
    return settings.model_copy(update={"model": name, "base_url": address, "key_env": key})


def _price(settings: Settings, limits: Limits, table: PriceTable) -> Price | None:
    price = price_of(settings, table)
    if price is None and limits.max_cost is not None:
        raise UsageError(
            f"the price of {settings.model} is not known, so --max-cost cannot be kept",
            hint="give its price with --prices FILE, or use --max-calls",
        )
    return price


def under_settings(hired: Sequence[Hired]) -> dict[Role, Settings]:
    """Under which settings each role works, the first judge's for all judges. Where nobody is named, somebody else does
    the work."""
    first: dict[Role, Settings] = {}
    for one in hired:
        first.setdefault(one.role, one.settings)
    writer = first["writer"]
    judge = first.get("judge", writer)
    everybody: dict[Role, Settings] = {"writer": writer, "judge": judge, "validator": judge, "decider": writer}
    return {**everybody, **first}


@asynccontextmanager
async def at_work(
    hired: Sequence[Hired], run: Run, book: PromptBook, store: Store, observer: Observer, budget: Budget | None = None
) -> AsyncIterator[Staff]:
    """Open every model, one that is named twice only once. A `budget` is shared with other runs."""
    limits = run.limits
    if budget is None:
        budget = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost, pot=run.id)
    opened: dict[tuple[str, str | None], Model] = {}
    async with AsyncExitStack() as stack:
        for one in hired:
            if one.key in opened:
                continue
            model = one.model
            if model is None:
                model = await stack.enter_async_context(open_model(one.settings, seconds=limits.timeout))
            if any(model.identity == other.identity for other in opened.values()):
                raise _confused(model.identity)
            limiter = shared_limiter(
                one.settings.base_url or address_in(model.identity) or provider_of(model.identity) or model.identity,
                limits.concurrency,
                requests_per_minute=limits.requests_per_minute,
                tokens_per_minute=limits.tokens_per_minute,
            )
            opened[one.key] = RecordedModel(
                model,
                book=book,
                store=store,
                limiter=limiter,
                run=run.id,
                budget=budget,
                price=one.price,
                tokenizer=await off_loop(_counting, one, limits),
                observer=observer,
            )
        yield _team([(one.role, opened[one.key]) for one in hired])


def _counting(one: Hired, limits: Limits) -> Tokenizer | None:
    """Who counts as the provider does, where that matters and where somebody does."""
    return exact_tokenizer(one.settings) if limits.max_cost is not None and one.model is None else None


def _team(models: Sequence[tuple[Role, Model]]) -> Staff:
    """Everybody in the role that they have; one for whom nobody is named is filled by somebody else."""

    def of(role: Role) -> list[Model]:
        return [model for its, model in models if its == role]

    writer = of("writer")[0]
    judges = of("judge") or [writer]
    return Staff(writer, tuple(judges), (of("validator") or judges)[0], (of("decider") or [writer])[0])
