"""The commands that we tell people to type next, so that they can be copied as they stand."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from redraft.store.addresses import shown

if TYPE_CHECKING:
    from redraft.settings import Limits

_OF_A_RUN = re.compile(r"\bredraft (resume|show|trace|diff|fork) ([0-9a-f]{8})\b(?! --?\w)")


def about(verb: str, run: str, *more: str) -> str:
    """The command that does something with a run, in the database that the user named."""
    return " ".join(["redraft", verb, run, *more, *_given(verb)])


def resuming(run: str, limits: Limits, said: str = "") -> str:
    """The command that goes on with a run: with twice the limit that `said` names, where one was used up."""
    if "--max-calls" in said and limits.max_calls is not None:
        return about("resume", run, "--max-calls", str(2 * limits.max_calls))
    if "--max-cost" in said and limits.max_cost is not None:
        return about("resume", run, "--max-cost", f"{2 * limits.max_cost:g}")
    return about("resume", run)


def completed(text: str) -> str:
    """A hint of the library, which knows nothing of the command line, with its commands completed."""
    return _OF_A_RUN.sub(lambda found: about(found[1], found[2]), text)


def _given(verb: str) -> list[str]:
    """What was on the command line and must be there again; the environment and the settings file still hold."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    form = context.params.get("form") if verb == "resume" else None
    again = ["--format", form] if form else []
    if context.get_parameter_source("db") is ParameterSource.COMMANDLINE:
        again += ["--db", shlex.quote(shown(context.params["db"]))]
    return again
