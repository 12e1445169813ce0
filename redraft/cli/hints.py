"""Suggested next commands, complete enough to copy."""

from __future__ import annotations

import re
import shlex
from math import ceil
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from redraft.store.addresses import shown

if TYPE_CHECKING:
    from redraft.settings import Limits

_DOLLARS = re.compile(r"\$(\d+\.\d+)")
_OF_A_RUN = re.compile(r"\bredraft (resume|show|trace|diff|fork) ([0-9a-f]{8})\b(?! --?\w)")


def about(verb: str, run: str, *more: str) -> str:
    """Return a command on a run, with the database that the user named."""
    return " ".join(["redraft", verb, run, *more, *_given(verb)])


def resuming(run: str, limits: Limits, said: str = "") -> str:
    """Return the command that resumes a run, with a sufficient limit where `said` names one that was used up."""
    if "--max-calls" in said and limits.max_calls is not None:
        return about("resume", run, "--max-calls", str(2 * limits.max_calls))
    if "--max-cost" in said and limits.max_cost is not None:
        needed = sum(map(float, _DOLLARS.findall(said)))
        return about("resume", run, "--max-cost", f"{max(2 * limits.max_cost, ceil(100 * needed) / 100):g}")
    return about("resume", run)


def completed(text: str) -> str:
    """Complete the commands in a hint of the library, which does not know the command line."""
    return _OF_A_RUN.sub(lambda found: about(found[1], found[2]), text)


def _given(verb: str) -> list[str]:
    """Return the options of this command line that the next one needs too."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    form = context.params.get("form") if verb == "resume" else None
    again = ["--format", form] if form else []
    if context.get_parameter_source("db") is ParameterSource.COMMANDLINE:
        again += ["--db", shlex.quote(shown(context.params["db"]))]
    if verb == "resume" and context.get_parameter_source("prices") is ParameterSource.COMMANDLINE:
        again += ["--prices", shlex.quote(str(context.params["prices"]))]
    return again
