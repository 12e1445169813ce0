"""Turns a stored run into a running job with its models, judges and writer; and single steps of a refinement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import BaseModel

from redraft.agents.answerer import Answerer
from redraft.agents.arbiter import Arbiter
from redraft.agents.decider import Decider
from redraft.agents.evidence import EvidenceReader, tokens_in
from redraft.agents.judge import USUAL, Judge, TokenRates, gather_all, longest_reply, reply_tokens, wording_of
from redraft.agents.reviser import Reviser
from redraft.agents.structured_writer import StructuredWriter
from redraft.agents.writer import Outliner, Writer
from redraft.domain import REVIEW, Evaluation, Round, TextKind
from redraft.errors import RunError, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import evaluators
from redraft.evaluators.panel import Panel
from redraft.evaluators.preference import Referee
from redraft.evaluators.reference.library import Reference
from redraft.events import Observer
from redraft.graphs.evaluation import metric
from redraft.graphs.job import Job
from redraft.graphs.plan import MARGIN
from redraft.graphs.policy import findings_in, metric_scores, scores_of
from redraft.graphs.refinement import confirm, settle
from redraft.graphs.refinement import revise as revised
from redraft.graphs.state import State
from redraft.prompts.contract import Prompt
from redraft.report.history.lineage import CachingEncoder
from redraft.runs.model_names import least_window
from redraft.runs.models import ModelPool, OpenModel
from redraft.runs.prepare import PreparedDocument
from redraft.settings import (
    REFERENCES,
    DraftConfig,
    EvidenceName,
    JudgeConfig,
    reads_prompts,
)
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.document_form import kind_by_form
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import Encoder, load_encoder
from redraft.text.words import is_unspaced

# Languages without spaces between words.
_UNSPACED = ("japanese", "chinese", "mandarin", "cantonese", "thai")


@dataclass(frozen=True, slots=True)
class JobFactory:
    """Creates the models, judges and agents of one run."""

    store: Store
    run: Run
    prepared: PreparedDocument
    pool: ModelPool
    observe: Observer
    own: Sequence[Evaluator] = ()
    """The metrics passed as objects."""
    attempt: int = 0
    """Incremented each time a finished run is continued."""

    async def job(self) -> Job:
        """Return the job for the nodes of a graph."""
        run, prepared, structured_writer = self.run, self.prepared, self.structured_writer()
        panel = await off_loop(self.panel, run.judging) if run.judging else None
        reader = panel.reader if panel else self.reader(judged=False)
        return Job(
            run=run,
            store=self.store,
            document=prepared.document,
            chunks=prepared.chunks,
            plan=prepared.plan,
            tokenizer=prepared.tokenizer,
            observe=self.observe,
            writer=self.writer(structured_writer, await off_loop(kind_by_form, prepared.document.text)),
            reviser=Reviser(structured_writer, reader, run.settings.query),
            outliner=self.outliner(self.pool.writer, run.settings.sample),
            panel=panel,
            decider=self._decider(panel),
            arbiter=self._arbiter(panel),
            answerer=self._answerer(reader) if run.kind == "ask" else None,
            referees=self._referees(),
        )

    def writer(self, structured_writer: StructuredWriter, kind: TextKind) -> Writer:
        """Return the writer for this kind of document."""
        return Writer(structured_writer, query=self.run.settings.query, kind=kind)

    def panel(self, judging: JudgeConfig) -> Panel:
        """Return the run's panel with its metrics and pack."""
        encoder = self._encoder(judging)
        builds = self.run.kind in REFERENCES.values()
        metrics = () if builds else evaluators(judging, encoder, self.own)
        last = -1 if judging.confirm else None
        panel = tuple(self._judge(worker, turn) for worker in self.pool.judges[:last] for turn in self._turns(judging))
        first_turn, reader = self._turns(judging)[0], self.reader(encoder)
        reference = Reference(
            self.store,
            reader,
            panel,
            self._judge(self.pool.validator, first_turn),
            judging.model_copy(update=self._yardsticks(metrics)),
            self.observe,
            self.outliner(self.pool.writer, self.run.settings.sample),
        )
        return Panel(
            self.store,
            reader,
            panel,
            metrics,
            self.observe,
            reference,
            query=self.run.settings.query,
            confirmer=self._judge(self.pool.judges[-1], first_turn) if judging.confirm else None,
        )

    def outliner(self, worker: OpenModel, sample: int) -> Outliner | None:
        """Return the outliner, with a model whose window suffices."""
        if not reads_prompts(worker.settings.model):
            return None
        window, language = worker.settings.context_tokens, self.run.settings.language
        return Outliner(self._judge(worker, sample), self.prepared.tokenizer, window, language)

    def _encoder(self, judging: JudgeConfig) -> Encoder | None:
        """Return the encoder, if embeddings are wanted. Judges share it, and the document's vectors are stored."""
        if not judging.embeddings:
            return None
        return CachingEncoder(load_encoder(judging.embeddings), self.store.ancestry, self.run.document)

    def _yardsticks(self, metrics: Sequence[Evaluator]) -> dict[str, object]:
        """Return the ids of the pack and key facts that the run's first draft was judged by, to continue with these. A
        done run starts afresh with the current ones; a run that builds them names what it built."""
        if self.run.status == "done":
            return {self.run.kind: None} if self.run.kind in REFERENCES.values() else {}
        rounds = self.store.judgments.rounds(self.run.id)
        first = rounds[0].draft if rounds else self.run.draft
        evaluations = self.store.judgments.of(first) if first else {}
        return {
            REFERENCES[evaluator.needs]: evaluations[evaluator.name].details[REFERENCES[evaluator.needs]]
            for evaluator in metrics
            if evaluator.needs
            and evaluator.name in evaluations
            and REFERENCES[evaluator.needs] in evaluations[evaluator.name].details
        }

    def reader(self, encoder: Encoder | None = None, *, judged: bool = True) -> EvidenceReader:
        """Return the evidence reader for the run's judges, sized by the smallest of their windows."""
        judging = (*self.pool.judges, self.pool.validator)
        settings = [worker.settings for worker in judging]
        reading = self.run.judging.evidence if self.run.judging else "auto"
        return reader_of(self.prepared, settings, self._tokenizer, encoder, judged=judged, reading=reading)

    @property
    def _tokenizer(self) -> Tokenizer:
        """Return the tokenizer of the first judge that reads prompts. What is asked about a document must not depend on
        who writes its summary."""
        judge = next((worker for worker in self.pool.judges if worker.window is not None), None)
        drafting = self.prepared.tokenizer
        tokenizer = drafting if judge is None else judge.tokenizer
        return drafting if tokenizer.name == drafting.name else tokenizer

    def _referees(self) -> tuple[Referee, ...]:
        """Return a referee for every judge of a comparison, and for every language model that judges a refinement."""
        judging, compares = self.run.judging, self.run.kind == "compare"
        if judging is None or not (compares or self.run.refinement):
            return ()
        return tuple(
            Referee(self._judge(worker, turn), self.prepared.tokenizer, worker.window)
            for worker in self.pool.judges
            if compares or reads_prompts(worker.settings.model)
            for turn in self._turns(judging)
        )

    def _arbiter(self, panel: Panel | None) -> Arbiter | None:
        """Return the judge for second looks: the last language model, so that with several judges it is not the one
        that wrote the questions."""
        able = [worker for worker in self.pool.judges if reads_prompts(worker.settings.model)]
        if panel is None or self.run.judging is None or not able:
            return None
        reader = replace(panel.reader, window=able[-1].settings.context_tokens)
        return Arbiter(self._judge(able[-1], self._turns(self.run.judging)[-1]), reader)

    def _answerer(self, reader: EvidenceReader) -> Answerer:
        """Who answers a question: the writer, who reads as much of the document as that takes."""
        settings = self.run.settings
        reader = replace(reader, window=settings.context_tokens, reading="auto")
        return Answerer(self._judge(self.pool.writer, settings.sample), reader, settings.language, settings.earlier)

    def _turns(self, judging: JudgeConfig) -> range:
        """Return the sample numbers of each judge: one per repetition, shifted for another attempt."""
        first = self.run.settings.sample * judging.repeat
        return range(first, first + judging.repeat)

    def _judge(self, worker: OpenModel, sample: int) -> Judge:
        settings = worker.settings
        room = reply_tokens(settings.context_tokens)
        return Judge(
            worker.model,
            worker.book,
            self.store.judgments,
            sample=sample,
            temperature=settings.temperature,
            top_p=settings.top_p,
            reply_tokens=min(room, settings.max_tokens or room),
            longest_reply=longest_reply(settings.max_tokens),
            wording=wording_of(self.prepared.document.text, self._tokenizer),
            document=self.run.document,
            visit=self.attempt,
        )

    def _decider(self, panel: Panel | None) -> Decider | None:
        """Return the decider, if the policy leaves decisions to a model."""
        refinement, settings = self.run.refinement, self.run.settings
        if panel is None or refinement is None or refinement.policy != "agent":
            return None
        decider = self.pool.decider
        reader = replace(panel.reader, window=decider.settings.context_tokens)
        return Decider(self._judge(decider, settings.sample), reader, decider.window is not None)

    def structured_writer(self) -> StructuredWriter:
        """Return the writer of structured replies. The extractive model has no window."""
        settings, prepared = self.run.settings, self.prepared

        def spare(prompt: Prompt[Any, str], values: BaseModel) -> int:
            return settings.context_tokens - prepared.tokenizer.count(prepared.book.render(prompt, values)) - MARGIN

        return StructuredWriter(
            self.pool.writer.model,
            prepared.plan.tokens_per_word,
            settings.temperature,
            settings.sample,
            spare if reads_prompts(settings.model) else None,
            settings.language,
            in_characters(settings.language, prepared.document.text),
            prepared.book.instructions,
            count=prepared.tokenizer.count,
        )


