"""Where a page stands alone, its modules are one script: no two of them may give the same name to something."""

from __future__ import annotations

import re

import pytest

from redraft.report.pages.assets import script

_NAMED = re.compile(r"^(?:async )?(?:function\*?|class|const|let) (\w+)", re.MULTILINE)
# `const A = 1, B = 2;`
_DECLARED = re.compile(r"^(?:const|let) .*", re.MULTILINE)
_FURTHER = re.compile(r", (\w+) = ")


@pytest.mark.parametrize("entry", ["dossier.js", "comparison.js", "report.js"])
def test_every_name_is_given_once(entry: str) -> None:
    text = script(entry).text
    names = _NAMED.findall(text) + [name for line in _DECLARED.findall(text) for name in _FURTHER.findall(line)]
    assert len(names) > 1
    assert sorted(names) == sorted(set(names))
