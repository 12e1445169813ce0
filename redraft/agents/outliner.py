"""The outliner: says once for a document what it comes to, for those who merge, ask and revise. It is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.agents.judge import Judge
from redraft.errors import RejectedRequest, ReplyError
from redraft.prompts.summarization import MOST_NAMES, MOST_POINTS, OUTLINE, Outline, OutlineGiven
from redraft.store.connection import off_loop
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer

REPLY_TOKENS = 900
"""The room for an outline: a line, twelve turning points and twenty names."""
LEAST_WINDOW = 4_096
"""In a smaller window an outline would take the place of what it is of."""
LEAST_DOCUMENT = 2_048
"""A document of no more tokens is as soon read as its outline."""
_AROUND = 20
# What the schema of the reply and the fences come to beside the template.
_FRAME = 300


@dataclass(frozen=True, slots=True)
class Outliner:
    """Outlines one document by a model, which is asked for it once."""

    judge: Judge
    tokenizer: Tokenizer
    window: int
    language: str | None = None

    async def known(self) -> Outline | None:
        """The outline, where there is one."""
        found = await off_loop(self.judge.judgments.verdicts, [self._key])
        return Outline.model_validate_json(found[self._key]) if found else None

    async def of_summaries(self, summaries: Sequence[str]) -> Outline | None:
        """The outline of a document whose parts are summarized, all of it by their beginnings where the window has no
        room for more; None where no reply can be read."""
        if (known := await self.known()) is not None:
            return known
        shown = await off_loop(self._fitting, summaries)
        return await self._asked(OutlineGiven(summaries=shown, language=self.language)) if shown else None

    async def _asked(self, given: OutlineGiven) -> Outline | None:
        try:
            reply = await self.judge.ask(OUTLINE, given, REPLY_TOKENS, "outline")
        except (ReplyError, RejectedRequest):
            return None
        outline = reply.value.model_copy(
            update={"turning_points": reply.value.turning_points[:MOST_POINTS], "cast": reply.value.cast[:MOST_NAMES]}
        )
        if not outline.line.strip():
            return None
        said = {self._key: outline.model_dump_json()}
        await off_loop(self.judge.judgments.keep_verdicts, said, self.judge.document)
        return outline

    @property
    def _key(self) -> str:
        return self.judge.keys(OUTLINE, [[self.judge.document]])[0]

    def _fitting(self, summaries: Sequence[str]) -> list[str]:
        """The summaries, each with as many of its first sentences as its share of the window has room for."""
        asked = self.tokenizer.count(self.judge.book.render(OUTLINE, OutlineGiven(summaries=["."])))
        room = self.window - asked - REPLY_TOKENS - 2 * _AROUND
        sizes = [self.tokenizer.count(one) + _AROUND for one in summaries]
        if sum(sizes) <= room:
            return list(summaries)
        share = room // len(summaries) - _AROUND
        return [one for text in summaries if (one := self._beginning(text, share))]

    def _beginning(self, text: str, tokens: int) -> str:
        ends = [0, *(span.end for span in sentences(text))]
        while ends[-1] and self.tokenizer.count(text[: ends[-1]]) > tokens:
            ends.pop()
        return text[: ends[-1]]
