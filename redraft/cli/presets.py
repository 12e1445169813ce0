"""`--preset NAME`: a paper's settings as defaults, overridden by any other setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from redraft.cli import given
from redraft.cli.options import option
from redraft.cli.sections import LISTED

if TYPE_CHECKING:
    from redraft.presets import Preset

F = TypeVar("F", bound=Callable[..., Any])
_NAMED = "redraft.preset"


def _names() -> str:
    from redraft.presets import presets

    return ", ".join(presets())


def _lay_under(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Make the preset's settings the defaults of the command's other options."""
    if name is None or context.resilient_parsing:
        return
    from redraft.presets import preset

    known = {one.name: one for one in context.command.params}
    values = _values(preset(name))
    if context.parent and context.parent.info_name == "experiment":
        values |= preset(name).experiment
    found = {key: _several(known[key], value) for key, value in values.items() if key in known}
    if "metric" not in (context.default_map or {}):
        context.meta[given.METRICS_OF_A_PRESET] = values.get("metric", ())
    context.meta[_NAMED] = name
    context.default_map = {**found, **(context.default_map or {})}


def _several(option: click.Parameter, value: Any) -> Any:
    """Wrap a single value in a list if the option is repeatable."""
    several = isinstance(option, click.Option) and option.multiple
    return [value] if several and not isinstance(value, list | tuple) else value


def about_judging_alone(context: click.Context) -> str | None:
    """Return the name of the given preset if it only sets how drafts are judged and refined."""
    from redraft.presets import preset

    name = context.meta.get(_NAMED)
    return name if name and not preset(name).settings.model_fields_set else None


def _values(preset: Preset) -> dict[str, Any]:
    """Return the preset's settings by parameter name, in the form that the options take."""
    fields = {**given.JUDGING, **given.REFINEMENT}
    names = {field: name for name, field in fields.items()}
    values = {names.get(field, field): value for field, value in preset.set_fields.items()}
    if goals := values.get("goal"):
        values["goal"] = [f"{metric}={least}" for metric, least in goals.items()]
    if isinstance(questions := values.get("questions"), tuple):
        values["questions"] = "-".join(str(end) for end in questions)
    return values


def usual_preset(default: str | None) -> Callable[[F], F]:
    """Create `--preset` with a default preset."""
    return option(
        "--preset",
        section="model",
        metavar="NAME",
        default=default,
        is_eager=True,
        expose_value=False,
        callback=_lay_under,
        listing=_names,
        help=f"Default to the settings of a paper ({LISTED}): see docs/presets.md.",
    )


preset_option = usual_preset(None)
