"""Comparison of runs: item by item for one document, pair by pair for several."""
