"""Suggested next commands, complete enough to copy."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from redraft.errors import Door, Fix, Raise, RedraftError, RunCommand, stored_advice
from redraft.store.addresses import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from redraft.runs.plans import RunPlan
    from redraft.settings import Limits

GO_ON = "repeat the command; finished work is reused"
_SPARE = 1.1
"""An estimate is within a tenth of a run whose model follows instructions."""
_AGAIN = ("output", "base_url", "key_env", "judge_base_url", "embeddings", "prompts", "prices")
"""The options that a resumed run needs again."""


def run_command(verb: str, run: str, *more: str) -> str:
    """Return a command on a run, with the database that the user named."""
    return " ".join(["redraft", verb, run, *more, *_given(verb)])


def resume_hint(run: str, limits: Limits, error: Mapping[str, Any] | None = None) -> str:
    """Return the command that resumes a run, with a sufficient limit where its `error` says that one was used up."""
    raised = next((part for part in stored_advice(error or {}) if isinstance(part, Raise)), None)
    if raised is None or raised.value is None:
        return run_command("resume", run)
    calls = raised.name == "max_calls"
    estimate = _estimated(run, lambda plan: float(plan.calls) if calls else plan.cost_usd)
    limit, needed = getattr(limits, raised.name) or 0, raised.step + _SPARE * (estimate or 0)
    # What has cost more than estimated has no better measure than the limit itself.
    needed = needed if estimate and needed > limit else max(needed, raised.value)
    amount = str(ceil(needed)) if calls else f"{ceil(100 * needed) / 100:g}"
    return run_command("resume", run, SHELL.setting(raised.name, None), amount)


def _estimated(run: str, figure: Callable[[RunPlan], float | None]) -> float | None:
    """Return a figure of the estimate of a whole run; None if it cannot be estimated."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    from redraft.llm.budget import price_table
    from redraft.runs.dry_run import plan_again
    from redraft.store.store import Store

    # Some commands that show a run have no prices setting.
    prices = context.params.get("prices") or os.environ.get("REDRAFT_PRICES")
    try:
        with Store(context.params.get("db"), to_read=True) as store:
            return figure(plan_again(store, store.runs.get(run), price_table(prices)))
    except RedraftError:
        return None


class ShellDoor(Door):
    """The next step in options and commands, with what the user has to type again."""

    def render(self, advice: Iterable[str | Fix]) -> str:
        """Return the words of a next step. A command at its end has no marks, and can be copied."""
        parts = tuple(advice)
        if parts and isinstance(last := parts[-1], RunCommand):
            return super().render(parts[:-1]) + self.command(last.command, last.run, last.more).strip("`")
        return super().render(parts)

    def setting(self, name: str, value: object) -> str:
        option, rare = _named_options().get(name, (name.replace("_", "-"), name in _RARE))
        text = shlex.quote(str(value)) if isinstance(value, str) and value and not value.isupper() else str(value)
        if rare:
            text = str(value).lower() if isinstance(value, bool) else text
            return f"--set {option.replace('-', '_')}" + ("" if value is None else f"={text}")
        return f"--{option}" if value is None or value is True else f"--{option} {text}"

    def limit(self, name: str, value: float | None) -> str:  # noqa: ARG002  (the command that follows has the value)
        return f"a higher {self.setting(name, None)}"

    def command(self, command: str, run: str, more: Sequence[str]) -> str:
        return f"`{' '.join(filter(None, ('redraft', command, run, *more, *(_given(command) if run else ()))))}`"


SHELL = ShellDoor()
_RARE = frozenset({"partial", "prices", "max_source", "send_spans", "address"})


@cache
def _named_options() -> dict[str, tuple[str, bool]]:
    """Return the option of each settings field, and whether `--set` sets it."""
    from redraft.fields import option_of
    from redraft.settings import DraftConfig, JudgeConfig, Limits, RefineConfig

    options: dict[str, tuple[str, bool]] = {}
    for model in (Limits, RefineConfig, JudgeConfig, DraftConfig):
        for name in model.model_fields:
            if option := option_of(model, name):
                options[name] = option.names[0].split("/")[0].removeprefix("--"), option.rare
    return options


def _given(verb: str) -> list[str]:
    """Return the options of this command line that the next one needs too."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    form = context.params.get("form") if verb == "resume" else None
    options = ["--format", form] if form else []
    if context.get_parameter_source("db") is ParameterSource.COMMANDLINE:
        options += ["--db", shlex.quote(shown(context.params["db"]))]
    for name in _AGAIN if verb in ("resume", "batch resume") else ():
        if (verb, name) != ("batch resume", "output") and context.get_parameter_source(
            name
        ) is ParameterSource.COMMANDLINE:
            value = str(context.params[name])
            is_rare = any(option.name == name and getattr(option, "rare", False) for option in context.command.params)
            options += (
                ["--set", shlex.quote(f"{name}={value}")]
                if is_rare
                else [f"--{name.replace('_', '-')}", shlex.quote(value)]
            )
    return options
