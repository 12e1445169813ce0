"""Suggested next commands, complete enough to copy."""

from __future__ import annotations

import os
import re
import shlex
from difflib import get_close_matches
from math import ceil
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from redraft.errors import RedraftError
from redraft.store.addresses import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from redraft.runs.plans import RunPlan
    from redraft.settings import Limits

N = TypeVar("N", int, float)

GO_ON = "repeat the command; finished work is reused"
_SPARE = 1.1
"""An estimate is within a tenth of a run whose model follows instructions."""
_DOLLARS = re.compile(r"\$(\d[\d,]*\.\d+)")
_ROUNDED = 0.005
"""What an amount in whole cents may have lost."""
_AGAIN = ("output", "base_url", "key_env", "judge_base_url", "embeddings", "prompts", "prices")
"""The options that a resumed run needs again."""
_OF_A_RUN = re.compile(r"\bredraft (resume|show|trace|diff|fork) ([0-9a-f]{8})\b(?! --?\w)")


class NearestGroup(click.Group):
    """A group that lists its commands in the order of the code, most important first, and names the nearest command for
    an unknown one, as click itself does since 8.5."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if not word.startswith("-") and self.get_command(context, word) is None:
            near = get_close_matches(word, self.list_commands(context), 1)
            context.fail(f"No such command {word!r}." + "".join(f" Did you mean {one!r}?" for one in near))
        return super().resolve_command(context, args)


def run_command(verb: str, run: str, *more: str) -> str:
    """Return a command on a run, with the database that the user named."""
    return " ".join(["redraft", verb, run, *more, *_given(verb)])


def resume_hint(run: str, limits: Limits, said: str = "") -> str:
    """Return the command that resumes a run, with a sufficient limit where `said` names one that was used up."""
    if "--max-calls" in said and limits.max_calls is not None:
        calls = _estimated(run, lambda whole: whole.calls) or 2 * limits.max_calls
        return run_command("resume", run, "--max-calls", str(ceil(_SPARE * max(calls, limits.max_calls)) + 1))
    if "--max-cost" in said and limits.max_cost is not None:
        # Of these, the first is the next call, which is booked at the most it can cost, and so is the last of a run.
        booked, *spent = (float(one.replace(",", "")) + _ROUNDED for one in _DOLLARS.findall(said))
        cost = _estimated(run, lambda whole: whole.cost_usd)
        needed = booked + _SPARE * max([cost or 0.0, *spent])
        needed = max(needed, 0.0 if cost else 2 * limits.max_cost)
        return run_command("resume", run, "--max-cost", f"{ceil(100 * needed) / 100:g}")
    return run_command("resume", run)


def _estimated(run: str, figure: Callable[[RunPlan], N | None]) -> N | None:
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


def complete_commands(text: str) -> str:
    """Complete the commands in a hint of the library, which does not know the command line."""
    return _OF_A_RUN.sub(lambda found: run_command(found[1], found[2]), text)


def _given(verb: str) -> list[str]:
    """Return the options of this command line that the next one needs too."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    form = context.params.get("form") if verb == "resume" else None
    again = ["--format", form] if form else []
    if context.get_parameter_source("db") is ParameterSource.COMMANDLINE:
        again += ["--db", shlex.quote(shown(context.params["db"]))]
    for name in _AGAIN if verb in ("resume", "batch resume") else ():
        if (verb, name) != ("batch resume", "output") and context.get_parameter_source(
            name
        ) is ParameterSource.COMMANDLINE:
            value = str(context.params[name])
            is_rare = any(option.name == name for option in getattr(context.command, "rare", ()))
            again += (
                ["--set", shlex.quote(f"{name}={value}")]
                if is_rare
                else [f"--{name.replace('_', '-')}", shlex.quote(value)]
            )
    return again
