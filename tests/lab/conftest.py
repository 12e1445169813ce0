"""The fixtures of the pages' tests."""

from tests.pages.conftest import chromium, page

__all__ = ["chromium", "page"]
