"""The jury of a run: who judges, by which metrics, with which pack, and what has been judged so far."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import get_args

from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge
from redraft.agents.together import together
from redraft.domain import Evaluation, KeyFacts, Pack, Perspective
from redraft.evaluators.base import Case, Evaluator, Yardstick, statements_of
from redraft.events import Observer
from redraft.packs.growing import Gardener
from redraft.packs.questions import build_pack, pack_key
from redraft.settings import Judging
from redraft.store.store import Store
from redraft.store.threads import off_loop

Growing = asyncio.Task[KeyFacts]


@dataclass(frozen=True, slots=True)
class Jury:
    """Judges drafts of one document. Verdicts are stored as they are given."""

    store: Store
    desk: EvidenceDesk
    panel: tuple[Judge, ...]
    evaluators: tuple[Evaluator, ...]
    judging: Judging
    observer: Observer
    validator: Judge
    """Who validates key facts; the first of the panel finds them."""
    query: str | None = None
    """The question that the drafts answer, where they are not about the document as a whole."""

    async def pack(self) -> Pack:
        """The pack that the drafts are judged by: the one asked for, or imported, or built before, or a new one."""
        document, packs = self.desk.document.id, self.store.packs
        if self.judging.pack:
            return await off_loop(packs.get, self.judging.pack)
        key = pack_key(self.panel[0], self.desk, self.judging.questions)
        known = await off_loop(packs.imported, document) or await off_loop(packs.find, document, key)
        if known is not None:
            return known
        built = await build_pack(self.panel[0], self.desk, self.judging.questions, self.observer)
        await off_loop(packs.add, built, key)
        return await off_loop(packs.find, document, key) or built

    async def keyfacts(self) -> KeyFacts:
        """The key facts that the drafts are judged by: those asked for, or imported, or built before, or new ones."""
        return await off_loop(self._known_keyfacts) or await self._grown()

    async def completed(self) -> KeyFacts:
        """The key facts, with what they lack tried again; what the judges have said before is not asked again."""
        known = await off_loop(self._known_keyfacts)
        chosen = known is not None and (known.imported or self.judging.keyfacts or not known.missing)
        return known if known is not None and chosen else await self._grown()

    async def _grown(self) -> KeyFacts:
        gardener = self._gardener(self.perspectives)
        grown = await gardener.grow()
        await off_loop(self.store.keyfacts.add, grown, gardener.key)
        return await off_loop(self.store.keyfacts.find, self.desk.document.id, gardener.key) or grown

    def _known_keyfacts(self) -> KeyFacts | None:
        """Those that need not be built first. Trees from both perspectives serve whoever wants one of them."""
        document, shelf = self.desk.document.id, self.store.keyfacts
        if self.judging.keyfacts:
            return shelf.get(self.judging.keyfacts)
        gardeners = [self._gardener(perspectives) for perspectives in (self.perspectives, get_args(Perspective))]
        built = (shelf.find(document, gardener.key) for gardener in gardeners)
        return shelf.imported(document) or next((found for found in built if found), None)

    def _gardener(self, perspectives: tuple[Perspective, ...]) -> Gardener:
        return Gardener(self.panel[0], self.validator, self.desk, perspectives, self.observer)

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """From which perspectives key facts are looked for."""
        chosen = self.judging.perspective
        return get_args(Perspective) if chosen == "both" else (chosen,)

    async def judge(self, draft: str) -> dict[str, Evaluation]:
        """Judge a stored draft by every metric at once, and store what they say."""
        text = await off_loop(self.text, draft)
        case = Case(statements_of(text), self.panel, self.desk, query=self.query, text=text)
        # Two metrics may want the key facts, which are grown once, or fail to, and nobody else waits for them.
        # A query comes from trees that are there already: to grow some for it would be of no use.
        needed = self.query is None and any(evaluator.needs == "keyfacts" for evaluator in self.evaluators)
        growing = asyncio.create_task(self.keyfacts()) if needed else None
        try:
            await together(self._judge(evaluator, case, draft, growing) for evaluator in self.evaluators)
        finally:
            if growing is not None:
                growing.cancel()
        return await off_loop(self.judged, draft)

    async def _judge(self, evaluator: Evaluator, case: Case, draft: str, growing: Growing | None) -> None:
        """Judge by one metric. Those that need nothing of the pack do not wait for it."""
        case = replace(case, yardstick=await self._yardstick(evaluator, growing))
        await off_loop(self.store.judgments.keep, draft, await evaluator.evaluate(case))

    async def _yardstick(self, evaluator: Evaluator, growing: Growing | None) -> Yardstick:
        if evaluator.needs == "questions":
            return Yardstick(await self.pack())
        if evaluator.uses != "keyfacts":
            return Yardstick()
        found = await growing if growing else await off_loop(self._known_keyfacts)
        return Yardstick(None, found, self.perspectives)

    def judged(self, draft: str) -> dict[str, Evaluation]:
        """What has been said of a draft, by metric."""
        return self.store.judgments.of(draft)

    def text(self, draft: str) -> str:
        """The text of a stored draft."""
        return self.store.runs.draft(draft).text
