"""The models that a settings file has under names: `[models.NAME]`, for whichever role is given that name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redraft.cli.settings_file import MODELS, content_found, settings_file
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.settings import ModelSettings

_NAME = re.compile(r"[\w.-]+")
_PRICE = "write price = { prompt = 0.25, completion = 2.0 }: US dollars for a million tokens"
_EXAMPLE = '[models.strong]\nmodel = "openai:gpt-5"'


def model_tables() -> dict[str, ModelSettings]:
    """The tables of the settings file by name, each checked; none where there is no file, or none in it."""
    return checked_tables(content_found().get(MODELS, {}), str(settings_file()))


def checked_tables(tables: object, place: str) -> dict[str, ModelSettings]:
    """What stands under `models` in a file at `place`. Whatever is wrong with any of it is said in a sentence."""
    if not isinstance(tables, Mapping):
        raise UsageError("`models` is no table", place=place, hint=f"write tables with names, such as\n{_EXAMPLE}")
    return {str(name): _checked(str(name), table, place) for name, table in tables.items()}


def _checked(name: str, table: object, place: str) -> ModelSettings:
    from pydantic import ValidationError

    from redraft.settings import EXTRACTIVE, ModelSettings

    at = f"{place} [{MODELS}.{name}]"
    if not isinstance(table, Mapping):
        raise UsageError(
            f"`{name}` under `{MODELS}` is no table", place=place, hint=f"write tables with names, such as\n{_EXAMPLE}"
        )
    if not _NAME.fullmatch(name) or name == EXTRACTIVE:
        raise UsageError(
            f"a model cannot be named {name!r}",
            place=at,
            hint="a name is letters, digits, dots, dashes and underscores, and none that means another model",
        )
    if unknown := sorted({*table} - ModelSettings.model_fields.keys()):
        known = ", ".join(ModelSettings.model_fields)
        raise UsageError(f"unknown field {', '.join(map(str, unknown))}", place=at, hint=f"there are: {known}")
    if table.get("key_env") == "":
        raise UsageError("key_env: it names no variable", place=at, hint="name one, or leave it out")
    if "model" not in table:
        raise UsageError("it does not say which model it is about", place=at, hint='add model = "openai:NAME"')
    try:
        return ModelSettings.model_validate(table, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said: Any = first["msg"].removeprefix("Value error, ")
        hint = _PRICE if first["loc"][0] == "price" else ""
        raise UsageError(f"{where}: {said[:1].lower()}{said[1:]}", place=at, hint=hint) from None
