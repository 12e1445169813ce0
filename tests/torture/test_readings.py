"""Damaged files: 100 tries of all kinds, some known cases, and that the harness notices what is lost."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from redraft.readers import formats, markup
from redraft.readers.documents import load_bytes
from tests.torture.readings import KINDS, tried, tries, written

LINE = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen."


@pytest.mark.nightly
def test_no_text_is_lost_without_a_word() -> None:
    attempts = [(name, number, attempt) for name, number, attempt in tries(100, 1)]
    assert [f"{name} #{number}: {attempt.wrong}" for name, number, attempt in attempts if attempt.wrong] == []
    ended = Counter(attempt.ending for _, _, attempt in attempts)
    assert ended["read"] > 70
    assert ended["refused"] > 0


def test_tries_notice_a_parser_dropping_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "_PAGE_END", re.compile("<p>.*"))
    wrong = [tried(KINDS["stray tags"][0](random.Random(f"a {n}"))).wrong for n in range(20)]
    assert any("are missing, and nothing is said" in message for message in wrong)


@pytest.mark.nightly
def test_six_thousand_open_paragraphs_are_read() -> None:
    for around in ("<p><font>{}", "<p><font>{}</p>", "<div><font>{}"):
        page = "<html><body>" + "\n".join(around.format(LINE) for _ in range(6_000)) + "</body></html>"
        assert len(formats.read("html", page.encode(), "a.html").text.split()) == 84_000


def test_text_after_the_pages_end_is_read() -> None:
    page = f"<!DOCTYPE html><html><head><title>T</title></head><body><main><p>{LINE * 3}</p></main></body></html>\n"
    assert load_bytes(page.encode() * 5 + b"<p>And more.", "a.html").text.count("fourteen") == 15


def bomb(fan: int) -> bytes:
    """A PDF file with a form that holds itself, so many times."""
    form = b"BT /F 12 Tf 20 20 Td (word) Tj ET " + b"/X Do " * fan
    page = b"/X Do"
    resources = b"/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>"
    return written(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R" + resources + b">>",
            b"<</Length %d>>\nstream\n%s\nendstream" % (len(page), page),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            b"<</Type/XObject/Subtype/Form/BBox[0 0 300 300]%s/Length %d>>\nstream\n%s\nendstream"
            % (resources, len(form), form),
        ]
    )


# In a process of its own: the most that any child of this one has taken says nothing about this one child.
_READ_IN_FRESH_PROCESS = """
import resource, sys
from pathlib import Path
from redraft.errors import DocumentError
from redraft.readers.documents import read_in_subprocess
try:
    read_in_subprocess("pdf", Path(sys.argv[1]).read_bytes(), "a.pdf")
except DocumentError:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.nightly
def test_self_nested_forms_stay_under_a_gigabyte(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(bomb(2))
    command = [sys.executable, "-c", _READ_IN_FRESH_PROCESS, str(tmp_path / "a.pdf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 1_000_000
