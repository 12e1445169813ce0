"""Calls as they go from one worker to another: a request as JSON, and a failure that is the request's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ValidationError

from redraft import errors
from redraft.domain import Usage
from redraft.errors import ModelError
from redraft.models.base import Request, Sampling
from redraft.prompts.catalog import PROMPTS

_KINDS = {kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)}


def written(request: Request[Any, Any]) -> str | None:
    """A request as JSON; None where nobody else knows its prompt, or it would not come back as it is."""
    if request.complaint is not None or PROMPTS.get(request.prompt.name) is not request.prompt:
        return None
    text = json.dumps(
        {
            "prompt": request.prompt.name,
            "given": _plain(request.given),
            "sampling": asdict(request.sampling),
            "label": request.label,
        }
    )
    try:
        return text if read(text).given == request.given else None
    except ValidationError:
        return None


def read(text: str) -> Request[Any, Any]:
    """A request that was written so. A worker that is of another version may know no such prompt: a `KeyError`."""
    said = json.loads(text)
    prompt = PROMPTS[said["prompt"]]
    return Request(prompt, prompt.given.model_validate(said["given"]), Sampling(**said["sampling"]), said["label"])


def _plain(value: object) -> object:
    """What a prompt is given, with the fields too that only some judges look at and that no prompt shows."""
    if isinstance(value, BaseModel):
        return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def told(failure: ModelError) -> str:
    """A failure as JSON, with all that whoever asked may go by."""
    known: Mapping[str, object] = vars(failure)
    kept = {name: one for name, one in known.items() if one is None or isinstance(one, str | int | float)}
    usage = known.get("usage")
    return json.dumps(
        {"code": failure.code, "kept": kept, "usage": asdict(usage) if isinstance(usage, Usage) else None}
    )


def failure_in(text: str) -> ModelError:
    """The failure that was told so."""
    said = json.loads(text)
    kind, kept = _KINDS.get(said["code"], ModelError), said["kept"]
    failure = kind.__new__(kind, kept["message"])
    vars(failure).update(kept)
    if said["usage"]:
        vars(failure)["usage"] = Usage(**said["usage"])
    if kept["hint"]:
        failure.add_note(kept["hint"])
    return failure
