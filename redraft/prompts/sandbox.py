"""Renders templates with limits on steps and size, so that a stranger's template can neither run nor
grow without end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, Template, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from typing_extensions import override

MAX_STEPS = 1_000_000
"""The most iterations, calls and filters of a template."""
MAX_CHARACTERS = 64_000_000
"""The most characters of the text, including intermediate ones."""
MAX_SECONDS = 8.0
LONGEST_SOURCE = 200_000
_LARGEST = 10**9
# Operations that make long texts of short ones, or of a number.
_GROWING = frozenset(
    {"center", "ljust", "rjust", "zfill", "expandtabs", "replace", "join", "translate", "format", "to_bytes"}
)
_FILTERS = ("center", "format", "indent", "wordwrap", "urlize", "xmlattr", "pprint", "slice", "batch", "random")
_MORE_FILTERS = ("round", "sum", "tojson")
_CONTAINERS = (list, tuple, dict, set, frozenset)


@dataclass(slots=True)
class _TemplateCost:
    """What a template has used so far."""

    steps: int = 0
    characters: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise SecurityError(f"it goes on for more than {MAX_STEPS:,} steps")
        if time.monotonic() > self.until:
            raise SecurityError(f"it takes more than {MAX_SECONDS:g} s")

    def put(self, size: int) -> None:
        self.characters += size
        _check(self.characters)


_spent: ContextVar[_TemplateCost] = ContextVar("spent")


@contextmanager
def _counting() -> Iterator[None]:
    before = _spent.set(_TemplateCost())
    try:
        yield
    finally:
        _spent.reset(before)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with counted steps and measured texts."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False)
        for name in (*_FILTERS, *_MORE_FILTERS):
            del self.filters[name]
        del self.globals["lipsum"]
        self.filters |= {"replace": _replaced, "join": _joined}
        self.filters = {name: _stepping(one) for name, one in self.filters.items()}
        self.filters |= {"redraft_counted": _counted, "redraft_measured": _measured, "redraft_put": _put}

    @override
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        grows = isinstance(obj, (str, bytes, int)) and attr.removesuffix("_map") in _GROWING
        return not grows and bool(super().is_safe_attribute(obj, attr, value))

    @override
    def wrap_str_format(self, value: Any) -> Any:
        if super().wrap_str_format(value) is not None:
            raise SecurityError("a template may not fill in a text by format")
        return None

    @override
    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        _spent.get().step()
        if isinstance(obj, LoopContext):
            # The inner loop has values of its own.
            args = tuple(_counted(arg) for arg in args)
        elif obj is Namespace:
            _measured([*args, *kwargs.values()])
        return _measured(super().call(context, obj, *args, **kwargs))

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
        """Return the template with counting and measuring added."""
        if len(source) > LONGEST_SOURCE:
            raise SecurityError(f"it has more than {LONGEST_SOURCE:,} characters")
        tree = self.parse(source)
        for loop in tree.find_all(nodes.For):
            loop.iter = _through("redraft_counted", loop.iter)
        for output in tree.find_all(nodes.Output):
            output.nodes = [_through("redraft_put", node) for node in output.nodes]
        for set_ in tree.find_all(nodes.Assign):
            if isinstance(set_.target, nodes.NSRef):
                # A cyclic value has no end.
                set_.node = _through("redraft_measured", nodes.List([set_.node], lineno=set_.lineno))
                set_.node = nodes.Getitem(set_.node, nodes.Const(0), "load", lineno=set_.lineno)
        _measure(tree)
        # It accepts a tree as well, although it is not declared.
        given: Any = tree
        with _counting():
            return self.from_string(given)


def _measure(node: nodes.Node) -> None:
    """Measure concatenated and joined texts as they are made."""
    for name, value in [*node.iter_fields()]:
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, nodes.Node):
                _measure(child)
        if isinstance(value, list):
            setattr(node, name, [_measuring(one) for one in value])
        else:
            setattr(node, name, _measuring(value))


def _measuring(node: Any) -> Any:
    made = isinstance(node, (nodes.Concat, nodes.List, nodes.Dict)) or (
        isinstance(node, nodes.Tuple) and node.ctx == "load"
    )
    return _through("redraft_measured", node) if made else node


def _through(name: str, node: Any) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _stepping(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter whose uses are counted and results measured."""

    @wraps(work)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        _spent.get().step()
        return _measured(work(*args, **kwargs))

    return filtered


def _counted(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _spent.get().step()
        yield value


def _measured(value: Any) -> Any:
    """Return the value, if neither it nor its parts exceed the limit."""
    if isinstance(value, (str, bytes)):
        _check(len(value))
    elif isinstance(value, _CONTAINERS):
        spent, size, left = _spent.get(), 0, [value]
        while left:
            one = left.pop()
            spent.step()
            _check(size := size + len(one))
            for held in [*one.keys(), *one.values()] if isinstance(one, dict) else one:
                if isinstance(held, Namespace):
                    raise SecurityError("a template may not hold a namespace within something else")
                if isinstance(held, (str, bytes)):
                    size += len(held)
                elif isinstance(held, _CONTAINERS):
                    left.append(held)
    return value


@pass_context
def _put(_: Any, value: Any) -> str:
    """Return the output of an expression as text."""
    text = str(_measured(value))
    _spent.get().put(len(text))
    return text


def _check(size: int) -> None:
    if size > MAX_CHARACTERS:
        raise SecurityError(f"it makes a text of more than {MAX_CHARACTERS:,} characters")


def _replaced(text: Any, old: str, new: str, count: int = -1) -> str:
    text, old, new = str(text), str(old), str(new)
    found = text.count(old)
    _check(len(text) + len(new) * (min(found, count) if count >= 0 else found))
    return str(text.replace(old, new, count))


def _joined(values: Iterable[Any], between: str = "") -> str:
    between, parts, size = str(between), [], 0
    for value in _counted(values):
        parts.append(str(_measured(value)))
        _check(size := size + len(parts[-1]) + len(between))
    return between.join(parts)


def filled(template: Template, values: Mapping[str, object]) -> str:
    """Return the rendered text of a template, within the limits."""
    with _counting():
        return "".join(template.generate(dict(values)))
