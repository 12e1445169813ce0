"""The fixtures of the command line's tests."""

from tests.cli.conftest import command, court

__all__ = ["command", "court"]
