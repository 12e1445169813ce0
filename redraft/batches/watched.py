"""A worker of which spans are sent: the only one that needs OpenTelemetry, which is an extra."""

from __future__ import annotations

from redraft.batches import child
from redraft.telemetry.spans import sending


def main() -> None:
    """Work as the first line says, and send spans of it."""
    child.main(sending)
