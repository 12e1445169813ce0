"""Templates of strangers end: in time, in size, and in a sentence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from jinja2.exceptions import SecurityError

from redraft.errors import PromptError
from redraft.prompts.book import PromptBook
from redraft.prompts.sandbox import Sandbox, filled

ENDLESS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in text %}{% for b in text %}{% for c in text %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in range(90000) %}{{ text }}{% endfor %}",
    "{% set n = namespace(x=text) %}{% for a in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "{% set n = namespace(x=text) %}{% for a in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "{{ 'x' * 10 ** 10 }}",
    "{{ text * 1000000 }}",
    "{{ 9 ** 99 ** 9 }}",
    "{{ '%9999999999d' % 1 }}",
    "{{ 'x'.ljust(9999999999) }}",
    "{{ text.replace('', text) }}",
    "{{ '{:>9999999999}'.format(1) }}",
    # Macros and blocks that call themselves twice, and loops that go on within themselves.
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{% macro f(n) %}{% for a in range(9) %}{% if n %}{{ f(n - 1) }}{% endif %}{% endfor %}{% endmacro %}{{ f(50) }}",
    "{% set n = namespace(d=0) %}{% block b %}{% set n = n %}{% endblock %}"
    "{% macro g(d) %}{% if d < 40 %}{% call h(d) %}{{ g(d + 1) }}{% endcall %}{% endif %}{% endmacro %}"
    "{% macro h(d) %}{{ caller() }}{{ caller() }}{% endmacro %}{{ g(0) }}",
    "{% for a in range(99) recursive %}{% if loop.depth < 9 %}{{ loop(range(99)) }}{% endif %}{% endfor %}",
    "{% for a in [1] recursive %}{{ loop([a]) }}{% endfor %}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    # What grows without being shown.
    "{% set x %}{% for a in range(90000) %}{{ text }}{% endfor %}{% endset %}",
    "{% macro m() %}{% for a in range(90000) %}{{ text }}{% endfor %}{% endmacro %}{{ m()|length }}",
    "{% set n = namespace(x=text) %}{% for a in range(60) %}{% set n.x = (n.x ~ n.x)|upper %}{% endfor %}",
    "{% set n = namespace(x=text) %}{% for a in range(60) %}{% set n.x = [n.x, n.x]|string %}{% endfor %}",
    "{% set n = namespace(x=1) %}{% for a in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
    "{% set n = namespace(x=1) %}{% for a in range(60) %}{% set n.x = (n.x, n.x) %}{% endfor %}{{ n.x == n.x }}",
    "{% set n = namespace(x=1) %}{% for a in range(60) %}{% set n.x = dict(a=n.x, b=n.x) %}{% endfor %}{{ n.x }}",
    "{% set a = namespace() %}{% set b = namespace() %}{% set a.x = [b, b] %}{{ a.x }}",
    "{% set a = namespace() %}{% set b = namespace() %}{% set a.x = b %}{{ a.x }}",
    "{% set n = namespace(x='\"') %}{% for a in range(60) %}{% set n.x = [n.x]|string %}{% endfor %}",
    "{% set l = [] %}{% for a in range(60) %}{{ l.append(l) }}{% endfor %}",
    "{{ text|replace('', text)|replace('', text) }}",
    "{{ range(90000)|join(text) }}",
    "{{ [text]|map('replace', '', text)|map('replace', '', text)|list }}",
    "{{ (1).to_bytes(9999999999, 'big') }}",
    "{% for a in range(90000) %}{{ text|replace('', 'x')|replace('x', 'yy')|replace('y', 'x')|length }}{% endfor %}",
]


@pytest.mark.parametrize("source", ENDLESS)
def test_a_template_without_end_is_refused(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.prompts.sandbox.MOST_SECONDS", 0.1)
    begun = time.monotonic()
    with pytest.raises((SecurityError, RecursionError)):
        filled(Sandbox().compiled(source), {"text": "x" * 5000})
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    "source",
    [
        "{{ '" + "x" * 300_000 + "' }}",
        "{{ lipsum(99999) }}",
        "{{ [[1]]|sum(start=[]) }}",
        "{{ 1.5|round(999999999, 'ceil') }}",
        "{{ [1]|tojson(indent=999999999) }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{% if 1 %}" * 150 + "{% endif %}" * 150,
        "{{ '%s' " + "~ 1" * 3000 + " }}",
    ],
)
def test_a_template_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, source: str) -> None:
    (tmp_path / "merge.md").write_text(source, "utf-8")
    begun = time.monotonic()
    with pytest.raises(PromptError, match="merge"):
        PromptBook(str(tmp_path))
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% for a in range(3) %}{{ loop.index }}{% if not loop.last %}, {% endif %}{% endfor %}", "1, 2, 3"),
        ("{{ 3 * 4 }} {{ text ~ '!' }} {{ text|upper }}", "12 ab! AB"),
        (
            "{% macro m(a) %}<{{ a }}{{ caller() }}>{% endmacro %}"
            "{% call m(text) %}!{% endcall %}{% set x %}{% call m(1) %}{% endcall %}{% endset %}{{ x }}",
            "<ab!><1>",
        ),
        (
            "{% for a in [[1, [2, 3]], [4, []]] recursive %}{{ a[0] if a is sequence else a }}"
            "{% if a is sequence and a[1] %}{{ loop(a[1]) }}{% endif %}{% endfor %}",
            "1234",
        ),
        (
            "{% set n = namespace(i=0, l=[]) %}{% for a in text %}{% set n.i = n.i + 1 %}{% set n.l = n.l + [a] %}"
            "{% endfor %}{{ n.i }} {{ n.l|join('-') }} {{ {'a': 1}['a'] }} {{ text|replace('a', 'c') }}",
            "2 a-b 1 cb",
        ),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{% set a, b = 1, 2 %}{{ b }}", "a12"),
        ("{% for a in text %}{{ loop.index0 + 1 }}{{ a }}{% else %}none{% endfor %}", "1a2b"),
    ],
)
def test_what_has_an_end_is_filled_in(source: str, text: str) -> None:
    assert filled(Sandbox().compiled(source), {"text": "ab"}) == text
