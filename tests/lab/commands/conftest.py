"""The fixtures of the command line's tests."""

from tests.cli.conftest import command, refined_run

__all__ = ["command", "refined_run"]
