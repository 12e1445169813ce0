"""Installed packages that are none: what they offer, and their modules, where Python looks for them."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from redraft import plugins
from tests.support import SAMPLE

Offered = Mapping[str, Mapping[str, str]]
EXAMPLE = SAMPLE.parent / "plugin"


def offered_by_the_example() -> Offered:
    """The entry points of `examples/plugin`."""
    with (EXAMPLE / "pyproject.toml").open("rb") as file:
        points: Offered = tomllib.load(file)["project"]["entry-points"]
    return points


def package(folder: Path, offered: Offered, name: str = "wordy", modules: Mapping[str, str] | None = None) -> Path:
    """Write what pip would write of a package; returns the directory that belongs on the path."""
    facts = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    groups = (
        f"[{group}]\n" + "".join(f"{key} = {at}\n" for key, at in points.items()) for group, points in offered.items()
    )
    (facts / "entry_points.txt").write_text("\n".join(groups), "utf-8")
    for module, source in (modules or {}).items():
        (folder / f"{module}.py").write_text(source, "utf-8")
    return folder


@contextmanager
def installed(*paths: Path) -> Iterator[None]:
    """As long as this lasts, what is in these directories is installed."""
    before, modules = list(sys.path), set(sys.modules)
    sys.path[:0] = map(str, paths)
    _forget()
    try:
        yield
    finally:
        sys.path[:] = before
        _forget()
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(tuple(map(str, paths))):
                del sys.modules[name]


def _forget() -> None:
    importlib.invalidate_caches()
    plugins.names.cache_clear()
    plugins.load.cache_clear()
