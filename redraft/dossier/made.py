"""How the summary was made: its partial summaries, the calls to models, and the prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from redraft.domain import Parent, Span
from redraft.dossier.contents import CallEntry, ChapterEntry, PieceEntry, PromptText
from redraft.dossier.places import Places
from redraft.dossier.scrubbing import scrubbed
from redraft.history.family import piece_said
from redraft.history.results import Result
from redraft.store.store import Store
from redraft.text.cleaning import clean, one_line


def chapters(result: Result) -> Iterator[ChapterEntry]:
    """What is summarized by itself, in the order of the document."""
    for one in result.chapters:
        made = one.result
        yield ChapterEntry(
            title=one_line(one.title),
            start=one.span.start,
            end=one.span.end,
            pages=one_line(one.pages),
            run=made.run.id if made else "",
            status=made.status if made else "not begun",
            words=made.draft.words if made and made.draft else 0,
            summary=clean((made.summary if made else None) or ""),
            scores=dict(made.scores) if made else {},
            self_check=bool(made and made.self_checked),
        )


def pieces(store: Store, result: Result, places: Places) -> Iterator[PieceEntry]:
    """The partial summaries, from the lowest level up."""
    run = result.run
    chunks = store.chunks(run)
    chapters = [one.title for one in store.chapters.of(run.id)]
    parents = store.ancestry.of(run.id)
    for piece in store.runs.pieces(run.id):
        about = chunks[piece.first_chunk : piece.last_chunk + 1]
        yield PieceEntry(
            name=piece.name,
            said=piece_said(piece, chapters),
            level=piece.level,
            first_chunk=piece.first_chunk,
            last_chunk=piece.last_chunk,
            place=places.wide(Span(about[0].span.start, about[-1].span.end)) if about else None,
            words=piece.words,
            limit=piece.limit,
            attempts=piece.attempts,
            flaw=scrubbed(piece.flaw),
            text=clean(piece.text),
            made_from=_named(parents.get(piece.name, ()), merged=True),
            goes_on_from=_named(parents.get(piece.name, ()), merged=False),
        )


def _named(parents: Sequence[Parent], *, merged: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.node for one in parents if one.node and (one.kind == "piece") == merged))


def calls(store: Store, run: str) -> Iterator[CallEntry]:
    """Every attempt to ask a model, in their order; what was taken from earlier runs comes first, and took no time."""
    recorded = store.calls.of(run)
    begun = [datetime.fromisoformat(one.started) for one in recorded if not one.borrowed]
    first = min(begun, default=None)
    for number, one in enumerate(recorded, 1):
        own = first is not None and not one.borrowed
        yield CallEntry(
            number=number,
            label=one_line(one.label),
            prompt=one.prompt,
            hash=one.prompt_hash,
            model=scrubbed(one.model),
            outcome=one.outcome,
            borrowed=one.borrowed,
            began=round((datetime.fromisoformat(one.started) - first).total_seconds(), 3) if own and first else 0.0,
            seconds=0.0 if one.borrowed else round(one.seconds, 3),
            prompt_tokens=one.usage.prompt_tokens,
            completion_tokens=one.usage.completion_tokens,
            cached_tokens=one.usage.cached_prompt_tokens,
            cost_usd=0.0 if one.borrowed else one.cost_usd,
            error=scrubbed(one_line(one.error)),
        )


def prompts(store: Store, result: Result) -> Iterator[PromptText]:
    """The prompts that the run has on record."""
    hashes = result.run.prompt_hashes
    known = store.prompts.of(list(hashes.values()))
    for name, digest in sorted(hashes.items()):
        yield PromptText(name=name, hash=digest, text=clean(known[digest].text) if digest in known else None)
