"""`--preset NAME`: a paper's settings as defaults, overridden by any other setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from redraft.cli import given
from redraft.cli.options import option
from redraft.cli.sections import CHECK, LISTED
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.settings import USUAL_METRICS

if TYPE_CHECKING:
    from redraft.presets import Preset

F = TypeVar("F", bound=Callable[..., Any])
_ANY = {"context_tokens", "temperature", "top_p"}
"""Settings of any model: a command that takes only these from a preset does not follow its paper."""


_PAPER = {"chunk-size": "hamlet"}
"""The papers of experiments that are not named after them."""


def _names() -> str:
    from redraft.presets import presets

    return ", ".join(presets())


def _lay_under(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Make the preset's settings the defaults of the command's other options."""
    if name is None or context.resilient_parsing:
        return
    from redraft.presets import preset

    known, values = _options(context), _values_in(context, preset(name))
    found = {str(known[key].name): _fitting(known[key], value) for key, value in values.items() if key in known}
    if "metric" not in (context.default_map or {}):
        context.meta[given.METRICS_OF_A_PRESET] = values.get("metric", ())
    context.meta[CHECK] = lambda: _check(context, preset(name))
    context.default_map = {**found, **(context.default_map or {})}


def _options(context: click.Context) -> dict[str, click.Parameter]:
    """Return the command's parameters by name, and by option where that is another name."""
    named = {str(one.name): one for one in context.command.params}
    options = [(word, one) for one in context.command.params for word in one.opts if word.startswith("--")]
    return {**{word[2:].replace("-", "_"): one for word, one in options}, **named}


def _fitting(option: click.Parameter, value: Any) -> Any:
    """Return a value as a list if the option is repeatable; of several metrics for one, the usual or the first."""
    several = isinstance(value, list | tuple)
    if isinstance(option, click.Option) and option.multiple:
        return value if several else [value]
    if not several:
        return value
    return option.default if set(value) == set(USUAL_METRICS) else value[0]


def _check(context: click.Context, chosen: Preset) -> None:
    """Refuse a preset that the command does not use. One that the environment or a file names for all commands is
    noted."""
    known, unrefined = _options(context), context.params.get("refine") is False
    used = chosen.settings.model_fields_set if unrefined else _values_in(context, chosen).keys()
    if (used & known.keys()) - _ANY or chosen.name in (context.command.name, _PAPER.get(str(context.command.name))):
        return
    hint = "add --refine" if unrefined else "leave out --preset"
    said = f"the preset {chosen.name} sets nothing that this command uses"
    if context.get_parameter_source("preset") is ParameterSource.COMMANDLINE:
        raise UsageError(said, hint=hint)
    if not context.params.get("quiet"):
        say(f"note: {said}")


def _values_in(context: click.Context, preset: Preset) -> dict[str, Any]:
    """Return the preset's settings by parameter name; in experiments, with those that only experiments have."""
    own = preset.experiment if context.parent and context.parent.info_name == "experiment" else {}
    return {**_values(preset), **own}


def _values(preset: Preset) -> dict[str, Any]:
    """Return the preset's settings by parameter name, in the form that the options take."""
    fields = {**given.JUDGING, **given.REFINEMENT}
    names = {field: name for name, field in fields.items()}
    values = {names.get(field, field): value for field, value in preset.set_fields.items()}
    if goals := values.get("goal"):
        values["goal"] = [f"{metric}={least}" for metric, least in goals.items()]
    for name in ("questions", "claims"):
        if isinstance(ends := values.get(name), tuple):
            values[name] = "-".join(str(end) for end in ends)
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
