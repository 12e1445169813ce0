"""What happened to findings after they were found: the reviser's answers and the rulings of a second look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Became = Literal["fixed", "kept", "left", ""]
"""The reviser's answer: fixed, kept because the document says so, or left as it is."""
RulingVerdict = Literal["supported", "contradicted", "absent", "unclear"]
"""What the document says about a claim of the summary; `absent` only after all of it was read."""


@dataclass(frozen=True, slots=True)
class PointAnswer:
    """The reviser's answer to a finding."""

    finding: str
    """The finding's id."""
    became: Became = "fixed"
    said: str = ""
    """The quoted words where the sentence was kept; the reason where the point was left."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A second look at a finding. An `overruled` finding is withdrawn from all drafts of the document."""

    document: str
    finding: str
    """The finding's id."""
    verdict: RulingVerdict
    quote: str = ""
    """The quoted words that the verdict rests on, and their place."""
    start: int | None = None
    end: int | None = None
    reason: str = ""
    by: str = ""
    """The judge's name."""
    contested: str = ""
    """The words quoted against the finding; empty where nobody contested it."""
    run: str = ""
    round: int = 0
    """The round of the draft with the finding."""

    @property
    def overruled(self) -> bool:
        """Return whether the ruling withdraws the finding."""
        return self.verdict == "supported" and self.start is not None


@dataclass(frozen=True, slots=True)
class FinalComparison:
    """The final comparison of the first and the best draft."""

    run: str
    first: str
    best: str
    first_won: bool
    reason: str = ""
    """A judge's reason."""
    votes: tuple[int, int, int] = (0, 0, 0)
    """How many votes prefer the first, the best, and neither."""
    document_read: bool = False

    @property
    def said(self) -> str:
        """Return the result for people, with the reason."""
        first, best, neither = self.votes
        wins = "the first draft" if self.first_won else "the best draft" if best > first else "neither"
        votes = f"{first} to {best}, {neither} for neither"
        return f"first and best draft compared: {wins} is preferred ({votes}). {self.reason}".strip()


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a deciding model looked up in the document before its decision, and the result."""

    asked: str
    """The search query or place that the model asked for."""
    found: int
    """The number of passages found."""
    said: str = ""
    """The message to the model where nothing was found or the request was invalid."""
