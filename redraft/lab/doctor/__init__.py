"""Controls for judges: summaries for which the right verdict is known, and whether a judge reaches it."""
