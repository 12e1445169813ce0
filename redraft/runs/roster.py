"""Who there is to write and to judge: the models of all roles, and of none, with what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from redraft.errors import UsageError
from redraft.models.prices import PriceTable
from redraft.runs.locating import located
from redraft.runs.opening import resolve
from redraft.runs.roles import named_in
from redraft.runs.staff import Hired, hire
from redraft.runs.windows import WINDOW, known_window, told_window
from redraft.settings import (
    ASSUMED_WINDOW,
    Judging,
    Limits,
    ModelSettings,
    Price,
    Refinement,
    Role,
    Settings,
    reads_prompts,
)
from redraft.store.models import Manners
from redraft.store.store import Store

Source = Literal["given", "known", "assumed"]


@dataclass(frozen=True, slots=True)
class Seat:
    """A model in a role, or in none, under the name that it is given there."""

    role: Role | None
    name: str
    hired: Hired
    window: int | None
    """None for whoever reads no prompts."""
    window_is: Source
    manners: Manners
    trouble: str = ""
    """Why nothing more could be found out."""

    @property
    def settings(self) -> Settings:
        """What it works under."""
        return self.hired.settings

    @property
    def price(self) -> Price | None:
        """What it costs, where that is known."""
        return self.hired.price

    def to_json(self) -> dict[str, Any]:
        """The contract of a model in `models --json`."""
        it = self.settings
        return {
            "role": self.role,
            "name": self.name,
            "model": it.model,
            "base_url": it.base_url,
            "key_env": it.key_env,
            "context_tokens": self.window,
            "window": self.window_is,
            "temperature": it.temperature,
            "top_p": it.top_p,
            "max_tokens": it.max_tokens,
            "prompts": it.prompts,
            "price": self.price.model_dump() if self.price else None,
            "mode": self.manners.mode,
            "reasoning_tokens": it.reasoning_tokens or self.manners.reasoning_tokens,
            "trouble": self.trouble,
        }


def roster(
    settings: Settings,
    judging: Judging,
    decider: str | None,
    tables: Mapping[str, ModelSettings],
    prices: PriceTable,
    store: Store,
    writes_as: str | None = None,
) -> list[Seat]:
    """Everybody who has a role, and the models of the settings file that have none. Servers are asked for windows.

    `writes_as` is the name that the writer has in the settings file, where it has one.
    """
    refinement = Refinement(goals={}, decider=decider)
    given = WINDOW in settings.model_fields_set
    writer = resolve(settings)
    known = {name: tables[name] for _, name in named_in(judging, refinement) if name in tables}
    there = located(judging.model_copy(update={"models": {**judging.models, **known}}), writer, refinement)
    named = named_in(there, refinement)
    seats = hire(writer, there, Limits(), prices, refinement=refinement)
    first = _seat("writer", writes_as or writer.model, seats[0], writer.context_tokens if given else None, store)
    found = [first]
    for (role, name), one in zip(named, seats[1:], strict=True):
        own = there.models.get(name)
        window = own.context_tokens if own else None
        if window is None and given and one.opened_as[:2] == seats[0].opened_as[:2]:
            window = first.window
        found.append(_seat(role, name, one, window, store, first.window or ASSUMED_WINDOW))
    used = {writes_as, *(name for _, name in named)}
    unused = {name: table for name, table in tables.items() if name not in used}
    return [*found, *(_spare(name, table, writer, prices, store) for name, table in unused.items())]


def _spare(name: str, own: ModelSettings, writer: Settings, prices: PriceTable, store: Store) -> Seat:
    """A model that has no role. One that could not work is shown with the reason, and is no trouble to others."""
    try:
        alone = located(Judging(judges=(name,), models={name: own}), writer)
        one = hire(writer, alone, Limits(), prices)[1]
    except UsageError as error:
        under = Settings(model=own.model, base_url=own.base_url, key_env=own.key_env, context_tokens=_window_of(own))
        one = Hired("judge", under, own.price)
        source: Source = "given" if own.context_tokens else "assumed"
        trouble = f"{error.message}: {error.hint}" if error.hint else error.message
        return Seat(None, name, one, _window_of(own), source, store.manners.known(identity_of(under)), trouble)
    return _seat(None, name, one, own.context_tokens, store)


def _window_of(own: ModelSettings) -> int:
    return own.context_tokens or ASSUMED_WINDOW


def _seat(
    role: Role | None, name: str, one: Hired, given: int | None, store: Store, otherwise: int = ASSUMED_WINDOW
) -> Seat:
    it, trouble, away = one.settings, "", list[str]()
    manners = store.manners.known(identity_of(it))
    if not reads_prompts(it.model):
        return Seat(role, name, one, None, "known", manners)
    found = given
    try:
        found = found or told_window(one, away.append)
    except UsageError as error:
        trouble, found = f"{error.message}: {error.hint}", known_window(one)
    if away:
        trouble = f"nothing answers at {away[0]}"
    source: Source = "given" if given else "known" if found else "assumed"
    return Seat(role, name, one, found or otherwise, source, manners, trouble)


def identity_of(settings: Settings) -> str:
    """What a named model is known by, in the store too."""
    return f"{settings.model}@{settings.base_url}" if settings.base_url else settings.model
