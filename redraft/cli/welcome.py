"""What `redraft` alone says: what can be done first with the model that is here, in eight lines."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from importlib.util import find_spec

from redraft.cli.overview import HelpEntry
from redraft.settings import EXTRACTIVE

_KEYS = (
    ("OPENAI_API_KEY", "openai:gpt-5-mini", "langchain_openai"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-4-5", "langchain_anthropic"),
    ("GOOGLE_API_KEY", "google_genai:gemini-2.5-flash", "langchain_google_genai"),
)
"""Variables with keys, a model that each is good for, and the module that this needs."""
_WIDEST = 64


def model_here(default: str) -> tuple[str, str, str] | None:
    """Return the first language model that is at hand: the `default` of the settings, one with a key in the
    environment, or one of a server on this machine. That is why it can be used, the options that name it (none if it is
    used by default), and its name."""
    if default != EXTRACTIVE:
        return f"{default}, by your settings", "", default
    for variable, model, module in _KEYS:
        if os.environ.get(variable, "").strip() and find_spec(module):
            return f"a key in {variable}", f" -m {model}", model
    from redraft.llm import addresses

    for server in addresses.local_servers(addresses.USUAL):
        if server.models:
            name = f"openai:{server.models[0]}"
            options = f" -m {shlex.quote(name)} --base-url {server.url}"
            return f"{server.kind} on this machine, with {server.models[0]}", options, name
    return None


def welcome(default: str, commands: Mapping[str, HelpEntry]) -> list[str]:
    """Return what to do first."""
    model = model_here(default)
    if model is None:
        state = "Here: no key and no model server, so the built-in model selects sentences, offline."
        steps = [
            ("redraft summarize book.txt", "try it: text, PDF, EPUB, Word, web page"),
            ("redraft evaluate book.txt summary.md", "check a summary that you have"),
            ("redraft models", "three ways to a model on this machine, without a key"),
            ("export OPENAI_API_KEY=...", "or one with a key: then add -m openai:gpt-5-mini"),
        ]
    else:
        why, options, name = model
        state = f"Here: {why}."
        check = f"redraft models --check{options}" if options else f"redraft models --check {name}"
        steps = [
            (f"redraft summarize book.txt{options} --dry-run", "what it costs"),
            (f"redraft summarize book.txt{options} --refine", "write, judge, revise"),
            (f'redraft ask book.txt "Who?"{options}', "an answer with citations"),
            (check, "does the model work?"),
        ]
    # Servers are guests.
    servers = [(name, entry) for name, entry in commands.items() if entry.group == "Serve"]
    steps += [(f"redraft {name}", entry.does.rstrip(".").lower()) for name, entry in servers[:1]]
    steps += [("redraft --help", "all commands")]
    widest = min(_WIDEST, max(len(command) for command, _ in steps))
    lines = ["redraft summarizes long documents, checks a summary against its document, and revises it.", state]
    return [*lines, *(f"  {command.ljust(widest)}  {what}" for command, what in steps)]
