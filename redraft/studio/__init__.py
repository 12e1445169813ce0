"""A guest: servers, which are pages in the browser, an HTTP API and an MCP server; and comparisons of runs."""

from __future__ import annotations

from redraft.cli.overview import HelpEntry

COMMANDS = {
    "studio": HelpEntry("redraft.studio.commands:studio", "Start, watch and review runs in the browser.", "Serve"),
    "mcp": HelpEntry("redraft.studio.commands:mcp", "Let agents start and read runs, as an MCP server.", "Serve"),
    "compare-runs": HelpEntry(
        "redraft.studio.commands:compare_runs", "Compare runs side by side: scores, items, places.", "Runs"
    ),
}
