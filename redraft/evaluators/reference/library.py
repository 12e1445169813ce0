"""What the drafts of one document are judged by: its questions and key facts, stored ones or built with the judges."""

from __future__ import annotations

from asyncio import Lock
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.agents.writer import Outliner
from redraft.domain import KeyFacts, Pack, Perspective
from redraft.evaluators.reference.keyfact_builder import KeyFactBuilder
from redraft.evaluators.reference.questions import build_pack, pack_key
from redraft.events import Observer
from redraft.prompts.summarization import DocumentOutline
from redraft.settings import JudgeConfig
from redraft.store.connection import off_loop
from redraft.store.shelf import QuestionSets
from redraft.store.store import Store
from redraft.text.languages import other_language_in

PartT = TypeVar("PartT", Pack, KeyFacts)


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
    _parts: dict[str, Any] = field(default_factory=dict)
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

    async def pack(self, *, complete: bool = False) -> Pack:
        """Return the pack that drafts are judged by: the requested, the imported, a stored, or a new one. With
        `complete`, the missing parts of a stored one are tried again; cached answers are not asked for again."""

        async def build() -> Pack:
            return await build_pack(self.judge, self.reader, self.judging, self.observer, await self.outline())

        keep = complete and not self.judging.pack
        key = pack_key(self.judge, self.judging)
        return await self._stored_or_built(self.store.packs, self.stored_pack, build, key, complete=keep)

    def stored_pack(self) -> Pack | None:
        """Return the pack that need not be built."""
        document, packs = self.reader.document.id, self.store.packs
        if self.judging.pack:
            return packs.get(self.judging.pack)
        return packs.imported(document) or packs.find(document, pack_key(self.judge, self.judging))

    async def keyfacts(self, *, complete: bool = False) -> KeyFacts:
        """Return the key facts that drafts are judged by: the requested, the imported, stored, or new ones; `complete`
        as for `pack`."""
        builder, keep = self._keyfact_builder(self.perspectives), complete and not self.judging.keyfacts
        return await self._stored_or_built(
            self.store.keyfacts, self.stored_keyfacts, builder.build, builder.key, complete=keep
        )

    def stored_keyfacts(self) -> KeyFacts | None:
        """Return the key facts that need not be built. Trees from both perspectives serve requests for either."""
        document, shelf = self.reader.document.id, self.store.keyfacts
        if self.judging.keyfacts:
            return shelf.get(self.judging.keyfacts)
        builders = [self._keyfact_builder(perspectives) for perspectives in (self.perspectives, get_args(Perspective))]
        built = (shelf.find(document, builder.key) for builder in builders)
        return shelf.imported(document) or next((facts for facts in built if facts), None)

    def _keyfact_builder(self, perspectives: tuple[Perspective, ...]) -> KeyFactBuilder:
        can_validate = self.validating.can_read(other_language_in(self.reader.document))
        validator = self.validating if can_validate else self.judge
        chunks = self.judging.keyfact_chunks
        return KeyFactBuilder(self.judge, validator, self.reader, perspectives, self.observer, chunks)

    async def _stored_or_built(
        self,
        shelf: QuestionSets[PartT],
        stored: Callable[[], PartT | None],
        build: Callable[[], Awaitable[PartT]],
        key: str,
        *,
        complete: bool,
    ) -> PartT:
        async with self._locks[key]:
            part: PartT | None = None if complete else self._parts.get(key)
            part = part or await off_loop(stored)
            if part is None or (complete and part.missing and not part.imported):
                if key in self._errors:
                    raise self._errors[key]
                try:
                    built = await build()
                except Exception as error:
                    self._errors[key] = error
                    raise
                await off_loop(shelf.add, built, key)
                part = await off_loop(shelf.find, built.document, key) or built
            self._parts[key] = part
            return part
