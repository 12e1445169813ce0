"""The fields of forms, generated from the settings, with label, help, default and bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from redraft.fields import Section, option_of
from redraft.prompts.book import SETS
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig

SETTINGS: tuple[type[BaseModel], ...] = (DraftConfig, JudgeConfig, RefineConfig)
# A request never sets the address or key of a model; the language was detected when the document was read.
_NEVER = frozenset({"base_url", "key_env", "source_language"})
_APART = frozenset({"strategy", "model", "metrics", "judges", "goals", "words", "query", "rounds", "review"})
"""Fields that the studio's forms have outside the groups."""
_OF_MODELS = frozenset({"validator", "confirm", "decider"})
_GROUPS: Mapping[Section, tuple[str, str]] = {
    "summary": ("Summary", "summarize evaluate refine"),
    "model": ("Model", "summarize evaluate refine"),
    "judging": ("Judging", "evaluate refine"),
    "refining": ("Refining", "refine"),
}
"""The groups of a form: the title, and the kinds of runs it applies to."""
_ENDS = ("ge", "gt", "le", "lt")


class FormField(NamedTuple):
    """A field of a form."""

    name: str
    label: str
    help: str
    kind: Literal["number", "text", "choice"]
    default: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    whole: bool = True


class ControlGroup(NamedTuple):
    """Fields that belong together."""

    title: str
    kinds: str
    """The kinds of runs it applies to."""
    controls: tuple[FormField, ...]

    def changed(self, values: Mapping[str, object]) -> int:
        """Return the number of fields that are filled in."""
        return sum(values.get(field.name) not in (None, "") for field in self.controls)


def named_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the fields that a request can set."""
    return tuple(name for name in model.model_fields if name not in _NEVER and option_of(model, name) is not None)


def optional_fields() -> dict[str, Any]:
    """Return all of these fields as optional fields of a request."""
    fields: dict[str, Any] = {}
    for model in SETTINGS:
        for name in named_fields(model):
            field = copy(model.model_fields[name])
            field.default = None
            field._attributes_set = {**field._attributes_set, "default": None}  # pydantic copies a field by these
            fields[name] = (model.model_fields[name].annotation | None, field)  # type: ignore[operator]
    return fields


@cache
def groups(models: Sequence[str] = ()) -> tuple[ControlGroup, ...]:
    """Return the groups of fields; `models` are the choices for validator and decider."""
    by_section: dict[Section, list[FormField]] = {section: [] for section in _GROUPS}
    for model in SETTINGS:
        for name in named_fields(model):
            field, option = model.model_fields[name], option_of(model, name)
            if name in _APART or option is None:
                continue
            annotation: Any = field.annotation
            ends = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
            kind = next(value for value in ends if value is not type(None))
            default = _default(field) if kind is bool else option.default or _default(field)
            help_text = field.description or ""
            choices: tuple[str, ...] = ()
            if get_origin(kind) is Literal:
                choices = tuple(map(str, get_args(kind)))
            elif name == "prompts":
                help_text, choices = "The set of prompts; simple is for weak models.", SETS
            elif kind is bool or name in _OF_MODELS:
                choices = ("true", "false") if kind is bool else tuple(models)
            form: dict[str, Any] = {"kind": "choice" if choices or name in _OF_MODELS else "text", "choices": choices}
            if form["kind"] == "text" and kind in (int, float) and name not in ("questions", "claims"):
                values = ((end, getattr(bound, end, None)) for bound in field.metadata for end in _ENDS)
                bounds = {end: value for end, value in values if value is not None}
                form |= {"kind": "number", "whole": kind is int}
                form |= {"least": bounds.get("ge", bounds.get("gt")), "most": bounds.get("le", bounds.get("lt"))}
            label = option.label or name.replace("_", " ")
            by_section[option.section].append(FormField(name, label, help_text, default=default, **form))
    return tuple(ControlGroup(*_GROUPS[section], tuple(fields)) for section, fields in by_section.items())


def _default(field: FieldInfo) -> str:
    value = field.default
    if value in (None, (), PydanticUndefined):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
