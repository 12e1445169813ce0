"""The windows of the models by role, what else is known of each, and a check by two short questions: whether a model
answers, and in which structured-output mode.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field, InstanceOf, SerializerFunctionWrapHandler, model_serializer

from redraft.domain import Rounded, computed, record_json
from redraft.errors import CapabilityError, ModelError, RedraftError, ReplyError, TimedOut, UsageError
from redraft.llm.addresses import (
    DEFAULT_BASE_URL,
    OPENAI,
    has_usual_key,
    is_here,
    name_of,
    openai_key,
    provider_of,
    server_at,
)
from redraft.llm.base import Model, Reply, Request, Sampling
from redraft.llm.budget import PriceTable
from redraft.llm.chat import ChatModel
from redraft.llm.servers import ModelServer, window_at, window_of_family
from redraft.llm.structured_output import modes_for
from redraft.prompts.contract import InputT, Prompt, PromptInput, ReplyModel, ValueT
from redraft.prompts.factual import VERIFY_SENTENCES, VerifyInput
from redraft.prompts.qa import Statement
from redraft.runs.model_names import NO_ITEM, WINDOW, identity_of, named_in
from redraft.runs.models import ModelRole, assign_models, open_model, resolve, with_addresses
from redraft.settings import (
    ASSUMED_WINDOW,
    EXTRACTIVE,
    DraftConfig,
    JudgeConfig,
    Limits,
    ModelSettings,
    Price,
    RefineConfig,
    ReplyForm,
    Role,
    reads_prompts,
)
from redraft.store.calls import ModelCapabilities
from redraft.store.connection import off_loop
from redraft.store.store import Store

Windows = Callable[[ModelRole], int | None]
"""Looks up a model's window."""


def known_window(role: ModelRole) -> int | None:
    """Return a model's window if it is known without a request."""
    if isinstance(role.model, ChatModel) and role.model.window:
        return role.model.window
    return window_of_family(name_of(role.settings.model))


def server_window(role: ModelRole, tell_gone: Callable[[str], None] | None = None) -> int | None:
    """Return the window that a model's server reports, or else the known one. `tell_gone` is called with the address if
    the server does not answer."""
    settings, address = role.settings, role.settings.base_url
    served = role.model is None and provider_of(settings.model) == OPENAI
    if served and address and server_at(address) != server_at(DEFAULT_BASE_URL):
        key = openai_key(settings.model, address, settings.key_env, usual=role.usual_key)
        with ModelServer(address, key) as server:
            if window := window_at(server, name_of(settings.model)):
                return window
            if server.gone and tell_gone is not None:
                tell_gone(address)
    return known_window(role)


def settings_with_windows(
    settings: DraftConfig,
    judging: JudgeConfig | None,
    refinement: RefineConfig | None,
    find: Windows,
    objects: Mapping[str, Model] = NO_ITEM,
) -> tuple[DraftConfig, JudgeConfig | None, list[str]]:
    """Return the settings of the writer and the judges with windows, and notes on assumptions. A window in the settings
    is the writer's, and that of an object about which nothing is known. Another model's unknown window is assumed to
    equal the writer's."""
    notes: list[str] = []
    resolved = settings if settings.model in objects else resolve(settings)
    writer, *other_roles = assign_models(resolved, judging, Limits(), None, refinement=refinement, objects=objects)
    keyless = [role for role in (writer, *other_roles) if role.wants_openai_key and not role.usual_key]
    notes += [
        f"{role.settings.model} at {role.settings.base_url} gets no key: OPENAI_API_KEY is for another server"
        " (key_env in its own settings names its key)"
        for role in keyless
        if has_usual_key() and not is_here(role.settings.base_url or "")
    ]

    def window(role: ModelRole, otherwise: int, whose: str) -> int:
        found = find(role)
        may_have_one = role.model is None or isinstance(role.model, ChatModel)
        if found is None and may_have_one and reads_prompts(role.settings.model):
            where = "" if role is writer else " in its own table [models.NAME]"
            unknown = f"the window of {role.settings.model} is unknown: {otherwise:,} tokens{whose} are assumed"
            notes.append(f"{unknown} (set {WINDOW}{where})")
        return found or otherwise

    chosen = settings.context_tokens if WINDOW in settings.model_fields_set else None
    of_writer = chosen or window(writer, ASSUMED_WINDOW, "")
    models = dict(judging.models) if judging is not None else {}
    for (_, name), role in zip(named_in(judging, refinement), other_roles, strict=True):
        table = models.get(name)
        if not reads_prompts(role.settings.model) or (table is not None and table.context_tokens):
            continue
        is_at_writers = role.opened_as[:2] == writer.opened_as[:2]
        tokens = of_writer if is_at_writers else window(role, of_writer, ", as many as the writer's,")
        if table is not None or tokens != of_writer:
            fields = {
                field: getattr(role.settings, field) for field in ModelSettings.model_fields if field != "prompts"
            }
            models[name] = (table or ModelSettings(**fields)).model_copy(update={WINDOW: tokens})
    settings = settings.model_copy(update={WINDOW: of_writer})
    return settings, judging and judging.model_copy(update={"models": models}), list(dict.fromkeys(notes))


