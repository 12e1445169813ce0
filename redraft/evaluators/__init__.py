"""Metrics: how much of a document a summary covers, and how much of what it says is true."""
