"""Markdown of records: what the terminal prints, `export` writes, and tools return."""
