"""Styles and scripts: those that the package has, by their names, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from redraft.pages.assets import static

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class _File(NamedTuple):
    content: bytes
    kind: str
    mark: str


@cache
def _files() -> dict[str, _File]:
    """All there are, read once: an address is looked up among their names, and is never a path."""
    found = dict(_found(files("redraft.pages") / "static", ""))
    # What pictures need is no file: it is made where they are.
    return found | {"plots.css": _file(static("plots.css").encode(), _TYPES["css"])}


def _file(content: bytes, kind: str) -> _File:
    return _File(content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"')


def _found(folder: Traversable, before: str) -> Iterator[tuple[str, _File]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _found(one, f"{before}{one.name}/")
        elif (kind := _TYPES.get(one.name.rpartition(".")[2])) is not None:
            yield f"{before}{one.name}", _file(one.read_bytes(), kind)


async def static_file(request: Request) -> Response:
    """A style or a script."""
    found = _files().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    headers = {"etag": found.mark, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == found.mark:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.kind, headers=headers)


def load_files() -> None:
    """Read them, before there is an event loop that would have to wait."""
    _files()
