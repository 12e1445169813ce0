"""Suggested next commands, complete enough to copy."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from redraft.errors import Door, Fix, Raise, RunCommand, stored_advice
from redraft.store.connection import shown

if TYPE_CHECKING:
    from redraft.runs.model_settings import OwnPlaces
    from redraft.store.runs import Run

GO_ON = "repeat the command; finished work is reused"
_AGAIN = ("output", "base_url", "key_env", "judge_base_url", "embeddings", "prompts", "prices")
"""The options that a resumed run needs again."""


def run_command(verb: str, run: str, *more: str) -> str:
    """Return a command on a run, with the database that the user named."""
    return " ".join(["redraft", verb, run, *more, *_given(verb)])


def resume_step(run: Run, error: Mapping[str, Any] | None = None, label: str = "Resume") -> str:
    """Return the command that resumes a run after a label, with a higher limit where the `error` of the run says that
    one was used up."""
    raised = next((part for part in stored_advice(error or {}) if isinstance(part, Raise)), None)
    more = _given("resume")
    if raised is not None and raised.value is not None:
        more = [SHELL.setting(raised.name, None), f"{raised.value:g}", *more]
    return f"{label}: {' '.join(['redraft', 'resume', run.id, *more])}"


def if_installed(step: str) -> str:
    """Return a step that ends with a command, which may be a guest's; empty if the guest is not here."""
    context, name = click.get_current_context(silent=True), step.rpartition("redraft ")[2].split()[0]
    group = context and context.find_root().command
    return "" if context and isinstance(group, click.Group) and name not in group.list_commands(context) else step


def own_places(values: Mapping[str, Any], places: OwnPlaces | None = None) -> OwnPlaces:
    """Return `places` with the servers, keys and files that the options, the environment and the user's configuration
    name now."""
    from redraft.cli.settings_file import named_tables
    from redraft.runs.model_settings import OwnPlaces
    from redraft.settings import ModelSettings

    places = OwnPlaces() if places is None else places
    for table in named_tables(ModelSettings).values():
        places.add_model(table)
    places.add_options(values)
    return places


class ShellDoor(Door):
    """The next step in options and commands, with what the user has to type again."""

    def render(self, advice: Iterable[str | Fix]) -> str:
        """Return the words of a next step. A command at its end has no marks, and can be copied."""
        parts = tuple(advice)
        if parts and isinstance(last := parts[-1], RunCommand):
            return super().render(parts[:-1]) + self.command(last.command, last.run, last.more).strip("`")
        return super().render(parts)

    def setting(self, name: str, value: object) -> str:
        from redraft.fields import option_of
        from redraft.order import PARTS

        model = next((model for model in PARTS.values() if name in model.model_fields), None)
        declared = option_of(model, name) if model else None
        option = declared.names[0].split("/")[0].removeprefix("--") if declared else name.replace("_", "-")
        rare = declared.rare if declared else name in _RARE
        context = click.get_current_context(silent=True)
        is_default = context is not None and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        text = shlex.quote(str(value)) if isinstance(value, str) and value and not value.isupper() else str(value)
        if rare:
            text = str(value).lower() if isinstance(value, bool) else text
            return f"--set {option.replace('-', '_')}" + ("" if value is None else f"={text}")
        written = f"--{option}" if value is None or value is True else f"--{option} {text}"
        return f"{written} in place of what a settings file sets" if is_default else written

    def limit(self, name: str, value: float | None) -> str:  # noqa: ARG002  (the command that follows has the value)
        return f"a higher {self.setting(name, None)}"

    def command(self, command: str, run: str, more: Sequence[str]) -> str:
        return f"`{' '.join(filter(None, ('redraft', command, run, *more, *(_given(command) if run else ()))))}`"


SHELL = ShellDoor()
_RARE = frozenset({"partial", "prices", "max_source", "send_spans", "address"})


def _given(verb: str) -> list[str]:
    """Return the options of this command line that the next one needs too."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    form = context.params.get("form") if verb == "resume" else None
    options = ["--format", form] if form else []
    names = {"resume": ("db", *_AGAIN), "batch resume": ("db", *_AGAIN[1:])}.get(verb, ("db",))
    parameters = {parameter.name: parameter for parameter in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = shown(context.params[name]) if name == "db" else str(context.params[name])
            is_rare = getattr(parameters[name], "rare", False)
            setting = ["--set", shlex.quote(f"{name}={value}")]
            options += setting if is_rare else [f"--{name.replace('_', '-')}", shlex.quote(value)]
    return options
