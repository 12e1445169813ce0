"""A guest: experiments of the papers, agreement of judges with people, the doctor, and public data sets."""

from __future__ import annotations

from redraft.cli.overview import HelpEntry

COMMANDS = {
    "experiment": HelpEntry(
        "redraft.lab.commands.experiment:experiment",
        "Compare models and settings; run the papers' experiments.",
        "Research",
    ),
    "agree": HelpEntry("redraft.lab.commands.agree:agree", "Measure how far judges agree with people.", "Judges"),
    "data": HelpEntry("redraft.lab.commands.experiment:data", "Describe and convert public data sets.", "Research"),
    "doctor": HelpEntry("redraft.lab.commands.agree:doctor", "Test a judge on summaries with known faults.", "Judges"),
}
