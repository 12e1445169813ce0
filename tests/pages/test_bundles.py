"""Where a page stands alone, its modules are one script: no two of them may give the same name to something."""

from __future__ import annotations

import re

import pytest

from redraft.report.pages.assets import script

_NAMED = re.compile(r"^(?:async )?(?:function\*?|class|const|let) (\w+)", re.MULTILINE)


@pytest.mark.parametrize("entry", ["dossier.js", "comparison.js", "report.js"])
def test_every_name_is_given_once(entry: str) -> None:
    names = _NAMED.findall(script(entry).text)
    assert len(names) > 1
    assert sorted(names) == sorted(set(names))
