"""The commands: each parses what it is given, calls the library, and hands the outcome to a view."""
