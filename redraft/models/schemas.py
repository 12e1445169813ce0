"""The schema of a reply as it goes out: what is the same for every request, and what is of this one alone."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from redraft.models.base import Request
from redraft.models.forms import Form
from redraft.models.modes import Mode
from redraft.prompts.contract import reply_schema
from redraft.prompts.tags import Tags

LIMITS, NAMES = "maxItems", "enum"
"""What a server may be told of one request alone: how long its lists are, and which items there are to be named."""


def whole(request: Request[Any, Any]) -> dict[str, Any]:
    """The schema with all that is in it; nothing for prose."""
    shape = request.prompt.returns
    return _whole(shape) if issubclass(shape, BaseModel) else {}


@cache
def _whole(shape: type[BaseModel]) -> dict[str, Any]:
    return shape.model_json_schema()


def said(request: Request[Any, Any]) -> str:
    """The schema as it stands in a prompt, the same for every request; nothing for prose."""
    shape = request.prompt.returns
    if not issubclass(shape, BaseModel):
        return ""
    return json.dumps(reply_schema(shape), ensure_ascii=False, separators=(",", ":"))


def called(request: Request[Any, Any], mode: Mode, takes: Collection[str]) -> dict[str, Any]:
    """The reply as the call of a function. Its lists are limited where the server `takes` that.

    Items are named where the schema is no part of the prompt: of a prompt servers keep what it begins with, as far as
    that stays the same, and functions stand before all of it.
    """
    form, to_the_letter = _form(request), mode == "json_schema"
    tool = convert_to_openai_tool(form.shape, strict=to_the_letter or None)
    function = tool["function"]
    if LIMITS in takes:
        function["parameters"] = form.limited(function["parameters"], request.given)
    if NAMES in takes and to_the_letter:
        function["parameters"] = form.named(function["parameters"])
    return tool


def longest(request: Request[Any, Any]) -> str:
    """The schema with all that it may hold; nothing for prose."""
    shape = request.prompt.returns
    if not issubclass(shape, BaseModel):
        return ""
    return json.dumps(_form(request).named(_form(request).limited(reply_schema(shape), request.given)))


def _form(request: Request[Any, Any]) -> Form:
    shape = request.prompt.returns
    assert issubclass(shape, BaseModel)
    return Form(shape, Tags(request.given))
