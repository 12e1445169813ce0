"""The jury of a run: who judges, by which metrics, with which pack, and what has been judged so far."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redraft.agents.evidence import EvidenceDesk
from redraft.agents.examiner import Examiner
from redraft.agents.together import together
from redraft.domain import Evaluation, Pack
from redraft.evaluators.base import Case, Evaluator, statements_of
from redraft.evaluators.packs import build_pack, pack_key
from redraft.events import Observer
from redraft.settings import Judging
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class Jury:
    """Judges drafts of one document. Verdicts are stored as they are given."""

    store: Store
    desk: EvidenceDesk
    panel: tuple[Examiner, ...]
    evaluators: tuple[Evaluator, ...]
    judging: Judging
    observer: Observer

    async def pack(self) -> Pack:
        """The pack that the drafts are judged by: the one asked for, or imported, or built before, or a new one."""
        document, packs = self.desk.document.id, self.store.packs
        if self.judging.pack:
            return packs.get(self.judging.pack)
        key = pack_key(self.panel[0], self.desk, self.judging.questions)
        known = packs.imported(document) or packs.find(document, key)
        if known is not None:
            return known
        built = await build_pack(self.panel[0], self.desk, self.judging.questions, self.observer)
        packs.add(built, key)
        return packs.find(document, key) or built

    async def judge(self, draft: str) -> dict[str, Evaluation]:
        """Judge a stored draft by every metric at once, and store what they say."""
        case = Case(statements_of(self.text(draft)), None, self.panel, self.desk)
        await together(self._judge(evaluator, case, draft) for evaluator in self.evaluators)
        return self.judged(draft)

    async def _judge(self, evaluator: Evaluator, case: Case, draft: str) -> None:
        """Judge by one metric. Those that need no pack do not wait for it."""
        if evaluator.needs_pack:
            case = replace(case, pack=await self.pack())
        self.store.judgments.keep(draft, await evaluator.evaluate(case))

    def judged(self, draft: str) -> dict[str, Evaluation]:
        """What has been said of a draft, by metric."""
        return self.store.judgments.of(draft)

    def text(self, draft: str) -> str:
        """The text of a stored draft."""
        return self.store.runs.draft(draft).text
