"""Lists of runs, packs and calls, and single calls, as Markdown."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from redraft.report.dossier.contents import CallDetails, CallEntry
from redraft.report.history.summaries import RunSummary
from redraft.report.markdown.comparison import WINNERS
from redraft.report.markdown.layout import joined, line, section, table
from redraft.report.markdown.result import OTHERWISE, brief_scores
from redraft.report.pages.formatting import stage
from redraft.text.words import count, dollars, duration, spaced

_MODEL, _TITLE, _SHORT_ID = 30, 40, 8
_ROLES = {"user": "prompt", "assistant": "rejected reply", "schema": "schema of the reply"}


def records_table(records: Iterable[Mapping[str, str]]) -> str:
    """Return records under their names, without columns that are empty."""
    rows = list(records)
    names = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    return table([names, *([row[name] for name in names] for row in rows)])


def runs_markdown(runs: Sequence[RunSummary], now: datetime) -> str:
    """Return a row for each run."""
    rows = []
    for run in runs:
        outcome = brief_scores(run.scores, offline_check=run.offline_check)
        if run.kind == "compare":
            preferred = run.preferred and f"{WINNERS[run.preferred]} preferred"
            outcome = "tie" if run.preferred == "tie" else preferred or ""
        row = {
            "run": run.run,
            "when (UTC)": when(run.created, now),
            "status": run.status,
            "kind": run.kind,
            "scores": outcome,
            "title": line(run.title, _TITLE),
            "question": line(run.query, _TITLE) if run.kind == "ask" else "",
            "words": "" if run.kind in OTHERWISE or run.words is None else str(run.words),
            "model": line(run.model, _MODEL),
            "drafted": run.strategy,
        }
        rows.append(row)
    return joined([records_table(rows)])


def packs_markdown(packs: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """Return a row for the questions and key facts of each document."""
    names = {"questions": "question", "keyfacts": "key fact"}
    rows = (
        {
            # A prefix of this length always identifies a pack.
            "id": pack["pack"][:_SHORT_ID],
            "when (UTC)": when(pack["created"], now),
            "what": count(pack["keyfacts" if pack["kind"] == "keyfacts" else "questions"], names[pack["kind"]]),
            "model": line(pack["model"], _MODEL),
            "origin": "imported" if pack["imported"] else "built",
            "title": line(pack["title"], _TITLE),
        }
        for pack in packs
    )
    return joined([records_table(rows)])


def when(created: str, now: datetime) -> str:
    """Return the day with the time, or with the year if it is not the current one."""
    then = datetime.fromisoformat(created)
    return f"{then:%b %d %H:%M}" if then.year == now.year else f"{then:%b %d %Y}"


def calls_markdown(calls: Sequence[CallEntry], run: str) -> str:
    """Return the calls of a run by stage."""
    stages: dict[str, list[dict[str, str]]] = defaultdict(list)
    for call in calls:
        row = {
            "call": str(call.number),
            "what": line(call.label) or spaced(call.prompt),
            "tokens": f"{call.prompt_tokens:,} tokens in, {call.completion_tokens:,} out",
            "time": "cached" if call.borrowed else duration(call.seconds),
            "outcome": "" if call.outcome == "ok" else spaced(call.outcome),
        }
        stages[stage(call.prompt)].append(row)
    blocks = [section(f"{name}: {count(len(rows), 'call')}", [records_table(rows)]) for name, rows in stages.items()]
    return joined(blocks or [f"run {run} made no calls of its own"])


def call_markdown(call: CallDetails, run: str) -> str:
    """Return a call with all that was sent and received."""
    attempt = f" · attempt {call.attempt} of {call.attempts}" if call.attempts > 1 else ""
    cached = f" ({call.cached_tokens:,} cached by the provider)" if call.cached_tokens else ""
    cost = "cost unknown" if call.cost_usd is None else dollars(call.cost_usd)
    outcome = (call.error or call.finish_reason) if call.outcome == "ok" else spaced(call.outcome)
    tokens = f"{call.prompt_tokens:,} tokens in{cached}, {call.completion_tokens:,} out"
    about = [
        f"prompt {line(call.prompt)} · model {line(call.model)}{attempt}",
        f"{tokens} · {cost} · {duration(call.seconds)} · {line(outcome)}",
    ]
    about += [line(call.error)] if call.error else []
    if call.borrowed:
        sender = f"run {call.made_by}" if call.made_by else "a run that has been deleted"
        about.append(f"answered from the cache: {sender} sent this prompt and paid for the reply")
    texts = [(_ROLES[message.role], message.text) for message in call.messages]
    if not texts:
        about.append("This call was made before prompts were stored with their contents. Its template:")
        texts = [("template", call.prompt_text or "The template is not stored either.")]
    texts.append(("reply", "No reply was received." if call.reply is None else call.reply))
    head = f"# call {call.number} of run {run} · {stage(call.prompt)} · {line(call.label) or spaced(call.prompt)}"
    return joined([head, "\n".join(f"- {part}" for part in about), *(_fenced(*pair) for pair in texts)])


def _fenced(title: str, text: str) -> str:
    """Return a text as it is, in a fence that is longer than any in it."""
    with suppress(ValueError):
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"## {title}\n\n{fence}\n{text}\n{fence}"
