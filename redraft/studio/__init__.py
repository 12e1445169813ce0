"""A guest: pages in the browser and an HTTP API, to start, watch and review runs, and comparisons of runs."""

from __future__ import annotations

from redraft.cli.overview import HelpEntry

COMMANDS = {
    "studio": HelpEntry("redraft.studio.commands:studio", "Start, watch and review runs in the browser.", "Serve"),
    "compare-runs": HelpEntry(
        "redraft.studio.commands:compare_runs", "Compare runs side by side: scores, items, places.", "Runs"
    ),
}
