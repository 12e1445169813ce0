"""Where templates are filled in: a stranger's may say what it likes, and neither runs on nor grows without end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from jinja2 import StrictUndefined, Template, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment
from typing_extensions import override

MOST_STEPS = 1_000_000
"""How often the loops of a template may be gone through in all."""
MOST_CHARACTERS = 64_000_000
"""How long the text may become, and any part of it."""
_LARGEST = 10**9
# What makes a text of any length out of a short one.
_GROWING = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs", "replace", "join", "translate", "format"})
_FILTERS = ("center", "format", "indent", "wordwrap", "urlize", "xmlattr", "pprint", "slice", "batch", "random")
_steps: ContextVar[int] = ContextVar("steps", default=0)


class Sandbox(SandboxedEnvironment):
    """Jinja's sandbox, whose loops are counted and whose texts are measured."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False)
        for name in _FILTERS:
            del self.filters[name]
        self.filters |= {"redraft_counted": _counted, "redraft_measured": _measured}

    @override
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        grows = isinstance(obj, (str, bytes)) and attr.removesuffix("_map") in _GROWING
        return not grows and bool(super().is_safe_attribute(obj, attr, value))

    @override
    def wrap_str_format(self, value: Any) -> Any:
        if super().wrap_str_format(value) is not None:
            raise SecurityError("a template may not fill in a text by format")
        return None

    @override
    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        plain = (int, float)
        if operator == "+":
            return _measured(super().call_binop(context, operator, left, right))
        if operator == "%" and not isinstance(left, plain):
            raise SecurityError("a template may not fill in a text by %")
        if not all(isinstance(one, plain) and abs(one) <= _LARGEST for one in (left, right)):
            raise SecurityError(f"a template may multiply small numbers alone, by {operator}")
        if operator == "**" and abs(right) > 100:
            raise SecurityError("a template may not have such large numbers")
        return super().call_binop(context, operator, left, right)

    def compiled(self, source: str) -> Template:
        """The template, with all its loops counted and all that it joins measured."""
        tree = self.parse(source)
        for loop in tree.find_all(nodes.For):
            loop.iter = _through("redraft_counted", loop.iter)
        for node in [*tree.find_all(nodes.Assign), *tree.find_all(nodes.Output)]:
            _measure(node)
        # It takes a tree as well, though it does not say so.
        given: Any = tree
        return self.from_string(given)


def _measure(node: nodes.Node) -> None:
    """Have each text that is joined within a statement measured as it is made."""
    if isinstance(node, nodes.Assign) and isinstance(node.node, nodes.Concat):
        node.node = _through("redraft_measured", node.node)
    elif isinstance(node, nodes.Output):
        node.nodes = [_through("redraft_measured", one) if isinstance(one, nodes.Concat) else one for one in node.nodes]


def _through(name: str, node: Any) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _counted(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _steps.set(_steps.get() + 1)
        if _steps.get() > MOST_STEPS:
            raise SecurityError(f"its loops go on for more than {MOST_STEPS:,} steps")
        yield value


def _measured(value: Any) -> Any:
    if isinstance(value, (str, list, tuple)) and len(value) > MOST_CHARACTERS:
        raise SecurityError(f"it makes a text of more than {MOST_CHARACTERS:,} characters")
    return value


def filled(template: Template, values: Mapping[str, object]) -> str:
    """The text of a template, within the limits."""
    before = _steps.set(0)
    parts, size = [], 0
    try:
        for part in template.generate(dict(values)):
            size += len(part)
            if size > MOST_CHARACTERS:
                raise SecurityError(f"it makes a text of more than {MOST_CHARACTERS:,} characters")
            parts.append(part)
    finally:
        _steps.reset(before)
    return "".join(parts)
