"""Views of the calls of a run: a list by stage, and one call with its prompt and reply."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from redraft.cli import hints
from redraft.cli.views import render
from redraft.report.dossier.contents import CallDetails, CallEntry
from redraft.report.pages.formatting import stage
from redraft.text.words import dollars

_TITLES = {"user": "prompt", "assistant": "rejected reply", "schema": "schema of the reply"}


def calls_lines(calls: Sequence[CallEntry], run: str) -> Iterator[str]:
    """Yield the calls of a run by stage."""
    if not calls:
        yield f"run {run} made no calls of its own"
        return
    rows = render.aligned([_row(call_entry) for call_entry in calls])
    stages: dict[str, list[str]] = defaultdict(list)
    for entry, row in zip(calls, rows, strict=True):
        stages[stage(entry.prompt)].append(row)
    for name, lines in stages.items():
        yield f"{name}: {render.count(len(lines), 'call')}"
        yield from (f"  {line}" for line in lines)
    yield ""
    yield f"Prompt and reply of call 1: {hints.run_command('trace', run, '--call', '1')}"


def _row(one: CallEntry) -> list[str]:
    tokens = f"{one.prompt_tokens:,} tokens in, {one.completion_tokens:,} out"
    ended = "cached" if one.borrowed else f"{one.seconds:.1f} s"
    return [str(one.number), one.label or render.spaced(one.prompt), tokens, ended, _outcome(one)]


def call_lines(one: CallDetails, run: str) -> Iterator[str]:
    """Yield a call with all that was sent and received."""
    yield f"call {one.number} of run {run} · {stage(one.prompt)} · {one.label or render.spaced(one.prompt)}"
    attempt = f" · attempt {one.attempt} of {one.attempts}" if one.attempts > 1 else ""
    yield f"prompt {one.prompt} · model {one.model}{attempt}"
    hit = f" ({one.cached_tokens:,} cached by the provider)" if one.cached_tokens else ""
    tokens = f"{one.prompt_tokens:,} tokens in{hit}"
    cost = "cost unknown" if one.cost_usd is None else dollars(one.cost_usd)
    ended = one.error or one.finish_reason
    yield f"{tokens}, {one.completion_tokens:,} out · {cost} · {one.seconds:.1f} s · {_outcome(one) or ended}"
    if one.error:
        yield one.error
    if one.borrowed:
        sender = f"run {one.made_by}" if one.made_by else "a run that has been deleted"
        yield f"answered from the cache: {sender} sent this prompt and paid for the reply"
    for message in one.messages:
        yield from _titled(_TITLES[message.role], message.text)
    if not one.messages:
        yield ""
        yield "This call was made before prompts were stored with their contents. Its template:"
        yield from _titled("template", one.prompt_text or "The template is not stored either.")
    yield from _titled("reply", "No reply was received." if one.reply is None else one.reply)


def _outcome(one: CallEntry) -> str:
    return "" if one.outcome == "ok" else render.spaced(one.outcome)


def _titled(title: str, text: str) -> Iterator[str]:
    yield ""
    yield f"--- {title} ---"
    try:
        yield json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except ValueError:
        yield text