Source = Literal["given", "known", "assumed"]


@dataclass(frozen=True, slots=True)
class RosterEntry:
    """A model in a role, or without one, under its name."""

    role: Role | None
    name: str
    assigned: Annotated[InstanceOf[ModelRole], Field(exclude=True)]
    window: Annotated[int | None, Field(serialization_alias="context_tokens")]
    """None for a model that reads no prompts."""
    window_is: Annotated[Source, Field(serialization_alias="window")]
    capabilities: Annotated[ModelCapabilities, Field(exclude=True)]
    trouble: str = ""
    """Why details are missing."""

    @property
    def settings(self) -> DraftConfig:
        """Return its settings."""
        return self.assigned.settings

    @computed
    def mode(self) -> str | None:
        """Return the structured-output mode that worked."""
        return self.capabilities.mode

    @computed
    def reasoning_tokens(self) -> int | None:
        """Return the tokens to reserve for reasoning: those of its settings, or else the most it used."""
        return self.settings.reasoning_tokens or self.capabilities.reasoning_tokens

    @computed
    def price(self) -> Price | None:
        """Return its price, if known."""
        return self.assigned.price

    @model_serializer(mode="wrap")
    def _with_settings(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**self.settings.model_dump(mode="json", include=set(ModelSettings.model_fields)), **serialize(self)}


def roster(
    settings: DraftConfig,
    judging: JudgeConfig,
    decider: str | None,
    tables: Mapping[str, ModelSettings],
    prices: PriceTable,
    store: Store,
    writes_as: str | None,
) -> list[RosterEntry]:
    """Return all models with a role, and the models of the settings file without one. Asks servers for windows.
    `writes_as` is the writer's name in the settings file."""
    refinement = RefineConfig(goals={}, decider=decider)
    is_chosen = WINDOW in settings.model_fields_set
    writer = resolve(settings)
    named_tables = {name: tables[name] for _, name in named_in(judging, refinement) if name in tables}
    addressed = with_addresses(
        judging.model_copy(update={"models": {**judging.models, **named_tables}}), writer, refinement
    )
    names = named_in(addressed, refinement)
    seats = assign_models(writer, addressed, Limits(), prices, refinement=refinement)
    first = _seat("writer", writes_as or writer.model, seats[0], writer.context_tokens if is_chosen else None, store)
    entries = [first]
    for (role, name), model_role in zip(names, seats[1:], strict=True):
        model_settings = addressed.models.get(name)
        window = model_settings.context_tokens if model_settings else None
        if window is None and is_chosen and model_role.opened_as[:2] == seats[0].opened_as[:2]:
            window = first.window
        entries.append(_seat(role, name, model_role, window, store, first.window or ASSUMED_WINDOW))
    names_in_use = {writes_as, *(name for _, name in names)}
    unused = {name: table for name, table in tables.items() if name not in names_in_use}
    return [*entries, *(_spare(name, table, writer, prices, store) for name, table in unused.items())]


