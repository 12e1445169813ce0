"""Presets: the settings that papers report, for whoever wants figures that can be held beside theirs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from redraft.errors import UsageError
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig

_FILE = "presets.toml"


@dataclass(frozen=True, slots=True)
class Preset:
    """What a paper sets: `Session(settings=one.settings, judging=one.judging, refinement=one.refinement)`."""

    name: str
    settings: DraftConfig = field(default_factory=DraftConfig)
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    refinement: RefineConfig | None = None
    """None where the paper redrafts nothing."""

    @property
    def set_fields(self) -> dict[str, Any]:
        """What it sets by the names of the fields, and nothing that it leaves as it is."""
        parts = (self.settings, self.judging, self.refinement)
        return {name: getattr(part, name) for part in parts if part for name in sorted(part.model_fields_set)}


def preset(name: str) -> Preset:
    """The preset of this name; a `UsageError` for one that there is not, which names those that there are."""
    known = _known()
    if name not in known:
        raise UsageError(f"there is no preset {name!r}", hint=f"there are: {', '.join(known)}")
    return known[name]


def presets() -> tuple[str, ...]:
    """The names of all presets."""
    return tuple(_known())


@cache
def _known() -> dict[str, Preset]:
    written = tomllib.loads(resources.files("redraft").joinpath(_FILE).read_text("utf-8"))
    return {name: _made(name, **parts) for name, parts in written.items()}


def _made(
    name: str,
    *,
    settings: dict[str, Any] | None = None,
    judging: dict[str, Any],
    refinement: dict[str, Any] | None = None,
) -> Preset:
    return Preset(
        name,
        DraftConfig.model_validate(settings or {}),
        JudgeConfig.model_validate(judging),
        RefineConfig.model_validate(refinement) if refinement else None,
    )
