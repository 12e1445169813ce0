"""The outcome of a run, as people and programs read it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from redraft.domain import Draft, Gap, Piece, Totals
from redraft.errors import RunError
from redraft.settings import Settings
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.words import count_words


@dataclass(frozen=True, slots=True)
class Result:
    """A run with its summary. `complete` says that the summary rests on the whole document."""

    run: Run
    status: str
    title: str
    tokens: int
    chunks: int
    draft: Draft | None
    usage: Totals
    gaps: tuple[Gap, ...]
    flawed: tuple[Piece, ...]

    @property
    def settings(self) -> Settings:
        """What was asked for."""
        return self.run.settings

    @property
    def summary(self) -> str | None:
        """The summary, None when there is none yet."""
        return self.draft.text if self.draft else None

    @property
    def complete(self) -> bool:
        """Whether the run is done and left nothing of the document out."""
        return self.run.status == "done" and not self.gaps

    def to_json(self) -> dict[str, object]:
        """The contract of `--json`; fields are added to it, never changed."""
        draft = self.draft
        return {
            "run": self.run.id,
            "identity": self.run.identity,
            "status": self.status,
            "source": {
                "id": self.run.document,
                "title": self.title,
                "tokens": self.tokens,
                "chunks": self.chunks,
            },
            "strategy": self.settings.strategy,
            "model": self.settings.model,
            "tokenizer": self.run.tokenizer,
            "settings": self.settings.model_dump(mode="json"),
            "summary": self.summary,
            "words": count_words(draft.text) if draft else None,
            "rounds": draft.round if draft else 0,
            "stop_reason": self.run.stop_reason,
            "scores": {},
            "initial_scores": {},
            "goals": {},
            "gaps": [asdict(gap) for gap in self.gaps],
            "flawed": [
                {"level": p.level, "index": p.index, "attempts": p.attempts, "flaw": p.flaw} for p in self.flawed
            ],
            "notes": list(draft.notes) if draft else [],
            "error": self.run.error,
            "usage": asdict(self.usage),
        }


def read_result(store: Store, key: str) -> Result:
    """What the store knows of a run."""
    run = store.runs.get(key)
    settings = run.settings
    chunks = store.documents.chunks(run.document, run.tokenizer, settings.chunk_budget)
    if not chunks:
        raise RunError(f"the chunks of run {run.id} are gone from the database")
    pieces = store.runs.pieces(run.id)
    return Result(
        run=run,
        status=store.status(run),
        title=store.documents.title(run.document),
        tokens=sum(chunk.tokens for chunk in chunks),
        chunks=len(chunks),
        draft=store.runs.draft(run.draft) if run.draft else None,
        usage=store.calls.totals(run.id),
        gaps=tuple(store.runs.gaps(run.id)),
        flawed=tuple(piece for piece in pieces if piece.flaw),
    )
