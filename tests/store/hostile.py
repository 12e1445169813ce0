"""Records with hostile texts, and how the store gives them back."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from redraft.domain import Evaluation, Evidence, Finding, Outcome, Span, Task
from tests.store.support import as_stored
from tests.text.hostile import raw_texts

hostile = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
_counter = itertools.count()


def unused() -> str:
    return f"name-{next(_counter)}"


def stored(value: Any) -> Any:
    if isinstance(value, str):
        return as_stored(value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(stored, value))
    if isinstance(value, list):
        return list(map(stored, value))
    if isinstance(value, Mapping):
        return {as_stored(name): stored(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{part.name: stored(getattr(value, part.name)) for part in fields(value) if part.init})
    return value


# Half surrogate pairs and NULs are what a database minds most, and too rare among all that is hostile.
texts = raw_texts | st.lists(st.sampled_from(["\ud800", "\udce9", "\x00", "\x1b", "\U0001f600", "so. "])).map("".join)
numbers = st.integers(0, 2**63 - 1)
_shares = st.floats(0, 1)
_evidence = st.builds(Evidence, texts, st.none() | st.builds(Span, numbers, numbers))
_json = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | texts,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(texts, values, max_size=3),
    max_leaves=5,
)


_findings = st.builds(
    Finding,
    metric=st.just("coverage"),
    kind=st.text(max_size=9),
    task=st.sampled_from(get_args(Task)),
    **dict.fromkeys(("explanation", "sentence", "question", "found", "expected"), texts),
    evidence=st.none() | _evidence,
)
evaluations = st.builds(
    Evaluation,
    metric=st.just("coverage"),
    outcome=st.sampled_from(get_args(Outcome)),
    score=st.none() | _shares,
    **dict.fromkeys(("version", "judged", "unjudged"), numbers),
    findings=st.lists(_findings, max_size=3).map(tuple),
    held=st.lists(texts, max_size=3).map(tuple),
    details=st.dictionaries(texts, _json, max_size=3),
    reason=texts,
)
