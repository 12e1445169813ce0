"""What `redraft models` shows: the models with a role, their windows, prices and reply modes, and a check by two
questions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import Annotated, Literal

from pydantic import Field, InstanceOf

from redraft.domain import Rounded, Usage, widened
from redraft.errors import PYTHON, CapabilityError, Door, ModelError, RedraftError, ReplyError, TimedOut, UsageError
from redraft.llm.addresses import OPENAI, provider_of
from redraft.llm.base import Request, Sampling
from redraft.llm.budget import PriceTable
from redraft.llm.structured_output import modes_for
from redraft.order import OrderParts
from redraft.prompts.contract import InputT, Prompt, PromptInput, ReplyModel, ValueT
from redraft.prompts.factual import VERIFY_SENTENCES, VerifyInput
from redraft.prompts.qa import Statement
from redraft.report.tables import Entry
from redraft.runs.model_settings import WINDOW, identity_of, named_in
from redraft.runs.models import (
    ModelRole,
    assign_models,
    known_window,
    open_model,
    resolve,
    server_window,
    with_addresses,
)
from redraft.settings import (
    ASSUMED_WINDOW,
    EXTRACTIVE,
    DraftConfig,
    JudgeConfig,
    ModelFields,
    ModelSettings,
    ReplyForm,
    Role,
    reads_prompts,
)
from redraft.store.connection import off_loop
from redraft.store.store import Store

WindowSource = Literal["given", "known", "assumed"]


class RosterEntry(Entry, ModelFields):
    """A model in a role, or without one, under its name, with its own settings: its window, None if it reads no
    prompts, and the tokens to reserve for reasoning, the most it used if it has no setting for them."""

    role: Role | None
    name: str
    window: WindowSource
    mode: str | None
    """The structured-output mode that worked."""
    trouble: str = ""
    """Why details are missing."""
    assigned: Annotated[InstanceOf[ModelRole], Field(exclude=True)]


def roster(
    parts: OrderParts,
    tables: Mapping[str, ModelSettings],
    prices: PriceTable,
    store: Store,
    writes_as: str | None,
    door: Door = PYTHON,
) -> list[RosterEntry]:
    """Return all models with a role, and the models of the settings file without one. Asks servers for windows.
    `writes_as` is the writer's name in the settings file; `door` words what to do about a model that cannot work."""
    settings, writer = parts.settings, resolve(parts.settings)
    chosen = settings.context_tokens if WINDOW in settings.model_fields_set else None
    models = {**parts.judging.models, **{name: tables[name] for _, name in named_in(parts) if name in tables}}
    judging = parts.judging.model_copy(update={"models": models})
    parts = with_addresses(parts.model_copy(update={"settings": writer, "judging": judging}))
    first, *judges = assign_models(parts, prices)
    entries = [_entry(first, "writer", writes_as or writer.model, chosen, store, door)]
    for role in judges:
        table = parts.judging.models.get(role.name)
        window = table.context_tokens if table else None
        if chosen and role.opened_as[:2] == first.opened_as[:2]:
            window = window or chosen
        assumed = entries[0].context_tokens or ASSUMED_WINDOW
        entries.append(_entry(role, role.role, role.name, window, store, door, assumed))
    for name, table in tables.items():
        if name not in {writes_as, *(role.name for role in judges)}:
            # Why one without a role could not work does not affect the others.
            try:
                alone = JudgeConfig(judges=(name,), models={name: table})
                role = assign_models(with_addresses(OrderParts(settings=writer, judging=alone)), prices)[1]
                trouble = ""
            except UsageError as error:
                place = DraftConfig(model=table.model, base_url=table.base_url, key_env=table.key_env)
                role, trouble = ModelRole("judge", place, table.price), _described(error, door)
            entries.append(_entry(role, None, name, table.context_tokens, store, door, trouble=trouble))
    return entries


def _entry(
    assigned: ModelRole,
    role: Role | None,
    name: str,
    chosen: int | None,
    store: Store,
    door: Door,
    assumed: int = ASSUMED_WINDOW,
    trouble: str = "",
) -> RosterEntry:
    """Return an entry with the window that is chosen, or else known, or assumed."""
    settings, silent = assigned.settings, list[str]()
    window: int | None = None
    source: WindowSource = "known"
    if reads_prompts(settings.model):
        try:
            window = chosen or (None if trouble else server_window(assigned, silent.append))
        except UsageError as error:
            trouble, window = _described(error, door), known_window(assigned)
        source, window = "given" if chosen else "known" if window else "assumed", window or assumed
    capabilities = store.capabilities.known(identity_of(settings))
    return widened(
        RosterEntry,
        settings,
        role=role,
        name=name,
        context_tokens=window,
        window=source,
        reasoning_tokens=settings.reasoning_tokens or capabilities.reasoning_tokens,
        mode=capabilities.mode,
        price=assigned.price,
        trouble=f"nothing answers at {silent[0]}" if silent else trouble,
        assigned=assigned,
    )


def _described(error: UsageError, door: Door) -> str:
    return f"{error.message}: {door.render(error.fix)}" if error.fix else error.message


