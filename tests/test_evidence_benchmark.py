"""The benchmark of evidence, on a small set of claims made here."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.evidence import readings_in, report, rows_of

_COUNT = 12


def _folder(folder: Path, quote: str) -> Path:
    lines = [f"The keeper of station {n} is called Tom{n} and burns {n + 3} barrels of oil a year." for n in range(200)]
    (folder / "keepers.txt").write_text("\n\n".join(lines), "utf-8")
    claims = [
        {
            "question": f"What is the keeper of station {n} called?",
            "answer": f"Tom{n}",
            "sentence": f"Station {n} is kept by Tom{n}.",
            "false_answer": "Ann",
            "false_sentence": f"Station {n} is kept by Ann.",
            "quotes": [quote.format(n=n)],
        }
        for n in range(3, 3 + _COUNT)
    ]
    (folder / "keepers.claims.jsonl").write_text("\n".join(map(json.dumps, claims)), "utf-8")
    return folder


async def test_true_claims_stand_false_ones_are_found(tmp_path: Path) -> None:
    rows = await rows_of(readings_in(_folder(tmp_path, "station {n} is called Tom{n}")), (4_000, 64_000))

    assert all((row.accused, row.found, row.undecided) == (0, _COUNT, 0) for *_, row, _ in rows)
    assert report(rows)


async def test_claim_without_its_quote_misses_the_bound(tmp_path: Path) -> None:
    rows = await rows_of(readings_in(_folder(tmp_path, "station {n} is called Bob")), (64_000,))

    assert all(row.accused == _COUNT for *_, row, _ in rows)
    assert not report(rows)
