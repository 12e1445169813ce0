"""The fixtures of the studio's tests."""

from tests.studio.conftest import at, chrome, client

__all__ = ["at", "chrome", "client"]
