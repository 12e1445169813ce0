"""The sentence with which a run's page begins; and a page's modules are one script, in which no name stands twice."""

from __future__ import annotations

import re

from redraft.report.pages.formatting import capitalized, script


def test_sentences_are_capitalized_but_no_file_names() -> None:
    assert capitalized("left out: its contents") == "Left out: its contents"
    named = ["toc.txt: left out: its contents", "my notes.md: no such file", "a.md has the same text as b.md"]
    for text in (*named, "http://127.0.0.1:8080/v1 refused the key", ""):
        assert capitalized(text) == text


_NAMED = re.compile(r"^(?:async )?(?:function\*?|class|const|let) (\w+)", re.MULTILINE)
# `const A = 1, B = 2;`
_DECLARED = re.compile(r"^(?:const|let) .*", re.MULTILINE)
_FURTHER = re.compile(r", (\w+) = ")


def test_every_name_is_given_once() -> None:
    for entry in ("dossier.js", "comparison.js", "report.js"):
        text = script(entry)
        names = _NAMED.findall(text) + [name for line in _DECLARED.findall(text) for name in _FURTHER.findall(line)]
        assert len(names) > 1
        assert sorted(names) == sorted(set(names)), entry
