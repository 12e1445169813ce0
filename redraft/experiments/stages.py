"""The stages that experiments have in common."""

from __future__ import annotations

DRAFTING, JUDGING = "drafting", "judging"
