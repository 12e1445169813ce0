"""Files that take too much when they are read as they ask for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


def bomb(fan: int) -> bytes:
    """A PDF file with a form that holds itself, so many times."""
    form = b"BT /F 12 Tf 20 20 Td (word) Tj ET " + b"/X Do " * fan
    resources = b"/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R" + resources + b">>",
        b"<</Length 5>>\nstream\n/X Do\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/XObject/Subtype/Form/BBox[0 0 300 300]%s/Length %d>>\nstream\n%s\nendstream"
        % (resources, len(form), form),
    ]
    data, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % at for at in places)
    end = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(data))
    return bytes(data) + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


@pytest.mark.nightly
def test_self_nested_forms_stay_under_a_gigabyte(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(bomb(2))
    command = [sys.executable, "-c", _READ_IN_FRESH_PROCESS, str(tmp_path / "a.pdf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 1_000_000
