"""`--preset NAME`, which makes the settings of a paper the defaults of a command's other options."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from redraft.cli.options import F, option
from redraft.cli.sections import CHECK, LISTED
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.settings import USUAL_METRICS

if TYPE_CHECKING:
    from redraft.presets import Preset

CHOSEN = "redraft.preset"
"""The key of the context's `meta` with the chosen preset."""
_ANY = {"context_tokens", "temperature", "top_p"}
"""Settings of any model: a command that takes only these from a preset does not follow its paper."""
_PAPER = {"chunk-size": "hamlet"}
"""The papers of experiments that are not named after them."""


def usual_preset(default: str | None) -> Callable[[F], F]:
    """Create `--preset` with a default preset, whose settings become the defaults of the command's other options."""

    def lay_under(context: click.Context, _: click.Parameter, name: str | None) -> None:
        if name is None or context.resilient_parsing:
            return
        from redraft.presets import preset

        chosen, parameters = preset(name), _parameters(context)
        defaults = {
            str(parameters[key].name): _fitting(parameters[key], value)
            for key, value in _values(context, chosen).items()
            if key in parameters
        }
        context.meta[CHOSEN] = chosen
        context.meta[CHECK] = lambda: _check(context, chosen)
        context.default_map = {**defaults, **(context.default_map or {})}

    return option(
        "--preset",
        section="model",
        metavar="NAME",
        default=default,
        is_eager=True,
        expose_value=False,
        found="yes",
        callback=lay_under,
        listing=lambda: ", ".join(resolve_name("redraft.presets:presets")()),
        help=f"Default to the settings of a paper ({LISTED}): see docs/presets.md.",
    )


def _parameters(context: click.Context) -> dict[str, click.Parameter]:
    """Return the command's parameters by name, and by option where that is another name."""
    options = [(word, parameter) for parameter in context.command.params for word in parameter.opts]
    by_option = {word[2:].replace("-", "_"): parameter for word, parameter in options if word.startswith("--")}
    return by_option | {str(parameter.name): parameter for parameter in context.command.params}


def _values(context: click.Context, chosen: Preset) -> dict[str, Any]:
    """Return the preset's settings by name; in experiments, with those that only experiments have."""
    is_experiment = context.parent and context.parent.info_name == "experiment"
    return {**chosen.set_fields, **(chosen.experiment if is_experiment else {})}


def _fitting(parameter: click.Parameter, value: Any) -> Any:
    """Return a value as its option takes it: goals as words, a list if the option is repeatable; of several metrics for
    an option that takes one, the usual or the first."""
    if isinstance(value, dict):
        return [f"{metric}={goal}" for metric, goal in value.items()]
    is_list = isinstance(value, list | tuple)
    if isinstance(parameter, click.Option) and parameter.multiple:
        return value if is_list else [value]
    if parameter.name == "metrics" and is_list:
        return parameter.default if set(value) == set(USUAL_METRICS) else value[0]
    return value


def _check(context: click.Context, chosen: Preset) -> None:
    """Refuse a preset that the command does not use. One that the environment or a file names for all commands is
    noted."""
    is_unrefined = context.params.get("refine") is False
    names = chosen.settings.model_fields_set if is_unrefined else _values(context, chosen).keys()
    papers = (context.command.name, _PAPER.get(str(context.command.name)))
    if (names & _parameters(context).keys()) - _ANY or chosen.name in papers:
        return
    hint = "add --refine" if is_unrefined else "leave out --preset"
    problem = f"the preset {chosen.name} sets nothing that this command uses"
    if context.get_parameter_source("preset") is ParameterSource.COMMANDLINE:
        raise UsageError(problem, hint=hint)
    if not context.params.get("quiet"):
        say(f"note: {problem}")


preset_option = usual_preset(None)
