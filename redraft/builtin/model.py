"""The built-in model: a stand-in that drafts by selecting sentences, checks by words, and abstains from the rest."""

from __future__ import annotations

from redraft.builtin.draft import summarize
from redraft.builtin.identity import IDENTITY
from redraft.builtin.judge import JUDGING
from redraft.builtin.revise import edit, revise
from redraft.builtin.stand_in import Handler, StandIn
from redraft.prompts import revision, summarization

_DRAFTING = (
    summarization.BEGIN,
    summarization.SUMMARIZE_CHUNK,
    summarization.SUMMARIZE_WHOLE,
    summarization.MERGE,
    summarization.MERGE_ONWARD,
    summarization.UPDATE,
    summarization.COMPRESS,
    summarization.TIDY,
)
_CRITICISM = "Say more of what matters in the document, and nothing that it does not say."


class ExtractiveModel(StandIn):
    """The built-in model."""

    def __init__(self) -> None:
        drafting: dict[str, Handler] = {prompt.name: summarize for prompt in _DRAFTING}
        revising: dict[str, Handler] = {
            revision.REVISE.name: revise,
            revision.EDIT.name: edit,
            revision.CRITICIZE.name: lambda _: _CRITICISM,
        }
        super().__init__(IDENTITY, {**drafting, **revising, **JUDGING})
