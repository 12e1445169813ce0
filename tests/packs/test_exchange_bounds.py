"""A file that anybody may have written costs neither much memory nor much time, whatever is in it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redraft import Store
from redraft.errors import PackError
from redraft.evaluators.reference.exchange import import_pack
from redraft.readers.documents import parse

SIZE = 30_000_000
LARGE: dict[str, Callable[[], bytes]] = {
    "objects": lambda: b"[" + b"{}," * (SIZE // 3) + b"{}]",
    "numbers": lambda: b'{"format":"redraft-pack","x":[' + b"0," * (SIZE // 2) + b"0]}",
    "levels": lambda: b"[" * SIZE,
}
_IMPORT = """
import resource, sys
from redraft import Store
from redraft.errors import PackError
from redraft.evaluators.reference.exchange import import_pack
data = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    import_pack(Store(sys.argv[1]), data, None, "pack.json")
except PackError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", LARGE)
def test_a_large_file_takes_little_more_than_itself(tmp_path: Path, kind: str) -> None:
    began = time.monotonic()
    told = subprocess.run(
        [sys.executable, "-c", _IMPORT, str(tmp_path / "x.db")], input=LARGE[kind](), capture_output=True, check=True
    ).stdout.decode()
    refused, used = told.splitlines()
    assert "the file has too many parts for a pack" in refused
    assert int(used) < 2 * SIZE
    assert time.monotonic() - began < 20


def pack(document: str, **parts: Any) -> bytes:
    shown = {"format": "redraft-pack", "version": 3, "id": None, "document": {"id": document, "title": "Light"}}
    return json.dumps({**shown, "model": None, "prompt_hashes": {}, "questions": [], **parts}).encode()


@pytest.mark.slow
def test_another_document_is_told_before_anything_else_is_looked_into(tmp_path: Path) -> None:
    document = parse(b"The keeper lit the lamp.", name="x.txt")
    with Store(tmp_path / "x.db") as store:
        spoiled = pack("0" * 64, questions=[{"rank": "no rank"}] * 100_000)
        with pytest.raises(PackError, match="'Light', is not in this database"):
            import_pack(store, spoiled, None, "pack.json")
        with pytest.raises(PackError, match="about another document, 'Light'"):
            import_pack(store, spoiled, document, "pack.json")
        with pytest.raises(PackError, match=r"this is not a pack: questions\.0\.rank"):
            import_pack(store, spoiled.replace(b"0" * 64, document.id.encode()), document, "pack.json")


def test_evidence_without_places_is_not_looked_for_all_day(tmp_path: Path) -> None:
    document = parse((b"a" * 40 + b" b") * 50_000, name="x.txt")
    length = len(document.text)

    def fact(number: int) -> dict[str, Any]:
        evidence = {"text": document.text[-20 - number % 20 :], "span": None}
        return {"id": number, "level": "root", "parent": None, "fact": "Light.", "evidence": evidence, "pruned": []}

    tree = {"perspective": "narrative", "query": "", "facts": [fact(number) for number in range(1, 1_001)]}
    trees = [{**tree, "chunk": at, "span": [at, at + 1], "position": (at + 0.5) / length} for at in range(5)]
    facts = {"id": "x", "builder": "b", "validator": "v", "prompt_hashes": {}, "trees": trees, "missing": []}
    with Store(tmp_path / "x.db") as store, pytest.raises(PackError, match="5,000 pieces of evidence without their"):
        import_pack(store, pack(document.id, keyfacts=facts), document, "pack.json")