def _spare(name: str, table: ModelSettings, writer: DraftConfig, prices: PriceTable, store: Store) -> RosterEntry:
    """Return a model without a role. If it could not work, the reason is shown and the others are unaffected."""
    try:
        alone = with_addresses(JudgeConfig(judges=(name,), models={name: table}), writer)
        role = assign_models(writer, alone, Limits(), prices)[1]
    except UsageError as error:
        under = DraftConfig(
            model=table.model, base_url=table.base_url, key_env=table.key_env, context_tokens=_window_of(table)
        )
        role = ModelRole("judge", under, table.price)
        source: Source = "given" if table.context_tokens else "assumed"
        trouble = f"{error.message}: {error.hint}" if error.hint else error.message
        return RosterEntry(
            None, name, role, _window_of(table), source, store.capabilities.known(identity_of(under)), trouble
        )
    return _seat(None, name, role, table.context_tokens, store)


def _window_of(table: ModelSettings) -> int:
    return table.context_tokens or ASSUMED_WINDOW


def _seat(
    role: Role | None, name: str, assigned: ModelRole, chosen: int | None, store: Store, otherwise: int = ASSUMED_WINDOW
) -> RosterEntry:
    settings, trouble, gone = assigned.settings, "", list[str]()
    capabilities = store.capabilities.known(identity_of(settings))
    if not reads_prompts(settings.model):
        return RosterEntry(role, name, assigned, None, "known", capabilities)
    window = chosen
    try:
        window = window or server_window(assigned, gone.append)
    except UsageError as error:
        trouble, window = f"{error.message}: {error.hint}", known_window(assigned)
    if gone:
        trouble = f"nothing answers at {gone[0]}"
    source: Source = "given" if chosen else "known" if window else "assumed"
    return RosterEntry(role, name, assigned, window or otherwise, source, capabilities, trouble)


_FORMS: tuple[ReplyForm, ...] = ("schema", "tools", "plain")
# Enough for a model that reasons briefly before a one-word answer.
_ROOM = 1024
_TRIES = 4
_SHAPE = '{"who": "...", "hour": 0}'
_SENTENCE = 'The sentence is: "The lamp of the lighthouse was lit by Mara at seven."'


class NothingInput(PromptInput):
    """No input: the questions are complete."""


class CheckReply(ReplyModel):
    """Who did what, as a structured reply."""

    who: str
    hour: int


IN_WORDS = Prompt(
    "check_words",
    NothingInput,
    str,
    "ask whether a model answers",
    temperature=0.0,
    template=f"{_SENTENCE}\nWho lit the lamp? Answer with the name alone.",
)
IN_FORM = Prompt(
    "check_form",
    NothingInput,
    CheckReply,
    "ask a model for a structured reply",
    temperature=0.0,
    template=f"{_SENTENCE}\nWho lit the lamp, and at which hour, as a number? Reply with JSON: {_SHAPE}",
)

IN_PASSAGE = VerifyInput(passages=[_SENTENCE], sentences=[Statement(id=1, sentence="Mara lit the lamp at seven.")])
"""The question for a judge that is not a language model."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one question: the error, if any, and the seconds it took."""

    trouble: str
    seconds: Rounded
    said: str = ""
    completion_tokens: int = 0
    reasoning_tokens: int = 0

    @computed
    def works(self) -> bool:
        """Return whether there was an answer."""
        return not self.trouble


