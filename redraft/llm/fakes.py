"""Models for tests: one follows a script, one calls a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from pydantic import BaseModel

from redraft.domain import Usage
from redraft.errors import ModelError
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts.contract import Given_, Value_

Line = str | BaseModel | ModelError


class ScriptError(AssertionError):
    """A script that does not match the requests; the test is wrong, so no run may handle it."""


class FunctionModel:
    """Answers with what a function returns for each request: a text, a value, or an error to raise."""

    def __init__(self, function: Callable[[Request[Any, Any]], Line], identity: str = "function") -> None:
        self.identity = identity
        self.asked: list[Request[Any, Any]] = []
        self._function = function

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the limit of a reply."""
        return sampling.max_tokens or 0

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        """Record the request, and answer it."""
        self.asked.append(request)
        line = self._function(request)
        if isinstance(line, ModelError):
            raise line
        if not isinstance(line, request.prompt.returns):
            raise ScriptError(f"a reply of the wrong type for the prompt {request.prompt.name}: {line!r}")
        text = line.model_dump_json() if isinstance(line, BaseModel) else str(line)
        return Reply(cast(Value_, line), text, Usage(0, len(text.split())))


class ScriptedModel(FunctionModel):
    """Returns the lines of a script, one per request; an exhausted script fails the test."""

    def __init__(self, script: Iterable[Line], identity: str = "scripted") -> None:
        lines = iter(script)

        def next_line(request: Request[Any, Any]) -> Line:
            for line in lines:
                return line
            raise ScriptError(f"the script is exhausted; asked for {request.prompt.name} ({request.label})")

        super().__init__(next_line, identity)
