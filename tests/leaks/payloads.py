"""Rows of checkpoints as a stranger would write them: each of them makes a directory where it is executed."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import ormsgpack

# The codes of extensions that LangGraph's serializer executes, and those that it does not, or has none for.
EXECUTED, OTHERS = (0, 1, 2, 4, 5, 7), (3, 6, 42, 127)
NAMES = (*(f"extension {code}" for code in (*EXECUTED, *OTHERS)), "nested", "constructor", "pickle")
LIVE = {*(f"extension {code}" for code in EXECUTED), "nested"}


class _Pickled:
    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> tuple[object, ...]:
        return Path.mkdir, (self._place,)


def payload(name: str, place: Path) -> tuple[str, bytes]:
    """The form and the bytes of a row that makes a directory at that place."""
    if name == "pickle":
        return "pickle", pickle.dumps(_Pickled(place))
    if name == "constructor":
        call = {"lc": 2, "type": "constructor", "id": ["os", "mkdir"], "args": [str(place)]}
        return "json", json.dumps({"channel_values": call}).encode()
    if name == "nested":
        return "msgpack", ormsgpack.packb({"v": 4, "channel_values": {"run": [_extension(1, place)]}})
    return "msgpack", ormsgpack.packb(_extension(int(name.split()[1]), place))


def _extension(code: int, place: Path) -> ormsgpack.Ext:
    path = str(place)
    match code:
        case 1:
            call: tuple[object, ...] = ("os", "mkdir", [path])
        case 2 | 4 | 5:
            call = ("os", "mkdir", {"path": path}, "model_validate_json")
        case 3:
            call = ("shutil", "os", path, "mkdir")
        case 7:
            return ormsgpack.Ext(7, ormsgpack.packb(_extension(0, place)))
        case _:
            call = ("os", "mkdir", path)
    return ormsgpack.Ext(code, ormsgpack.packb(call))
