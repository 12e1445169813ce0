"""Attacks on the whole of redraft, and one table of what they broke: see `python -m tests.torture --help`."""
