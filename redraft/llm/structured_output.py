"""How to request a structured reply from a provider, and the schema that is sent."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from functools import cache
from operator import methodcaller
from typing import Any, Literal

from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from redraft.errors import Set, UsageError
from redraft.llm.base import Request
from redraft.llm.replies import reply_fields
from redraft.prompts.book import neutralize
from redraft.prompts.contract import reply_schema
from redraft.prompts.tags import Tags
from redraft.settings import ReplyForm
from redraft.store.calls import Message

Mode = Literal["json_schema", "tools", "plain"]

_MODES: tuple[Mode, ...] = ("tools", "plain")
_OPENAI_MODES: tuple[Mode, ...] = ("json_schema", *_MODES)
# A server that fails twice over one request may fail over the mode.
_FAULTS = 2


def modes_for(form: ReplyForm | None, *, speaks_openai: bool) -> Sequence[Mode]:
    """Return the modes to try, in order: the requested one, or all that the provider may support."""
    if form is None:
        return _OPENAI_MODES if speaks_openai else _MODES
    if form == "schema" and not speaks_openai:
        raise UsageError(
            "only models with OpenAI's protocol accept a schema", fix=("use ", Set("replies", "tools"), " or plain")
        )
    return ("json_schema" if form == "schema" else form,)


class OutputModes:
    """The modes of one provider; the first accepted one is used. A refused request is tried in the next mode, and once
    that is answered, all others begin there too. A mode in which a reply breaks the form is abandoned: the server does
    not enforce it."""

    def __init__(self, modes: Sequence[Mode]) -> None:
        self.modes = tuple(modes)
        self.begin = 0
        """The place of the mode that requests normally use."""
        self.has_answered = False
        self._trials: dict[Hashable, int] = {}
        """The mode in which each refused request is tried next."""
        self._faults: Counter[Hashable] = Counter()
        """The server errors over each of these in that mode."""
        self.refusals: set[tuple[Hashable, int]] = set()

    def record_broken(self, mode: Mode) -> bool:
        """Record a mode that the provider does not know, or in which a reply broke the form; return whether another
        mode is used from now on."""
        if self.is_last(mode):
            return False
        self.begin = max(self.begin, self.modes.index(mode) + 1)
        return True

    @property
    def is_settled(self) -> bool:
        """Return whether the accepted mode is known."""
        return len(self.modes) == 1 or self.has_answered

    def mode(self, request: Hashable) -> Mode:
        """Return the mode in which a request is made."""
        return self.modes[max(self.begin, self._trials.get(request, 0))]

    def is_last(self, mode: Mode) -> bool:
        """Return whether there is no mode after this one."""
        return mode == self.modes[-1]

    def record_answer(self, request: Hashable) -> None:
        """Record an answer: its mode works."""
        self.begin = self.modes.index(self.mode(request))
        self._trials.pop(request, None)
        self._faults.pop(request, None)
        self.has_answered = True

    def record_refusal(self, request: Hashable, *, is_fault: bool) -> bool:
        """Record a refusal; return whether to try another mode. A single server fault does not count."""
        at = self.modes.index(self.mode(request))
        self._trials.setdefault(request, at)
        self._faults[request] += is_fault
        if is_fault and self._faults[request] < _FAULTS:
            return False
        if not is_fault:
            # Another sample of the same text is refused for the same reason.
            self.refusals.add((request[0] if isinstance(request, tuple) else request, at))
        if at == len(self.modes) - 1:
            if not is_fault:
                del self._trials[request], self._faults[request]
                # It may have been this one request, so others are not affected.
                self.begin = self.begin if self.has_answered else 0
            return False
        self._trials[request], self._faults[request] = at + 1, 0
        if not self.has_answered:
            self.begin = at + 1
        return True


LIMITS, NAMES = "maxItems", "enum"
"""Schema keywords that a server may support: list lengths, and the item tags."""
KEYWORDS = (LIMITS, NAMES)


def fitted(
    schema: dict[str, Any],
    shape: type[BaseModel],
    inputs: BaseModel,
    takes: Collection[str] = (),
    tags: Tags | None = None,
) -> dict[str, Any]:
    """Return the JSON schema of a reply without the fields that are not asked for. As far as the server `takes` them,
    it has the list lengths that the prompt states, so that a model cannot repeat itself endlessly, and the tags as
    enums, so that it cannot number its entries or copy an example's tag."""
    fields = reply_fields(shape)
    skipped = {name for name, field in fields.items() if field.where and not getattr(inputs, field.where)}
    properties = {name: part for name, part in schema.get("properties", {}).items() if name not in skipped}
    for name, field in fields.items():
        if (part := properties.get(name)) is None:
            continue
        is_array = part.get("type") == "array"
        inner = part["items"] if is_array else part
        if field.model is not BaseModel and "properties" in inner:
            inner = fitted(inner, field.model, inputs, takes, tags)
        elif field.items is not None and tags is not None and NAMES in takes:
            of = field.items.field
            if names := tags.asked(of) if name == "id" else tags.all(of):
                inner = {"type": "string", "enum": names}
        limit_number = field.most(inputs) if is_array and LIMITS in takes else 0
        limit = {"maxItems": limit_number} if limit_number else {}
        properties[name] = {**part, "items": inner, **limit} if is_array else inner
    required = [name for name in schema.get("required", ()) if name not in skipped]
    return {**schema, "properties": properties, **({"required": required} if "required" in schema else {})}


