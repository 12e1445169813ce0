"""What the documentation shows runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.command import Command
from tests.support import SAMPLE

ROOT = SAMPLE.parent.parent


def test_the_example_of_embedding(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "embed.py")],
        env=Command(tmp_path).environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Hester" in done.stdout
    assert "The Salt Ledger" in done.stderr


def test_the_example_of_refining(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "refine.py")],
        env=Command(tmp_path).environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "round 1, for coverage: taken" in done.stderr
    assert len(done.stdout.split()) <= 250


def test_the_python_of_the_readme(tmp_path: Path) -> None:
    program = (ROOT / "README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "book.txt").write_text(SAMPLE.read_text("utf-8"), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=Command(tmp_path).environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "Hester" in done.stdout