def reader_of(
    prepared: PreparedDocument,
    judging: Sequence[DraftConfig],
    tokenizer: Tokenizer,
    encoder: Encoder | None = None,
    *,
    judged: bool = True,
    reading: EvidenceName = "auto",
) -> EvidenceReader:
    """Return the evidence reader of a document. Without judges, its token rates are not measured, which would take
    longer than the rest of the run."""
    document, window = prepared.document, least_window(judging)
    passages = Passages(document, tokenizer, encoder)
    if not judged:
        return EvidenceReader(document, passages, tokenizer, window, prepared.document_tokens, USUAL, reading)
    tokens, worded = tokens_in(document.text, tokenizer), wording_of(document.text, tokenizer)
    return EvidenceReader(document, passages, tokenizer, window, tokens, worded, reading)


def wording(prepared: PreparedDocument) -> TokenRates:
    """Return the token rates of a document's language."""
    return wording_of(prepared.document.text, prepared.tokenizer)


def in_characters(language: str | None, text: str) -> bool:
    """Return whether summary length is counted in characters, by the summary's language or else the document's."""
    return is_unspaced(text) if language is None else any(name in language.casefold() for name in _UNSPACED)


async def judge(job_factory: JobFactory, name: str) -> Evaluation:
    """Judge the best draft by one metric, whether or not the run uses it."""
    run = await off_loop(job_factory.store.runs.get, job_factory.run.id)
    draft = run.drafted()
    judging = (run.judging or JudgeConfig()).model_copy(update={"metrics": (name,)})
    panel = await off_loop(job_factory.panel, judging)
    return await panel.judge_by(name, draft)


