"""Checks a model with two short questions: whether it answers, and in which structured-output mode."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from redraft.domain import Rounded, computed, record_json
from redraft.errors import CapabilityError, ModelError, RedraftError, ReplyError, TimedOut
from redraft.llm.addresses import OPENAI, provider_of
from redraft.llm.base import Reply, Request, Sampling
from redraft.llm.structured_output import modes_for
from redraft.prompts.contract import Given_, GivenModel, Prompt, ReplyModel, Value_
from redraft.prompts.factual import VERIFY_SENTENCES, VerifyGiven
from redraft.prompts.qa import Statement
from redraft.runs.model_names import identity_of
from redraft.runs.models import open_model
from redraft.runs.roster import RosterEntry
from redraft.settings import EXTRACTIVE, DraftConfig, ReplyForm, writes
from redraft.store.connection import off_loop
from redraft.store.store import Store

_FORMS: tuple[ReplyForm, ...] = ("schema", "tools", "plain")
# Enough for a model that reasons briefly before a one-word answer.
_ROOM = 1024
_TRIES = 4
_SHAPE = '{"who": "...", "hour": 0}'
_SENTENCE = 'The sentence is: "The lamp of the lighthouse was lit by Mara at seven."'


class NothingGiven(GivenModel):
    """No input: the questions are complete."""


class CheckReply(ReplyModel):
    """Who did what, as a structured reply."""

    who: str
    hour: int


IN_WORDS = Prompt(
    "check_words",
    NothingGiven,
    str,
    "ask whether a model answers",
    temperature=0.0,
    template=f"{_SENTENCE}\nWho lit the lamp? Answer with the name alone.",
)
IN_FORM = Prompt(
    "check_form",
    NothingGiven,
    CheckReply,
    "ask a model for a structured reply",
    temperature=0.0,
    template=f"{_SENTENCE}\nWho lit the lamp, and at which hour, as a number? Reply with JSON: {_SHAPE}",
)

IN_PASSAGE = VerifyGiven(passages=[_SENTENCE], sentences=[Statement(id=1, sentence="Mara lit the lamp at seven.")])
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
        judges = self.form is not None or not writes(self.entry.settings.model)
        return self.built_in or (not self.words.trouble and judges)

    @property
    def built_in(self) -> bool:
        """Return whether it is the built-in model, which needs no check."""
        return self.entry.settings.model == EXTRACTIVE

    @computed
    def thinks(self) -> int | None:
        """Return the most reasoning tokens it used; None where it used none."""
        return max([one.reasoning_tokens for one in (self.words, *self.forms.values())]) or None

    @model_serializer(mode="wrap")
    def _with_entry(self, own: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**record_json(self.entry), **own(self)}


async def check(entry: RosterEntry, store: Store, seconds: float) -> ModelCheckResult:
    """Ask a model two short questions. What is learned of its replies is remembered for the runs to come."""
    if entry.settings.model == EXTRACTIVE:
        return ModelCheckResult(entry, CheckResult("", 0.0), {})
    if not writes(entry.settings.model):
        judged, _ = await _asked(entry, entry.settings, VERIFY_SENTENCES, IN_PASSAGE, seconds)
        return ModelCheckResult(entry, judged, {})
    words, _ = await _asked(entry, entry.settings, IN_WORDS, NothingGiven(), seconds)
    forms: dict[ReplyForm, CheckResult] = {}
    for form in [entry.settings.replies] if entry.settings.replies else _FORMS:
        if words.trouble or (form == "schema" and provider_of(entry.settings.model) != OPENAI):
            continue
        under = entry.settings.model_copy(update={"replies": form})
        forms[form], right = await _asked(entry, under, IN_FORM, NothingGiven(), seconds)
        if right is not None:
            mode = modes_for(form, speaks_openai=True)[0]
            await off_loop(store.capabilities.learn_mode, identity_of(entry.settings), mode)
            break
    checked = ModelCheckResult(entry, words, forms)
    if checked.thinks:
        await off_loop(store.capabilities.learn_reasoning, identity_of(entry.settings), checked.thinks)
    return checked


async def _asked(
    entry: RosterEntry, under: DraftConfig, prompt: Prompt[Given_, Value_], given: Given_, seconds: float
) -> tuple[CheckResult, Reply[Value_] | None]:
    began = time.monotonic()
    sampling = Sampling(prompt.temperature, min(_ROOM, under.max_tokens or _ROOM), top_p=under.top_p)
    request = Request(prompt, given, sampling, "check", text=prompt.template)
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
        used = error.usage if isinstance(error, ReplyError) else None
        said = error.text if isinstance(error, ReplyError) else ""
        answered = CheckResult(_told(error), time.monotonic() - began, said)
        return replace(answered, reasoning_tokens=used.reasoning_tokens) if used else answered, None
    usage = reply.usage
    took = time.monotonic() - began
    return CheckResult("", took, reply.text, usage.completion_tokens, usage.reasoning_tokens), reply


def _told(error: RedraftError) -> str:
    if isinstance(error, TimedOut):
        return f"{error.message}: it may be busy or still loading (--timeout SECONDS)"
    if isinstance(error, ReplyError) and error.finish_reason == "length":
        return f"{error.message}: within {_ROOM:,} tokens there was no answer, so it may think for longer first"
    return f"{error.message}{f' ({error.hint})' if error.hint and not isinstance(error, ModelError) else ''}"
