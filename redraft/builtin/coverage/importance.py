"""How much a question asks for what matters in a story: causes, decisions and outcomes before who stood where."""

from __future__ import annotations

from functools import cache

from redraft.builtin.concepts import concept, weight
from redraft.builtin.forms import Form, Sought, read_question
from redraft.builtin.verbs import BE, EVENTS, GESTURES, GOING, HAPPENS
from redraft.builtin.wording import keys
from redraft.prompts.judging import Kind

_BY_FORM: dict[Form, float] = {
    "gap": 0.15,
    "identity": 3.0,
    "fate": 3.0,
    "relation": 2.5,
    "doer": 0.9,
    "count": 1.0,
    "span": 1.0,
}
_BY_KIND: dict[Kind, float] = {"why": 4.0, "how": 3.0, "what": 1.3, "where": 0.9, "when": 0.8, "who": 1.0}
_DECIDED = 2.5
_EVENT, _GESTURE, _STATE = 2.0, 0.25, 0.5


def importance(question: str) -> float:
    """What a question is worth by what it asks for, and by whether the verb that it has moves a story."""
    sought = read_question(question)
    if sought.form in ("gap", "identity", "fate", "relation"):
        return _BY_FORM[sought.form]
    worth = _BY_FORM.get(sought.form) or _BY_KIND[sought.asks]
    if sought.form == "open" and sought.keys[-2:] == ["to", "do"]:
        worth = max(worth, _DECIDED)
    return worth * _of_verb(sought)


def _of_verb(sought: Sought) -> float:
    if sought.form == "doer" and sought.keys[:1] and sought.keys[0] in BE and not _has(sought, _events()):
        return _STATE
    verb = next((concept(key) for key in sought.keys if weight(key) and key not in sought.names), "")
    return _EVENT if verb in _events() else _GESTURE if verb in _gestures() else 1.0


def _has(sought: Sought, verbs: frozenset[str]) -> bool:
    """Whether the first telling word behind a "was" is one of these verbs, as in "was dismissed"."""
    return any(concept(key) in verbs for key in sought.keys[1:3])


@cache
def _events() -> frozenset[str]:
    return _concepts(EVENTS | HAPPENS) - _concepts(GOING)


@cache
def _gestures() -> frozenset[str]:
    return _concepts(GESTURES) - _events()


def _concepts(verbs: frozenset[str]) -> frozenset[str]:
    return frozenset(concept(keys(verb)[0]) for verb in verbs)