_FORMS: tuple[ReplyForm, ...] = ("schema", "tools", "plain")
# Enough for a model that reasons briefly before a one-word answer.
_ROOM = 1024
_TRIES = 4
_SHAPE = '{"who": "...", "hour": 0}'
_SENTENCE = 'The sentence is: "The lamp of the lighthouse was lit by Mara at seven."'


class CheckReply(ReplyModel):
    """Who did what, as a structured reply."""

    who: str
    hour: int


IN_WORDS = Prompt(
    "check_words",
    PromptInput,
    str,
    "ask whether a model answers",
    temperature=0.0,
    template=f"{_SENTENCE}\nWho lit the lamp? Answer with the name alone.",
)
IN_FORM = Prompt(
    "check_form",
    PromptInput,
    CheckReply,
    "ask a model for a structured reply",
    temperature=0.0,
    template=f"{_SENTENCE}\nWho lit the lamp, and at which hour, as a number? Reply with JSON: {_SHAPE}",
)

IN_PASSAGE = VerifyInput(passages=[_SENTENCE], sentences=[Statement(id=1, sentence="Mara lit the lamp at seven.")])
"""The question for a judge that is not a language model."""


class CheckResult(Entry):
    """The result of one question: the error, if any, and the seconds it took."""

    trouble: str = ""
    seconds: Rounded = 0.0
    said: str = ""
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    works: bool = True


class ModelCheckResult(RosterEntry):
    """The results of both questions: plain text, and each structured mode tried until one worked."""

    words: CheckResult
    forms: dict[ReplyForm, CheckResult]
    form: ReplyForm | None
    """The structured mode that works."""
    works: bool
    """Whether the model can write and judge."""
    thinks: int | None
    """The most reasoning tokens it used; None where it used none."""


async def check(entry: RosterEntry, store: Store, seconds: float, door: Door = PYTHON) -> ModelCheckResult:
    """Ask a model two short questions. What is learned of its replies is remembered for the runs to come. The `door`
    words what to do about one that fails."""
    settings, identity = entry.assigned.settings, identity_of(entry.assigned.settings)
    forms: dict[ReplyForm, CheckResult] = {}
    if entry.model == EXTRACTIVE:
        words = CheckResult()
    elif not reads_prompts(settings.model):
        words = await _ask(entry, settings, VERIFY_SENTENCES, IN_PASSAGE, seconds, door)
    else:
        words = await _ask(entry, settings, IN_WORDS, PromptInput(), seconds, door)
        choices = [settings.replies] if settings.replies else _FORMS
        for form in choices if words.works else ():
            if form == "schema" and provider_of(settings.model) != OPENAI:
                continue
            in_form = settings.model_copy(update={"replies": form})
            forms[form] = await _ask(entry, in_form, IN_FORM, PromptInput(), seconds, door)
            if forms[form].works:
                mode = modes_for(form, speaks_openai=True)[0]
                await off_loop(store.capabilities.learn, identity, mode=mode)
                break
    thinks = max(answer.reasoning_tokens for answer in (words, *forms.values())) or None
    if thinks:
        await off_loop(store.capabilities.learn, identity, reasoning_tokens=thinks)
    works_as = next((form for form, answer in forms.items() if answer.works), None)
    works = words.works and (works_as is not None or not reads_prompts(settings.model))
    return widened(ModelCheckResult, entry, words=words, forms=forms, form=works_as, works=works, thinks=thinks)


async def _ask(
    entry: RosterEntry,
    settings: DraftConfig,
    prompt: Prompt[InputT, ValueT],
    inputs: InputT,
    seconds: float,
    door: Door,
) -> CheckResult:
    """Ask one question."""
    began, role = time.monotonic(), entry.assigned
    sampling = Sampling(prompt.temperature, min(_ROOM, settings.max_tokens or _ROOM), top_p=settings.top_p)
    request = Request(prompt, inputs, sampling, "check", text=prompt.template)
    try:
        async with open_model(settings, seconds=seconds, usual_key=role.usual_key, roles=role.role) as model:
            for attempt in range(1, _TRIES + 1):
                # Again without the features that the model turns out to lack, such as a temperature.
                with suppress(CapabilityError) if attempt < _TRIES else nullcontext():
                    reply = await model.ask(request)
                    break
    except RedraftError as error:
        text, usage = (error.text, error.usage) if isinstance(error, ReplyError) else ("", Usage(0, 0))
        trouble = error.message
        if isinstance(error, TimedOut):
            trouble += ": it may be busy or still loading, and need a longer timeout"
        elif isinstance(error, ReplyError) and error.finish_reason == "length":
            trouble += f": within {_ROOM:,} tokens there was no answer, so it may need more reasoning first"
        elif error.fix and not isinstance(error, ModelError):
            trouble += f" ({door.render(error.fix)})"
        result = CheckResult(trouble=trouble, said=text, works=False)
    else:
        usage = reply.usage
        result = CheckResult(said=reply.text, completion_tokens=usage.completion_tokens)
    took = {"seconds": time.monotonic() - began, "reasoning_tokens": usage.reasoning_tokens}
    return result.model_copy(update=took)
