"""Presets: the settings of papers, for results that can be compared with theirs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from redraft.domain import adapter_of
from redraft.errors import UsageError
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig

_FILE = "presets.toml"


@dataclass(frozen=True, slots=True)
class Preset:
    """The settings of a paper: `Session(settings=one.settings, judging=one.judging, refinement=one.refinement)`."""

    name: str
    settings: DraftConfig = field(default_factory=DraftConfig)
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    refinement: RefineConfig | None = None
    """None where the paper does not refine."""
    experiment: Mapping[str, Any] = field(default_factory=dict)
    """Options of the paper's own experiment, by the names of their parameters."""

    @property
    def set_fields(self) -> dict[str, Any]:
        """Return the fields that it sets, by name."""
        parts = (self.settings, self.judging, self.refinement)
        return {name: getattr(part, name) for part in parts if part for name in sorted(part.model_fields_set)}


def preset(name: str) -> Preset:
    """Return the preset of this name; raises `UsageError` for an unknown one, listing the known."""
    by_name = presets()
    if name not in by_name:
        raise UsageError(f"there is no preset {name!r}", hint=f"choose from: {', '.join(by_name)}")
    return by_name[name]


@cache
def presets() -> dict[str, Preset]:
    """Return all presets by name."""
    written = tomllib.loads(resources.files("redraft").joinpath(_FILE).read_text("utf-8"))
    return {name: adapter_of(Preset).validate_python({"name": name, **parts}) for name, parts in written.items()}
