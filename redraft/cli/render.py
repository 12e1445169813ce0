"""How plans, results and lists of runs look."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from redraft.domain import Piece, Totals, Usage
from redraft.models.opening import reasoning_reserve
from redraft.models.prices import Price
from redraft.preparing import Prepared
from redraft.results import Result
from redraft.settings import EXTRACTIVE


def plan(prepared: Prepared, price: Price | None, concurrency: int, *, as_json: bool) -> None:
    """Print a plan to stdout."""
    if as_json:
        click.echo(json.dumps(_plan_json(prepared, price), ensure_ascii=False, indent=2))
        return
    it, settings = prepared.plan, prepared.settings
    for warning in prepared.warnings:
        _say(f"note: {warning}")
    reasoning = _reasoning(prepared)
    tokens = f"at most {it.prompt_tokens:,} in, {it.completion_tokens:,} out"
    rows = [
        ("document", f"{prepared.document.title}: {it.document_words:,} words, {it.document_tokens:,} tokens"),
        ("model", f"{settings.model}, window {settings.context_tokens:,} tokens, tokens by {prepared.tokenizer.name}"),
        ("strategy", f"{it.strategy}, at most {it.words} words"),
        ("chunks", f"{it.chunks} of at most {settings.chunk_budget:,} tokens"),
        *_levels(prepared),
        ("calls", f"{it.calls:,}, up to {concurrency} at once"),
        ("tokens", f"{tokens}, and {reasoning:,} to reason" if reasoning else tokens),
        ("cost", _cost_line(prepared, price)),
    ]
    for name, value in rows:
        click.echo(f"{name:<10} {value}")
    click.echo("\nReplies that must be asked for again come on top.")


def _plan_json(prepared: Prepared, price: Price | None) -> dict[str, object]:
    it = prepared.plan
    return {
        "source": {
            "id": prepared.document.id,
            "title": prepared.document.title,
            "tokens": it.document_tokens,
            "words": it.document_words,
            "chunks": it.chunks,
        },
        "model": prepared.settings.model,
        "tokenizer": prepared.tokenizer.name,
        **{name: value for name, value in asdict(it).items() if not name.startswith("document_")},
        "reasoning_tokens": _reasoning(prepared),
        "cost_usd": _cost(prepared, price, _reasoning(prepared)),
        "warnings": list(prepared.warnings),
    }


def _reasoning(prepared: Prepared) -> int:
    return prepared.plan.calls * reasoning_reserve(prepared.settings)


def _cost(prepared: Prepared, price: Price | None, reasoning: int) -> float | None:
    it = prepared.plan
    return None if price is None else price.of(Usage(it.prompt_tokens, it.completion_tokens + reasoning))


def _cost_line(prepared: Prepared, price: Price | None) -> str:
    reasoning = _reasoning(prepared)
    most, plain = _cost(prepared, price, reasoning), _cost(prepared, price, 0)
    if most is None:
        return "unknown (give the model's price with --prices)"
    if not most:
        return "none"
    return f"at most ${most:.4f}" + (f", of which ${plain:.4f} without any reasoning" if reasoning else "")


def _levels(prepared: Prepared) -> list[tuple[str, str]]:
    levels = prepared.plan.levels
    if prepared.plan.strategy != "hierarchical":
        return []
    return [
        (f"level {number}", f"{_count(level.pieces, 'merge' if number else 'summary')} of at most {level.words} words")
        for number, level in enumerate(levels)
    ]


def _count(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("y") else f"{number:,} {what}s"


def _say(line: str) -> None:
    click.echo(line, err=True)


def closing(result: Result, output: str | None) -> None:
    """Say on stderr what was done, by whom, for how much, and what is missing."""
    _say("")
    if output and result.summary is not None:
        _say(f"written to {output}")
    if result.settings.model == EXTRACTIVE:
        _say("model: extractive (built in, no LLM): every sentence is taken from the document")
    words = result.draft.words if result.draft else 0
    _say(f"run {result.run.id}: {words} words of {result.title} · {usage(result.usage)}")
    for piece in result.flawed:
        _say(f"note: level {piece.level}, summary {piece.index + 1} is not valid and was kept: {piece.flaw}")
    if result.gaps:
        chunks = ", ".join(str(gap.chunk + 1) for gap in result.gaps)
        _say(f"left out: chunk {chunks} of {result.chunks}; `redraft resume {result.run.id}` tries again")
    if result.run.status == "stopped":
        for note in result.draft.notes if result.draft else ():
            _say(f"note: {note}")
        hint = (result.run.error or {}).get("hint", "")
        _say(f"{hint}: redraft resume {result.run.id}")


def usage(totals: Totals) -> str:
    """One line on what a run used."""
    parts = [_count(totals.calls, "call")]
    if totals.cached:
        parts.append(f"{totals.cached:,} from the cache")
    parts.append(f"{totals.prompt_tokens:,} tokens in, {totals.completion_tokens:,} out")
    if totals.cost_usd != 0:
        parts.append("cost unknown" if totals.cost_usd is None else f"${totals.cost_usd:.4f}")
    parts.append(f"{totals.seconds:.1f} s")
    return " · ".join(parts)


def table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows to stdout in aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def piece_text(piece: Piece) -> str:
    """A partial summary for people: where it stands, then its text."""
    first, last = piece.first_chunk + 1, piece.last_chunk + 1
    chunks = f"chunk {first}" if first == last else f"chunks {first}-{last}"
    flaw = f", not valid: {piece.flaw}" if piece.flaw else ""
    head = f"[level {piece.level}, {chunks}: {piece.words} of at most {piece.limit} words{flaw}]"
    return f"{head}\n{piece.text}\n"
