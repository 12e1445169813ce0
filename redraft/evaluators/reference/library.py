"""What the drafts of one document are judged by: its questions and key facts, stored ones or built with the judges."""

from __future__ import annotations

from asyncio import Lock
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.agents.writer import Outliner
from redraft.domain import KeyFacts, Pack, Perspective
from redraft.evaluators.reference.keyfact_builder import KeyFactBuilder
from redraft.evaluators.reference.questions import PackBuilder
from redraft.events import Observer
from redraft.prompts.summarization import DocumentOutline
from redraft.settings import JudgeConfig, PackPart
from redraft.store.connection import off_loop
from redraft.store.shelf import QuestionSets
from redraft.store.store import Store
from redraft.text.languages import other_language_in


@dataclass(frozen=True, slots=True)
class Reference:
    """The questions and key facts of one document. A part that is missing is built once, however many ask for it."""

    store: Store
    reader: EvidenceReader
    panel: tuple[Judge, ...]
    """The first of them that can read the document writes questions and extracts key facts."""
    validating: Judge
    """The judge that validates key facts, if it can read the document."""
    judging: JudgeConfig
    observer: Observer
    outliner: Outliner | None = None
    """Provides an outline of the document from the summaries of its parts, if there are any."""
    _locks: defaultdict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    _parts: dict[str, Pack | KeyFacts] = field(default_factory=dict)
    """The parts by key: all drafts of a run are judged by the same."""
    _errors: dict[str, Exception] = field(default_factory=dict)
    """Why a part could not be built; it is not tried again for every draft."""

    @property
    def judge(self) -> Judge:
        """Return the first judge that can read the document."""
        language = other_language_in(self.reader.document)
        return next((judge for judge in self.panel if judge.can_read(language)), self.panel[0])

    async def outline(self) -> DocumentOutline | None:
        """Return the outline, where the document's parts were summarized; the document is not read again for it."""
        return await self.outliner.known() if self.outliner else None

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """Return the perspectives of the key facts that drafts are judged by."""
        chosen = self.judging.perspective
        return get_args(Perspective) if chosen == "both" else (chosen,)

    async def part(self, name: PackPart, *, complete: bool = False) -> Pack | KeyFacts:
        """Return the questions or key facts that drafts are judged by: the requested, the imported, stored, or new
        ones. With `complete`, what stored ones lack is tried again; cached answers are not asked for again."""
        builder, shelf = self._builders(name)[0], self._shelf(name)
        key, complete = builder.key, complete and not self._requested(name)
        async with self._locks[key]:
            part = (None if complete else self._parts.get(key)) or await off_loop(self.stored, name)
            if part is None or (complete and part.missing and not part.imported):
                if key in self._errors:
                    raise self._errors[key]
                try:
                    built = await builder.build()
                except Exception as error:
                    self._errors[key] = error
                    raise
                await off_loop(shelf.add, built, key)
                part = await off_loop(shelf.find, built.document, key) or built
            self._parts[key] = part
            return part

    def stored(self, name: PackPart) -> Pack | KeyFacts | None:
        """Return the part that need not be built."""
        document, shelf = self.reader.document.id, self._shelf(name)
        part: Pack | KeyFacts | None
        if requested := self._requested(name):
            part = shelf.get(requested)
        else:
            built = (shelf.find(document, builder.key) for builder in self._builders(name))
            part = shelf.imported(document) or next(filter(None, built), None)
        return part

    def _requested(self, name: PackPart) -> str | None:
        """Return the id of the part that the settings name."""
        return self.judging.pack if name == "questions" else self.judging.keyfacts

    def _shelf(self, name: PackPart) -> QuestionSets[Any]:
        return self.store.packs if name == "questions" else self.store.keyfacts

    def _builders(self, name: PackPart) -> Sequence[PackBuilder | KeyFactBuilder]:
        """Return what builds a part; key facts from both perspectives serve requests for either."""
        if name == "questions":
            return [PackBuilder(self.judge, self.reader, self.judging, self.observer, self.outline)]
        can_validate = self.validating.can_read(other_language_in(self.reader.document))
        judges = (self.judge, self.validating if can_validate else self.judge)
        chunks = self.judging.keyfact_chunks, self.judging.keyfact_overlap
        return [
            KeyFactBuilder(*judges, self.reader, perspectives, self.observer, *chunks)
            for perspectives in (self.perspectives, get_args(Perspective))
        ]
