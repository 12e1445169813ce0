"""A guest: pages in the browser and an HTTP API, to start, watch and review runs."""

from __future__ import annotations

from redraft.cli.overview import HelpEntry

COMMANDS = {
    "studio": HelpEntry("redraft.studio.commands:studio", "Start, watch and review runs in the browser.", "Serve")
}
