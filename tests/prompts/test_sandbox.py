"""Templates of strangers end: in time, in size, and in a sentence."""

from __future__ import annotations

import time

import pytest
from jinja2.exceptions import SecurityError

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
]


@pytest.mark.parametrize("source", ENDLESS)
def test_a_template_without_end_is_refused(source: str) -> None:
    begun = time.monotonic()
    with pytest.raises(SecurityError):
        filled(Sandbox().compiled(source), {"text": "x" * 5000})
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{% for a in range(3) %}{{ loop.index }}{% if not loop.last %}, {% endif %}{% endfor %}", "1, 2, 3"),
        ("{{ 3 * 4 }} {{ text ~ '!' }} {{ text|upper }}", "12 ab! AB"),
        ("{% for a in text %}{{ loop.index0 + 1 }}{{ a }}{% else %}none{% endfor %}", "1a2b"),
    ],
)
def test_what_has_an_end_is_filled_in(source: str, text: str) -> None:
    assert filled(Sandbox().compiled(source), {"text": "ab"}) == text
