"""The windows of everybody who works on a run: their own, those that are known, and those that servers tell of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from redraft.models.addresses import DEFAULT_BASE_URL, openai_key, server_at
from redraft.models.base import Model
from redraft.models.chat import ChatModel
from redraft.models.names import OPENAI, name_of, provider_of
from redraft.models.serving import Server
from redraft.models.windows import window_at, window_of_family
from redraft.runs.opening import resolve
from redraft.runs.preparing import Order
from redraft.runs.roles import NOBODY, named_in
from redraft.runs.staff import Hired, hire, without_key
from redraft.settings import ASSUMED_WINDOW, Judging, Limits, ModelSettings, Refinement, Settings, reads_prompts

WINDOW = "context_tokens"
Windows = Callable[[Hired], int | None]
"""Looks for a model's window."""


def known_window(one: Hired) -> int | None:
    """The window of a model that is known without asking anybody."""
    if isinstance(one.model, ChatModel) and one.model.window:
        return one.model.window
    return window_of_family(name_of(one.settings.model))


def told_window(one: Hired, away: Callable[[str], None] | None = None) -> int | None:
    """The window that a model's own server tells of, or else the one that is known.

    Where nothing answers `away` is told the address.
    """
    it = one.settings
    served = one.model is None and provider_of(it.model) == OPENAI and it.base_url is not None
    if served and it.base_url and server_at(it.base_url) != server_at(DEFAULT_BASE_URL):
        key = openai_key(name_of(it.model), it.base_url, it.key_env, usual=one.usual_key)
        with Server(it.base_url, key) as server:
            if said := window_at(server, name_of(it.model)):
                return said
            if server.gone and away is not None:
                away(it.base_url)
    return known_window(one)


def with_windows(
    settings: Settings, order: Order, find: Windows, objects: Mapping[str, Model] = NOBODY
) -> tuple[Settings, Order, list[str]]:
    """The settings and the order with everybody's window on record; and what had to be assumed, in words."""
    settings, judging, notes = windowed(settings, order.judging, order.refinement, find, objects)
    return settings, replace(order, purpose=order.purpose.model_copy(update={"judging": judging})), notes


def windowed(
    settings: Settings,
    judging: Judging | None,
    refinement: Refinement | None,
    find: Windows,
    objects: Mapping[str, Model] = NOBODY,
) -> tuple[Settings, Judging | None, list[str]]:
    """The same of settings and a judging.

    What the settings say of a window is said of the writer's, and of that of an object which nothing can be known of.
    Where nobody knows another's it counts as large as the writer's.
    """
    given = settings.context_tokens if WINDOW in settings.model_fields_set else None
    notes: list[str] = []
    writer, *others = hire(
        settings if settings.model in objects else resolve(settings),
        judging,
        Limits(),
        None,
        refinement=refinement,
        objects=objects,
    )

    def window(one: Hired, otherwise: int, whose: str) -> int:
        found = find(one)
        if found is None and _is_bounded(one):
            option = "--context-tokens N, or " if one is writer else ""
            notes.append(
                f"the window of {one.settings.model} is not known: {otherwise:,} tokens{whose} are assumed"
                f" ({option}{WINDOW} of its own settings, a table [models.NAME], says what it is)"
            )
        return found or otherwise

    notes += without_key([writer, *others])
    of_writer = given or window(writer, ASSUMED_WINDOW, "")
    models = dict(judging.models) if judging is not None else {}
    for (_, name), one in zip(named_in(judging, refinement), others, strict=True):
        own = models.get(name)
        if not reads_prompts(one.settings.model) or (own is not None and own.context_tokens):
            continue
        here = one.opened_as[:2] == writer.opened_as[:2]
        its = of_writer if here else window(one, of_writer, ", as many as the writer's,")
        if own is not None or its != of_writer:
            models[name] = _with_window(one.settings, its, own)
    settings = settings.model_copy(update={WINDOW: of_writer})
    return settings, judging and judging.model_copy(update={"models": models}), list(dict.fromkeys(notes))


def _is_bounded(one: Hired) -> bool:
    """Whether a model is one that has a window, as far as anybody can tell."""
    return reads_prompts(one.settings.model) and (one.model is None or isinstance(one.model, ChatModel))


def _with_window(under: Settings, window: int, own: ModelSettings | None) -> ModelSettings:
    """What somebody has of their own, or else works under, with a window."""
    if own is None:
        fields = {name: getattr(under, name) for name in ModelSettings.model_fields if name != "prompts"}
        own = ModelSettings(**fields)
    return own.model_copy(update={WINDOW: window})