@dataclass(frozen=True, slots=True)
class ModelCheckResult:
    """The results of both questions: plain text, and each structured mode tried until one worked."""

    entry: Annotated[RosterEntry, Field(exclude=True)]
    words: CheckResult
    forms: Mapping[ReplyForm, CheckResult]

    @computed
    def form(self) -> ReplyForm | None:
        """Return the structured-output mode that works."""
        return next((form for form, answer in self.forms.items() if not answer.trouble), None)

    @computed
    def works(self) -> bool:
        """Return whether the model can write and judge."""
        judges = self.form is not None or not reads_prompts(self.entry.settings.model)
        return self.built_in or (not self.words.trouble and judges)

    @property
    def built_in(self) -> bool:
        """Return whether it is the built-in model, which needs no check."""
        return self.entry.settings.model == EXTRACTIVE

    @computed
    def thinks(self) -> int | None:
        """Return the most reasoning tokens it used; None where it used none."""
        return max([check_result.reasoning_tokens for check_result in (self.words, *self.forms.values())]) or None

    @model_serializer(mode="wrap")
    def _with_entry(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**record_json(self.entry), **serialize(self)}


async def check(entry: RosterEntry, store: Store, seconds: float) -> ModelCheckResult:
    """Ask a model two short questions. What is learned of its replies is remembered for the runs to come."""
    if entry.settings.model == EXTRACTIVE:
        return ModelCheckResult(entry, CheckResult("", 0.0), {})
    if not reads_prompts(entry.settings.model):
        check_result, _ = await _asked(entry, entry.settings, VERIFY_SENTENCES, IN_PASSAGE, seconds)
        return ModelCheckResult(entry, check_result, {})
    words, _ = await _asked(entry, entry.settings, IN_WORDS, NothingInput(), seconds)
    forms: dict[ReplyForm, CheckResult] = {}
    for form in [entry.settings.replies] if entry.settings.replies else _FORMS:
        if words.trouble or (form == "schema" and provider_of(entry.settings.model) != OPENAI):
            continue
        under = entry.settings.model_copy(update={"replies": form})
        forms[form], right = await _asked(entry, under, IN_FORM, NothingInput(), seconds)
        if right is not None:
            mode = modes_for(form, speaks_openai=True)[0]
            await off_loop(store.capabilities.learn_mode, identity_of(entry.settings), mode)
            break
    checked = ModelCheckResult(entry, words, forms)
    if checked.thinks:
        await off_loop(store.capabilities.learn_reasoning, identity_of(entry.settings), checked.thinks)
    return checked


async def _asked(
    entry: RosterEntry, under: DraftConfig, prompt: Prompt[InputT, ValueT], inputs: InputT, seconds: float
) -> tuple[CheckResult, Reply[ValueT] | None]:
    began = time.monotonic()
    sampling = Sampling(prompt.temperature, min(_ROOM, under.max_tokens or _ROOM), top_p=under.top_p)
    request = Request(prompt, inputs, sampling, "check", text=prompt.template)
    tries = 0
    try:
        async with open_model(under, seconds=seconds, usual_key=entry.assigned.usual_key) as model:
            while True:
                try:
                    reply = await model.ask(request)
                    break
                except CapabilityError:
                    # The features that it does without from now on, such as a temperature.
                    if (tries := tries + 1) == _TRIES:
                        raise
    except RedraftError as error:
        usage_of_error = error.usage if isinstance(error, ReplyError) else None
        text = error.text if isinstance(error, ReplyError) else ""
        answered = CheckResult(_told(error), time.monotonic() - began, text)
        return replace(answered, reasoning_tokens=usage_of_error.reasoning_tokens) if usage_of_error else answered, None
    usage = reply.usage
    took = time.monotonic() - began
    return CheckResult("", took, reply.text, usage.completion_tokens, usage.reasoning_tokens), reply


def _told(error: RedraftError) -> str:
    if isinstance(error, TimedOut):
        return f"{error.message}: it may be busy or still loading, and need a longer timeout"
    if isinstance(error, ReplyError) and error.finish_reason == "length":
        return f"{error.message}: within {_ROOM:,} tokens there was no answer, so it may need more reasoning first"
    return f"{error.message}{f' ({error.hint})' if error.hint and not isinstance(error, ModelError) else ''}"
