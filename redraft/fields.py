"""Declares settings fields, which are also command-line options, and says what is wrong with a value."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from redraft.errors import UsageError

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

Section = Literal["source", "summary", "model", "judging", "refining", "limits", "output"]
"""The section of an option in a command's help."""
FoundRule = Literal["no", "yes", "model", "prompts", "strategy", "metric"]
"""Whether a settings file that is merely found may set a field: never, always, or if the value is a name that is known
without the file: of a model, a set of prompts, a strategy or a metric."""


@dataclass(frozen=True, slots=True)
class SettingOption:
    """The command-line form of a field, whose description is its help."""

    section: Section
    metavar: str | None = None
    names: tuple[str, ...] = ()
    """The option names; long ones with their dashes."""
    default: str | None = None
    """The default in words, where the field's own is not clear."""
    environment: bool = True
    """Whether it can also be set by the environment and the settings file."""
    found: FoundRule = "no"
    rare: bool = False
    """Whether it is one of the less usual ones, which `--set NAME=VALUE` sets on the command line."""
    label: str = ""
    """Its label in a form, where that is not its name."""


def setting(
    default: Any,
    section: Section,
    metavar: str | None = None,
    *names: str,
    said: str | None = None,
    environment: bool = True,
    found: FoundRule = "no",
    rare: bool = False,
    label: str = "",
    description: str | None = None,
    **bounds: Any,
) -> Any:
    """Declare a field that is also an option; `...` as default makes it required. Without a description it has the help
    of its name.

    A settings file that is merely found may set it only with a mark, `found`. Mark nothing that names an address, a
    variable, a file, a plugin or a price, that runs anything, or that hides what the file sets.
    """
    field: FieldInfo = Field(default=default, description=description, **bounds)
    field.metadata.append(SettingOption(section, metavar, names, said, environment, found, rare, label))
    return field


HELP: Mapping[str, str] = tomllib.loads(files("redraft").joinpath("settings.toml").read_text("utf-8"))
"""The help of settings, by name."""
harmless = partial(setting, found="yes")
"""Declare a setting that a settings file may set although it is merely found."""
unusual = partial(harmless, rare=True)
"""Declare one of these that is rarely set."""


def field_like(model: type[BaseModel], name: str) -> Any:
    """Declare a field with the default, bounds and description of another model's field."""
    return copy(model.model_fields[name])


def option_of(model: type[BaseModel], name: str) -> SettingOption | None:
    """Return the option of a field, named after the field by default; None where it has none."""
    for option in model.model_fields[name].metadata:
        if isinstance(option, SettingOption):
            return replace(option, names=option.names or (f"--{name.replace('_', '-')}",))
    return None


class Settings(BaseModel):
    """The base of settings. Invalid values raise `UsageError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            field, problem = first_problem(error)
            raise UsageError(problem, field=field) from None

    # Pydantic calls an `__init__` without this mark also for settings within other settings.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for name, field in cls.model_fields.items():
            if field.description is None and option_of(cls, name) is not None:
                field.description = HELP[name]


def settings_argument(model: type[M], given: object, name: str) -> M | None:
    """Return the settings that were passed as the argument `name`, made from a mapping where they are one."""
    if given is None or isinstance(given, model):
        return given
    if isinstance(given, Mapping):
        return validated(model, dict(given), lambda field: f"{name}: {field}")
    raise UsageError(
        f"{name} is of the type {type(given).__name__}", hint=f"pass {name}=redraft.{model.__name__}(...), or a dict"
    )


def list_argument(given: Iterable[T] | None, name: str) -> tuple[T, ...]:
    """Return what was passed as the list `name`; None is an empty one. A text is refused, as it has characters."""
    if given is None:
        return ()
    if isinstance(given, str):
        raise UsageError(f"{name} is the text {given!r:.40}", hint=f"give a list: {name}=[{given!r:.40}]")
    if not isinstance(given, Iterable):
        raise UsageError(f"{name} is of the type {type(given).__name__}", hint=f"give a list: {name}=[...]")
    return tuple(given)


def validated(model: type[M], values: object, named: Callable[[str], str] = str) -> M:
    """Validate values as a model. Errors become `UsageError`, in which `named` translates field names."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        field, problem = first_problem(error, named)
        raise UsageError(problem, field=field) from error


_NO_FIELDS = ("[key]", "constrained-int", "int", "float", "str")


def first_error(error: ValidationError) -> str:
    """Return the first validation error as a sentence."""
    field, problem = first_problem(error)
    return f"{field}: {problem}" if field else problem


def first_problem(error: ValidationError, named: Callable[[str], str] = str) -> tuple[str, str]:
    """Return the field of the first validation error, in which `named` translates the name, and what is wrong."""
    first = error.errors()[0]
    # A value of several types has the name of a type in its place.
    field, *inside = [str(part) for part in first["loc"] if part not in _NO_FIELDS] or [""]
    return ".".join([named(field) if field else "", *inside]), error_text(first)


_FAULTS = {
    "less_than_equal": "must be at most {le:.9g}",
    "less_than": "must be less than {lt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "greater_than": "must be more than {gt:g}",
    "literal_error": "must be {expected}",
    "finite_number": "must be a number",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "has characters that are not allowed here, or too many of them",
    "extra_forbidden": "is not known here",
    "missing": "is missing",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must not be empty",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list"),
    **dict.fromkeys(("model_type", "dataclass_type"), "must be an object"),
    "dict_type": "must map names to values",
}


def error_text(error: Mapping[str, Any]) -> str:
    """Return what is wrong with a value, as a phrase that follows its name: one entry of a `ValidationError`."""
    pattern = _FAULTS.get(error["type"])
    if pattern is None:
        pattern = str(error["msg"]).removeprefix("Value error, ")
        return f"{pattern[:1].lower()}{pattern[1:]}"
    return pattern.format(**error.get("ctx") or {})
