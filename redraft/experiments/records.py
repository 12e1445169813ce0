"""What the records of all experiments have in common: how far each came, what it used, and why it is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Protocol

from redraft.domain import Totals
from redraft.runs.failures import Failure


class HasStatus(Protocol):
    """A record that is `done`, has `failed`, or was `not made`."""

    @property
    def status(self) -> str:
        """Which of the three."""


def status_of(failure: Failure | None, *, done: bool) -> str:
    """Whether something is `done`, has `failed`, or was `not made`."""
    return "failed" if failure is not None else "done" if done else "not made"


def by_status(records: Iterable[HasStatus]) -> str:
    """How many of some records are done, have failed, and were not made."""
    found = Counter(one.status for one in records)
    return ", ".join(f"{found[status]} {status}" for status in ("done", "failed", "not made"))


def usage_json(used: Totals | None) -> dict[str, object] | None:
    """What was used, but for the time, which is another on every machine."""
    return {name: value for name, value in asdict(used).items() if name != "seconds"} if used else None


def usages_json(used: Mapping[str, Totals]) -> dict[str, object]:
    """What was used, by stage."""
    return {stage: usage_json(one) for stage, one in used.items()}


def failure_json(failure: Failure | None) -> dict[str, str] | None:
    """Why something is missing, where it is."""
    return asdict(failure) if failure else None


def failed(failure: Failure) -> tuple[str, str, str]:
    """The cells of a failure: its stage, code and message."""
    return (failure.stage, failure.code, failure.message)
