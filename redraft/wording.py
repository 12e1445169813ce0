"""How errors name settings and next steps: as Python for programs, and as options and commands for the command line.

Errors are written for the command line: `--max-calls 3`, or `redraft resume RUN` in backquotes. `worded` returns them
for whoever reads them in this process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_LIMITS = frozenset(
    {
        "concurrency",
        "requests_per_minute",
        "tokens_per_minute",
        "max_cost",
        "max_calls",
        "timeout",
        "provider_batch",
    }
)
_VALUED = {
    "db": "Session({})",
    "judge": "judges=[{}]",
    "judge_base_url": "JudgeConfig(base_url={})",
    "max_source": "max_bytes={}",
    "metric": "metrics=[{}]",
    "prices": "prices=redraft.price_table(path)",
    "replies": "ModelSettings(replies={})",
    "trace": "model={}",
}
_BARE = {
    "db": "store",
    "goal": "goals",
    "judge": "judges",
    "judge_base_url": "JudgeConfig.base_url",
    "max_source": "max_bytes",
    "metric": "metrics",
    "no_token": "guarded=False",
    "replies": "ModelSettings.replies",
    "trace": "model",
}
"""How Python names a setting whose option has another name, with a value and without."""
_FLAGS = frozenset({"by_chapter", "review", "allow_self_check", "partial", "provider_batch", "second_look"})
_COMMANDS = {
    "resume": "await session.resume({})",
    "show": "await session.result({})",
    "trace": "redraft.read_trace(session.store, {})",
    "lineage": "await session.lineage({})",
    "runs": "session.store.runs.latest(20)",
    "keyfacts": 'await session.build(source, "keyfacts")',
    "pack build": "await session.build(source)",
    "pack list": "session.store.packs.all()",
}
_RUN = r"[0-9a-f]{8}\b|RUN\b"
_COMMAND = re.compile(
    rf"`redraft (?P<verb>{'|'.join(_COMMANDS)})(?: (?P<run>{_RUN}))?[^`]*`(?: the run\b)?"
    rf"|\bredraft (?P<bare>resume|show|trace) (?P<of>{_RUN})"
)
# A value is a number, an address, a placeholder, or the name of a metric, a model, prompts or a form of replies.
_VALUE = (
    r"\d[\d.,]*(?<![.,])|[a-z]+://\S+\b|[A-Z][A-Z|]*\b|[a-z]+:[\w.-]+|(?:extractive|local|simple|tools|plain)\b"
    r"|(?<=metric )\w+"
)
# Options of pip and of pytest stay as they are, and so do those of commands that have no counterpart.
_OPTION = re.compile(
    rf"`redraft [^`]*`|(?<![\w-])--(?!upgrade\b|redraft-)(?P<name>[a-z][a-z-]*[a-z])(?: (?P<value>{_VALUE}))?"
)
_OF_THE_SHELL = ", or use - for stdin"
_on_command_line = False


@contextmanager
def for_command_line() -> Iterator[None]:
    """Word errors for the command line in this process."""
    global _on_command_line
    before, _on_command_line = _on_command_line, True
    try:
        yield
    finally:
        _on_command_line = before


def worded(text: str) -> str:
    """Return the message or hint of an error for whoever reads it in this process."""
    return text if _on_command_line else in_python(text)


def in_python(text: str) -> str:
    """Return a message or hint with settings and next steps as Python has them."""
    text = text.replace(_OF_THE_SHELL, "")
    return _OPTION.sub(_setting, _COMMAND.sub(_call, text)) if "--" in text or "redraft " in text else text


def _call(found: re.Match[str]) -> str:
    verb, run = found["verb"] or found["bare"], found["run"] or found["of"]
    return f"`{_COMMANDS[verb].format('run' if run in (None, 'RUN') else repr(run))}`"


def _setting(found: re.Match[str]) -> str:
    if not found["name"]:
        return found[0]
    name, value = found["name"].replace("-", "_"), found["value"] or ""
    flag = name.removeprefix("no_")
    if flag in _FLAGS:
        it, after = f"{flag}={not name.startswith('no_')}", f" {value}" if value else ""
        return (f"limits=Limits({it})" if name in _LIMITS else it) + after
    if not value:
        return f"`{f'Limits.{name}' if name in _LIMITS else _BARE.get(name, name)}`"
    if value.isupper():
        value = "..."
    elif not value[0].isdigit():
        value = repr(value)
    else:
        value = value.replace(",", "")
    if name in _LIMITS:
        return f"limits=Limits({name}={value})"
    return _VALUED.get(name, name + "={}").format(value)