_schema_of: Callable[[type[BaseModel]], dict[str, Any]] = cache(methodcaller("model_json_schema"))


def full_schema(request: Request[Any, Any]) -> dict[str, Any]:
    """Return the complete schema; empty for prose."""
    shape = request.prompt.returns
    return _schema_of(shape) if issubclass(shape, BaseModel) else {}


def prompt_schema(request: Request[Any, Any], takes: Collection[str] = ()) -> str:
    """Return the schema as a prompt states it, or with all that the server `takes`; empty for prose."""
    shape = request.prompt.returns
    if not issubclass(shape, BaseModel):
        return ""
    schema = fitted(reply_schema(shape), shape, request.given, takes, Tags(request.given) if takes else None)
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def messages_of(request: Request[Any, Any], mode: Mode | None = None) -> Iterator[Message]:
    """Yield the messages that are sent; in the mode "plain" they state the schema of the reply."""
    schema = prompt_schema(request)
    form = f"Reply with one JSON object that fits this JSON Schema, and with nothing else:\n{schema}"
    yield Message("user", f"{request.text}\n\n{form}" if mode == "plain" else request.text)
    if request.complaint is not None:
        # Some providers refuse an empty message.
        yield Message("assistant", neutralize(request.complaint.reply) or "(nothing)")
        request_again = form if schema else "Reply again, complete and in the form asked for, and with nothing else."
        yield Message("user", f"That reply cannot be used: {request.complaint.reason}. {request_again}")


def named_schema(request: Request[Any, Any], mode: Mode, takes: Collection[str]) -> dict[str, Any]:
    """Return the schema that a server is sent, with the name of the reply as its title, and the keywords that the
    server `takes`. Item tags are named only with strict schemas, since functions precede the prompt and would break the
    provider's prefix cache."""
    shape, is_strict = request.prompt.returns, mode == "json_schema"
    function = convert_to_openai_tool(shape, strict=is_strict or None)["function"]
    tags = Tags(request.given) if is_strict else None
    return {"title": function["name"], **fitted(function["parameters"], shape, request.given, takes, tags)}


def most_tokens_of(text: str) -> int:
    """Return the most tokens that a text can have in any vocabulary: one per byte, even after normalization."""
    return len(text) if text.isascii() else max(bytes_of(text), bytes_of(unicodedata.normalize("NFKC", text)))


def bytes_of(text: str) -> int:
    """Return the size of a text when it is sent."""
    return len(text.encode("utf-8", "replace"))
