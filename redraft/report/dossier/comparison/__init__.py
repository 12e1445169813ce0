"""Runs beside each other: of one document item by item, of several documents pair by pair."""
