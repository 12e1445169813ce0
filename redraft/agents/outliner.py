"""The outliner: outlines a document once, for merging, questions and revisions. The outline is stored."""

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
"""In a smaller window an outline would displace the text itself."""
_AROUND = 20
# Tokens of the reply schema and the fences.
_FRAME = 300


@dataclass(frozen=True, slots=True)
class Outliner:
    """Outlines one document with a model, which is asked once."""

    judge: Judge
    tokenizer: Tokenizer
    window: int
    language: str | None = None

    async def known(self) -> Outline | None:
        """Return the stored outline, if there is one."""
        found = await off_loop(self.judge.judgments.verdicts, [self._key])
        return Outline.model_validate_json(found[self._key]) if found else None

    async def of_summaries(self, summaries: Sequence[str]) -> Outline | None:
        """Return the outline of a document from the summaries of its parts, shortened to fit the window; None if no
        reply is readable."""
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
        """Return the summaries, each cut to its share of the window at a sentence."""
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
