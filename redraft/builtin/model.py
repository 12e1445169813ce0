"""The built-in model: answers every prompt by classical means, without a key, a network or a language model."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from pydantic import BaseModel

import redraft.builtin.coherence.confusion
import redraft.builtin.coherence.preferring
import redraft.builtin.consistency.checking
import redraft.builtin.consistency.claims
import redraft.builtin.coverage.asking
import redraft.builtin.coverage.covering
import redraft.builtin.deciding
import redraft.builtin.facts.aligning
import redraft.builtin.facts.chunkmarks
import redraft.builtin.facts.growing
import redraft.builtin.facts.querying
import redraft.builtin.facts.splitting
import redraft.builtin.facts.verifying
import redraft.builtin.facts.vetting
import redraft.builtin.revising
import redraft.builtin.ruling
import redraft.builtin.summarizing
import redraft.builtin.tracing
import redraft.builtin.typed.answering
import redraft.builtin.typed.asking
from redraft.builtin.identity import IDENTITY
from redraft.builtin.registry import HANDLERS, handler_for
from redraft.domain import Usage
from redraft.models.base import Reply, Request, Sampling
from redraft.prompts.contract import Given_, Value_
from redraft.prompts.drafting import MERGE, MergeGiven

_CHARACTERS_PER_TOKEN = 4


def answered() -> Collection[str]:
    """The names of the prompts that it has an answer to."""
    return HANDLERS.keys()


def merged(given: MergeGiven) -> str:
    """What it answers to a merge, where no run asks and nothing is to be recorded."""
    return handler_for(MERGE)(given)


class ExtractiveModel:
    """A `Model` whose answers are sentences of what it is given. The same question always gets the same answer."""

    identity = IDENTITY

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (as the protocol has it)
        """Nobody bills for what this model writes."""
        return 0

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        return await asyncio.to_thread(_answer, request)


def _answer(request: Request[Given_, Value_]) -> Reply[Value_]:
    value = handler_for(request.prompt)(request.given)
    text = value.model_dump_json() if isinstance(value, BaseModel) else str(value)
    asked = sum(_characters(field) for field in request.given.model_dump().values())
    return Reply(value, text, Usage(_tokens(asked), _tokens(len(text)), reported=False))


def _characters(field: object) -> int:
    """The length of a text, or of the texts within a list or mapping."""
    if isinstance(field, dict):
        return sum(_characters(item) for item in field.values())
    if isinstance(field, list | tuple):
        return sum(_characters(item) for item in field)
    return 0 if field is None else len(str(field))


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
