"""What a call is for, in one of a few words: by the module that defines its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from redraft.prompts import (
    coherence,
    deciding,
    drafting,
    facts,
    factual,
    judging,
    origins,
    outlining,
    revising,
    ruling,
    typed,
)
from redraft.prompts.contract import Prompt

OTHER = "other"
"""Of prompts that a package or an application brings."""
_STAGES: Mapping[ModuleType, str] = {
    drafting: "drafting",
    outlining: "drafting",
    judging: "judging",
    factual: "judging",
    facts: "judging",
    coherence: "judging",
    typed: "judging",
    ruling: "judging",
    deciding: "deciding",
    revising: "revising",
    origins: "tracing",
}
_OF = {one.name: stage for where, stage in _STAGES.items() for one in vars(where).values() if isinstance(one, Prompt)}
STAGES = (*dict.fromkeys(_STAGES.values()), OTHER)


def stage_of(prompt: str) -> str:
    """What a call with a prompt of this name is for."""
    return _OF.get(prompt, OTHER)
