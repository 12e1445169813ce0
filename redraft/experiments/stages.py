"""The stages that experiments have in common, and what each of them used."""

from __future__ import annotations

from dataclasses import asdict

from redraft.domain import Totals

DRAFTING, JUDGING = "drafting", "judging"


def usage_json(used: Totals | None) -> dict[str, object] | None:
    """What was used, but for the time, which is another on every machine."""
    return {name: value for name, value in asdict(used).items() if name != "seconds"} if used else None
