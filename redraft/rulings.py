"""What was said of findings after they were found: what a reviser did about each, and what a second look ruled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Became = Literal["mended", "kept", "left"]
"""What a reviser says of a point: it was mended, the sentence was kept because the document says so, or it was left."""
RulingVerdict = Literal["supported", "contradicted", "absent", "unclear"]
"""What the document says of what a summary says: `absent` only where all of the document was read."""


@dataclass(frozen=True, slots=True)
class PointAnswer:
    """What became of a finding that a revision was to mend."""

    finding: str
    """Its id."""
    became: Became = "mended"
    said: str = ""
    """The document's words where the sentence was kept; why, where the point was left."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A second look at a finding. One that is `overruled` holds of no draft of the document any more."""

    document: str
    finding: str
    """Its id."""
    verdict: RulingVerdict
    quote: str = ""
    """The document's words that the verdict rests on, and where they stand."""
    start: int | None = None
    end: int | None = None
    reason: str = ""
    by: str = ""
    """The judge who ruled."""
    contested: str = ""
    """The words that somebody held against the finding; empty where nobody did."""
    run: str = ""
    round: int = 0
    """The round whose draft the finding was on."""

    @property
    def overruled(self) -> bool:
        """Whether the document says what the finding denies: in words that were found there, or it stands."""
        return self.verdict == "supported" and self.start is not None


@dataclass(frozen=True, slots=True)
class FinalComparison:
    """The first draft of a refinement and its best one, compared in the end."""

    run: str
    first: str
    best: str
    first_won: bool
    reason: str = ""
    """In a judge's words."""
    votes: tuple[int, int, int] = (0, 0, 0)
    """How many judgings prefer the first, the best, and neither."""
    document_read: bool = False

    @property
    def said(self) -> str:
        """The same for people, with the reason."""
        first, best, neither = self.votes
        wins = "the first draft" if self.first_won else "the best draft" if best > first else "neither"
        votes = f"{first} to {best}, {neither} for neither"
        return f"first and best draft compared: {wins} is preferred ({votes}). {self.reason}".strip()


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a model that decides on a revision has looked up in the document before, and what came of it."""

    asked: str
    """A search, or a place to read, as the model named it."""
    found: int
    """How many passages."""
    said: str = ""
    """What the model was told where nothing was found, or could be meant."""
