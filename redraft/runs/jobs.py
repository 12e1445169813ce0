"""From a recorded run to one at work: its models open, its jury seated, its writer with a pen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.agents.decider import Decider
from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge, reply_tokens
from redraft.agents.pen import Pen
from redraft.agents.referee import Referee
from redraft.agents.reviser import Reviser
from redraft.agents.room import Wording, wording_of
from redraft.agents.writer import Writer
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import evaluators
from redraft.evaluators.jury import Jury
from redraft.events import Observer
from redraft.graphs.job import Job
from redraft.models.base import Model
from redraft.runs.preparing import Prepared
from redraft.runs.staff import Staff
from redraft.settings import EXTRACTIVE, YARDSTICKS, Judging
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.threads import off_loop
from redraft.text.embeddings import Encoder, load_encoder
from redraft.text.passages import Passages

# What a prompt that revises says beside the document, the summary and the points, in tokens.
_REVISION_TOKENS = 2000


@dataclass(frozen=True, slots=True)
class Foreman:
    """Seats everybody who works on one run."""

    store: Store
    run: Run
    prepared: Prepared
    staff: Staff
    observe: Observer
    own: Sequence[Evaluator] = ()
    """The evaluators that were handed over."""

    async def job(self) -> Job:
        """The run at work, as the nodes of a graph have it."""
        run, prepared, pen = self.run, self.prepared, self._pen()
        query = run.settings.query
        jury = await off_loop(self.jury, run.judging) if run.judging else None
        return Job(
            run=run,
            store=self.store,
            document=prepared.document,
            chunks=prepared.chunks,
            plan=prepared.plan,
            tokenizer=prepared.tokenizer,
            observe=self.observe,
            writer=Writer(pen, query=query),
            reviser=Reviser(pen, query=query),
            reviser_reads=fitting_document(prepared),
            jury=jury,
            decider=self._decider(jury),
        )

    def jury(self, judging: Judging) -> Jury:
        """The judges of the run, with what they judge by."""
        encoder = load_encoder(judging.embeddings) if judging.embeddings else None
        builds = self.run.kind in YARDSTICKS.values()
        known = () if builds else evaluators(judging, encoder, self.own)
        panel = tuple(self._judge(model, turn) for model in self.staff.judges for turn in self._turns(judging))
        return Jury(
            self.store,
            self.desk(encoder),
            panel,
            known,
            judging.model_copy(update=self._yardsticks(known)),
            self.observe,
            validator=self._judge(self.staff.validator, self._turns(judging)[0]),
            query=self.run.settings.query,
        )

    def _yardsticks(self, known: Sequence[Evaluator]) -> dict[str, object]:
        """The pack and the key facts that the run has judged its first draft by: it goes on with these.

        A run that is done begins anew, with what there is by then; one that builds has named what it has built.
        """
        if self.run.status == "done":
            return {self.run.kind: None} if self.run.kind in YARDSTICKS.values() else {}
        rounds = self.store.judgments.rounds(self.run.id)
        first = rounds[0].draft if rounds else self.run.draft
        judged = self.store.judgments.of(first) if first else {}
        return {
            YARDSTICKS[one.needs]: judged[one.name].details[YARDSTICKS[one.needs]]
            for one in known
            if one.needs and one.name in judged and YARDSTICKS[one.needs] in judged[one.name].details
        }

    def desk(self, encoder: Encoder | None = None) -> EvidenceDesk:
        """Where the run's judges look things up."""
        return desk_of(self.prepared, encoder)

    def referees(self, judging: Judging) -> list[Referee]:
        """One for every judging. The extractive model has no window."""
        settings, tokenizer = self.run.settings, self.prepared.tokenizer
        names = judging.judges or (settings.model,)
        return [
            Referee(self._judge(model, turn), tokenizer, None if name == EXTRACTIVE else settings.context_tokens)
            for name, model in zip(names, self.staff.judges, strict=True)
            for turn in self._turns(judging)
        ]

    def _turns(self, judging: Judging) -> range:
        """The draws of each judge: as many as it judges times, others for another sample."""
        first = self.run.settings.sample * judging.repeat
        return range(first, first + judging.repeat)

    def _judge(self, model: Model, sample: int) -> Judge:
        settings = self.run.settings
        return Judge(
            model,
            self.prepared.book,
            self.store.judgments,
            sample=sample,
            temperature=settings.temperature,
            reply_tokens=reply_tokens(settings.context_tokens),
            wording=wording(self.prepared),
            document=self.run.document,
        )

    def _decider(self, jury: Jury | None) -> Decider | None:
        """Who decides what is mended, where the policy leaves that to a model. The extractive one has no window."""
        refinement, settings = self.run.refinement, self.run.settings
        if jury is None or refinement is None or refinement.policy != "agent":
            return None
        bounded = (refinement.decider or settings.model) != EXTRACTIVE
        return Decider(self._judge(self.staff.decider, settings.sample), jury.desk, bounded)

    def _pen(self) -> Pen:
        settings = self.run.settings
        return Pen(self.staff.writer, self.prepared.plan.tokens_per_word, settings.temperature, settings.sample)


def desk_of(prepared: Prepared, encoder: Encoder | None = None) -> EvidenceDesk:
    """Where things are looked up in a document."""
    passages, window = Passages(prepared.document, prepared.tokenizer, encoder), prepared.settings.context_tokens
    tokenizer, tokens = prepared.tokenizer, prepared.plan.document_tokens
    return EvidenceDesk(prepared.document, passages, tokenizer, window, tokens, wording(prepared))


def wording(prepared: Prepared) -> Wording:
    """How the language of a document comes out in tokens."""
    return wording_of(prepared.document.text, prepared.tokenizer, prepared.plan.tokens_per_word)


def fitting_document(prepared: Prepared) -> str | None:
    """The document's text where a prompt has room for it beside a summary, its revision and the findings.

    The extractive model has no window, and puts sentences where the document has them.
    """
    summary = (prepared.settings.words or 0) * prepared.plan.tokens_per_word
    needed = prepared.plan.document_tokens + _REVISION_TOKENS + 2 * summary
    fits = needed <= prepared.settings.context_tokens or prepared.settings.model == EXTRACTIVE
    return prepared.document.text if fits else None