async def revise(job_factory: JobFactory, findings: Sequence[str], instruction: str) -> State:
    """Fix findings on the best draft in a round of its own, judge it, and accept it if it gains. The revision is judged
    by the run's metrics and by those behind the findings."""
    run = await off_loop(job_factory.store.runs.get, job_factory.run.id)
    _check(run)
    evaluations = await off_loop(job_factory.store.judgments.of, run.draft or "")
    metric_by_finding = {
        finding.id: finding.metric for evaluation in evaluations.values() for finding in evaluation.findings
    }
    if unknown := [key for key in findings if key not in metric_by_finding]:
        raise UsageError(f"there is no finding {unknown[0]!r} on the best draft", hint="list_findings has their ids")
    aims = tuple(dict.fromkeys(metric_by_finding[key] for key in findings))
    job = await _job(job_factory, run, aims)
    state = _standing(await _rounds(job, run), await job.judged(run.draft or ""), run, aims, findings, instruction)
    await confirm(state, job, state["best"], findings_in(evaluations, findings))
    state["to_fix"] = [finding.id for finding in findings_in(await job.judged(state["best"]), findings)]
    if not state["to_fix"]:
        raise UsageError(
            "a second look at the document overruled these findings: they are withdrawn",
            hint="list_findings has those that are left",
        )
    state = cast("State", {**state, **await revised(state, job)})
    seats = [
        metric({"run": run.id, "draft": state["draft"], "round": state["round"], "metric": evaluator.name}, job)
        for evaluator in job.judges.evaluators
    ]
    await gather_all(seats)
    if job.failures:
        raise next(iter(job.failures.values()))
    return cast("State", {**state, **await settle(state, job)})


def _check(run: Run) -> None:
    """Refuse a run that a graph is in the middle of: it would go on from what it knows."""
    if run.status != "done":
        raise RunError(
            f"run {run.id} is {run.status}, and can only be revised when it is done", hint="wait until it is done"
        )
    if run.draft is None or run.judging is None:
        raise RunError(f"run {run.id} has no judged draft", hint="start it with metrics or goals")


async def _job(job_factory: JobFactory, run: Run, aims: Sequence[str]) -> Job:
    """Return the job, judged also by the metrics that this step needs."""
    judging = run.judging or JudgeConfig()
    metrics = dict.fromkeys([*judging.metrics, *(aim for aim in aims if aim != REVIEW)])
    panel = await off_loop(job_factory.panel, judging.model_copy(update={"metrics": tuple(metrics)}))
    return replace(await job_factory.job(), panel=panel)


async def _rounds(job: Job, run: Run) -> list[Round]:
    """Return the stored rounds; that of the first draft is stored if there is none."""
    rounds = await off_loop(job.store.judgments.rounds, run.id)
    if not rounds:
        rounds = [Round(0, run.draft or "", accepted=True, reason="the first draft")]
        await job.keep_round(rounds[0])
    return rounds


def _standing(
    rounds: Sequence[Round],
    evaluations: Mapping[str, Evaluation],
    run: Run,
    aims: Sequence[str],
    findings: Sequence[str],
    instruction: str,
) -> State:
    """Return the state of the refinement from the stored rounds."""
    best = run.draft or ""
    return {
        "run": run.id,
        "draft": best,
        "round": rounds[-1].number,
        "first": rounds[0].draft,
        "best": best,
        "scores": metric_scores(scores_of(evaluations)),
        "way": "correct",
        "mending": [],
        "aims": list(aims),
        "to_fix": list(findings),
        "instruction": instruction,
        "tried": [],
        "dropped": [],
        "refused": 0,
        "by_hand": False,
        "why": "",
    }
