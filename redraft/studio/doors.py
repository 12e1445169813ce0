"""The next step of an error as the pages and the API name it, and models by their names for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel

from redraft.errors import Door, RedraftError, UsageError, error_for
from redraft.fields import option_of
from redraft.settings import DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.text.sanitizer import scrubbed

V = TypeVar("V", bound=BaseModel)
_PAGES = {
    "batch list": "/batches",
    "batch results": "the list of its documents",
    "batch resume": "“Resume”",
    "batch status": "its page",
    "experiment": "/experiments",
    "evaluate": "“Judge a summary” in “New run”",
    "export": "“Download”",
    "forget": "“Delete” on its page",
    "fork": "“Fork” on its page",
    "models": "/models",
    "pack list": "/packs",
    "read": "“Read only some chapters”",
    "resume": "resume the run",
    "review": "its page",
    "runs": "/runs",
    "show": "the page of the run",
    "trace": "the page of the run",
}
"""What the studio has instead of a command; the address of a page is a link where it comes first."""
_CALLS = {
    "models": "GET /api/models",
    "pack list": "GET /api/packs",
    "read": "POST /api/chapters",
    "review": "GET /api/runs/{}/review",
    **dict.fromkeys(("runs", "show", "trace"), "GET /api/runs/{}"),
    **dict.fromkeys(("batch list", "batch status"), "GET /api/batches/{}"),
    "experiment": "GET /api/experiments/{}",
}
"""What the API has instead of a command."""
_OTHER_LABELS = {"chapters": "Chapters", "name": "Name", "rubrics": "Your own requirements", "pages": "Pages"}


class PageDoor(Door):
    """The next step as the pages name it: by the labels of fields and the titles of pages."""

    def setting(self, name: str, value: object) -> str:
        label = f"“{labels().get(name) or name.replace('_', ' ')}”"
        return label if value is None else f"{label} {value}"

    def limit(self, name: str, value: float | None) -> str:  # noqa: ARG002  (the page asks for the limit)
        return "a higher limit"

    def command(self, command: str, run: str, more: Sequence[str]) -> str:
        return _PAGES.get(command) or super().command(command, run, more)

    def message(self, error: RedraftError) -> str:
        """Return the message of an error, with the label of the field that is wrong."""
        if not isinstance(error, UsageError) or not (label := labels().get(error.field.partition(".")[0])):
            return str(error)
        inside = error.field.partition(".")[2]
        entry = f"number {int(inside) + 1}" if inside.isdecimal() else inside
        return f"{label}{f' ({entry})' if entry else ''}: {error.problem}"


class ApiDoor(Door):
    """The next step in fields and calls of the API. `address` is that of the run or batch, such as `/api/runs/3fa2`."""

    def __init__(self, address: str = "") -> None:
        self._address = address

    def setting(self, name: str, value: object) -> str:
        return f"`{name}`" if value is None else f"`{name}` {value}"

    def limit(self, name: str, value: float | None) -> str:
        return f"a higher `{name}`" if value is None else f"`{name}` {value:g}"

    def command(self, command: str, run: str, more: Sequence[str]) -> str:
        if command in ("resume", "batch resume"):
            return f"POST {f'/api/runs/{run}' if run else self._address}/resume"
        return _CALLS[command].format(run).rstrip("/") if command in _CALLS else super().command(command, run, more)


PAGE = PageDoor()


@cache
def labels() -> Mapping[str, str]:
    """Return the labels of the fields of settings, by their names."""
    by_name = dict(_OTHER_LABELS)
    for model in (DraftConfig, JudgeConfig, RefineConfig, Limits):
        for name in model.model_fields:
            if option := option_of(model, name):
                label = option.label or name.replace("_", " ")
                by_name[name] = f"{label[:1].upper()}{label[1:]}"
    return by_name


def error_on_page(error: Mapping[str, Any] | None, address: str = "") -> dict[str, str] | None:
    """Return a stored error as the pages show it, or as the API tells it of what has an `address` there. What a bug
    raised is for developers, who find it with `redraft show`."""
    if error is None:
        return None
    if error.get("code") == "bug":
        hint = "see `redraft show`, and please report it"
        return {"code": "bug", "message": "something unexpected happened", "hint": hint}
    worded = error_for(ApiDoor(address) if address else PAGE, {"code": "", **error})
    return {name: scrubbed(text) for name, text in worded.items()}


def with_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value, or the values in a structure, with a model's name for people where it is the name of a model."""
    if isinstance(value, dict):
        return {key: with_names(entry, names) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(with_names(entry, names) for entry in value)
    return names.get(value, value) if isinstance(value, str) else value


_NAMING = frozenset({"judges", "judging", "model", "settings", "values"})
"""The fields of a dossier or a comparison that hold names of models."""
_HOLDING = frozenset({"calls", "contestants", "rounds", "run", "runs", "scores"})
"""The fields whose records have such fields."""


def named_for_people(record: V, names: Mapping[str, str]) -> V:
    """Return a dossier or a comparison with models by their names for people."""
    update: dict[str, Any] = {}
    for name in type(record).model_fields:
        value = getattr(record, name)
        parts = value if isinstance(value, tuple) else (value,)
        if name == "label":
            # It begins with the model, and may go on with words of a summary or a question.
            owners = [model for model in names if f"{value}, ".startswith((f"{model}, ", f"{model}: ", f"{model} ("))]
            update[name] = f"{names[owners[0]]}{value[len(owners[0]) :]}" if owners else value
        elif name in _HOLDING | _NAMING and any(isinstance(part, BaseModel) for part in parts):
            records = [named_for_people(part, names) if isinstance(part, BaseModel) else part for part in parts]
            update[name] = tuple(records) if isinstance(value, tuple) else records[0]
        elif name in _NAMING:
            update[name] = with_names(value, names)
    return record.model_copy(update=update)
