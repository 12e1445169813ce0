"""The doors of servers: errors and their next steps, as the pages and the API name them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Any

from redraft.errors import Door, RedraftError, UsageError, stored_advice
from redraft.fields import option_of
from redraft.settings import DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.text.sanitizer import scrubbed

_WORDS = tomllib.loads((files("redraft.studio") / "doors.toml").read_text("utf-8"))


class NotFound(RedraftError):
    """Nothing has that name."""

    code = "no_thing"


class PageDoor(Door):
    """The next step as the pages name it: by the labels of fields and the titles of pages."""

    def setting(self, name: str, value: object) -> str:
        label = f"“{labels().get(name) or name.replace('_', ' ')}”"
        return label if value is None else f"{label} {value}"

    def limit(self, name: str, value: float | None) -> str:  # noqa: ARG002  (the page asks for the limit)
        return "a higher limit"

    def command(self, command: str, run: str, more: Sequence[str]) -> str:
        return _WORDS["pages"].get(command) or super().command(command, run, more)

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
        call: str = _WORDS["calls"].get(command, "")
        return call.format(run).rstrip("/") or super().command(command, run, more)


PAGE = PageDoor()


@cache
def labels() -> Mapping[str, str]:
    """Return the labels of the fields of settings, by their names."""
    by_name: dict[str, str] = dict(_WORDS["labels"])
    for model in (DraftConfig, JudgeConfig, RefineConfig, Limits):
        for name in model.model_fields:
            if option := option_of(model, name):
                label = option.label or name.replace("_", " ")
                by_name[name] = f"{label[:1].upper()}{label[1:]}"
    return by_name


by_program: ContextVar[bool] = ContextVar("by_program", default=False)
"""Whether a program asks, and not a page of the studio or a browser for one."""


def error_for(door: Door, error: Mapping[str, Any]) -> dict[str, str]:
    """Return a stored error as a door shows it: its code, its message and the next step in the words of the door."""
    return {"code": error["code"], "message": error["message"], "hint": door.render(stored_advice(error))}


def worded_error(error: Mapping[str, Any] | None, address: str) -> dict[str, str] | None:
    """Return a stored error as the pages show it, or as the API tells programs of what has this `address`. What a bug
    raised is for developers, who find it with `redraft show`."""
    if error is None:
        return None
    if error.get("code") == "bug":
        hint = "see `redraft show`, and please report it"
        return {"code": "bug", "message": "something unexpected happened", "hint": hint}
    worded = error_for(ApiDoor(address) if by_program.get() else PAGE, {"code": "", **error})
    return {name: scrubbed(text) for name, text in worded.items()}
