"""Rubrics of the settings file: metrics that a command names like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chatserver import ChatServer
from tests.cli.inside import Inside

TABLE = '[rubrics.plain_tone]\nrequirement = "Written for a reader without legal training"\nlevels = 3\n'
BOOK = "The board met at seven. It was cold. " * 4
