"""Turns a stored run into a running job with its models, judges and writer; and single steps of a refinement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import BaseModel

from redraft.agents.answerer import Answerer
from redraft.agents.arbiter import Arbiter
from redraft.agents.decider import Decider
from redraft.agents.evidence import EvidenceReader, tokens_in
from redraft.agents.judge import USUAL, Judge, gather_all, wording_of
from redraft.agents.reviser import Reviser
from redraft.agents.structured_writer import StructuredWriter
from redraft.agents.writer import Outliner, Writer
from redraft.domain import REVIEW, Evaluation, Round
from redraft.errors import RunError, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import evaluators
from redraft.evaluators.panel import Panel
from redraft.evaluators.preference import Referee
from redraft.evaluators.reference.questions import Reference
from redraft.events import Observer
from redraft.graphs.evaluation import MetricTask, metric
from redraft.graphs.job import Job
from redraft.graphs.plan import MARGIN
from redraft.graphs.policy import findings_in, metric_scores, scores_of
from redraft.graphs.refinement import confirm, settle
from redraft.graphs.refinement import revise as revised
from redraft.graphs.state import State, Update, new_refinement
from redraft.prompts.contract import Prompt
from redraft.report.history.lineage import CachingEncoder
from redraft.runs.model_settings import least_window
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

    def job(self) -> Job:
        """Return the job for the nodes of a graph."""
        run, prepared, pool, settings = self.run, self.prepared, self.pool, self.run.settings
        judging, refinement, structured_writer = run.judging, run.refinement, self._structured_writer()
        panel = self.panel(judging) if judging else None
        reader = panel.reference.reader if panel else self._reader(judged=False)
        kind = kind_by_form(prepared.document.text)

        answerer: Answerer | None = None
        if run.kind == "ask":
            # The writer reads as much of the document as an answer takes.
            wide_reader = replace(reader, window=settings.context_tokens, reading="auto")
            judge = self._judge(pool.writer, settings.sample)
            answerer = Answerer(judge, wide_reader, settings.language, settings.earlier)

        arbiter: Arbiter | None = None
        referees: list[Referee] = []
        if panel is not None and judging is not None:
            turns, able = (
                self._turns(judging),
                [worker for worker in pool.judges if reads_prompts(worker.settings.model)],
            )
            if able:
                # The last of several judges, who has not written the questions, has the second looks.
                window = able[-1].settings.context_tokens
                arbiter = Arbiter(self._judge(able[-1], turns[-1]), replace(panel.reference.reader, window=window))
            # Every judge compares two summaries, and every language model the drafts of a refinement.
            comparing = pool.judges if run.kind == "compare" else able if refinement else ()
            referees = [
                Referee(self._judge(worker, turn), prepared.tokenizer, worker.window)
                for worker in comparing
                for turn in turns
            ]

        decider: Decider | None = None
        if panel is not None and refinement is not None and refinement.policy == "agent":
            deciding_reader = replace(panel.reference.reader, window=pool.decider.settings.context_tokens)
            judge = self._judge(pool.decider, settings.sample)
            decider = Decider(judge, deciding_reader, pool.decider.window is not None)

        return Job(
            run=run,
            store=self.store,
            document=prepared.document,
            chunks=prepared.chunks,
            plan=prepared.plan,
            tokenizer=prepared.tokenizer,
            observe=self.observe,
            writer=Writer(structured_writer, query=settings.query, kind=kind),
            reviser=Reviser(structured_writer, reader, settings.query),
            outliner=self._outliner(),
            panel=panel,
            panel_of=self.panel,
            decider=decider,
            arbiter=arbiter,
            answerer=answerer,
            referees=tuple(referees),
        )

    def panel(self, judging: JudgeConfig) -> Panel:
        """Return the run's panel with its metrics and pack. Its judges share the encoder, if embeddings are wanted, and
        the document's vectors are stored. It continues with the pack and key facts that the run's first draft was
        judged by; a done run starts afresh with the current ones, and one that builds them names what it built."""
        run, encoder = self.run, None
        if judging.embeddings:
            encoder = CachingEncoder(load_encoder(judging.embeddings), self.store.vectors, run.document)
        builds = run.kind in REFERENCES.values()
        metrics = () if builds else evaluators(judging, encoder, self.own)
        turns, reader = self._turns(judging), self._reader(encoder)
        *others, last = self.pool.judges
        objectors = others if judging.confirm else self.pool.judges

        sources: dict[str, object] = {}
        if run.status == "done":
            sources = {run.kind: None} if builds else {}
        else:
            rounds = self.store.rounds.of(run.id)
            first = rounds[0].draft if rounds else run.draft
            evaluations = self.store.judgments.of(first) if first else {}
            for evaluator in metrics:
                source = REFERENCES[evaluator.needs] if evaluator.needs else ""
                details = evaluations[evaluator.name].details if evaluator.name in evaluations else {}
                sources |= {source: details[source]} if source in details else {}

        judges = tuple(self._judge(worker, turn) for worker in objectors for turn in turns)
        reference = Reference(
            self.store,
            reader,
            judges,
            self._judge(self.pool.validator, turns[0]),
            judging.model_copy(update=sources),
            self.observe,
            self._outliner(),
        )
        confirmer = self._judge(last, turns[0]) if judging.confirm else None
        query = run.settings.query
        return Panel(reference, metrics, query=query, confirmer=confirmer)

    def _outliner(self) -> Outliner | None:
        """Return the outliner; None where the writer reads no prompts."""
        worker, settings = self.pool.writer, self.run.settings
        if not reads_prompts(worker.settings.model):
            return None
        judge = self._judge(worker, settings.sample)
        return Outliner(judge, self.prepared.tokenizer, worker.settings.context_tokens, settings.language)

    def _reader(self, encoder: Encoder | None = None, *, judged: bool = True) -> EvidenceReader:
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

    def _turns(self, judging: JudgeConfig) -> range:
        """Return the sample numbers of each judge: one per repetition, shifted for another attempt."""
        first = self.run.settings.sample * judging.repeat
        return range(first, first + judging.repeat)

    def _judge(self, worker: OpenModel, sample: int) -> Judge:
        wording = wording_of(self.prepared.document.text, self._tokenizer)
        return worker.judge(self.store.verdicts, self.run.document, wording, sample, self.attempt)

    def _structured_writer(self) -> StructuredWriter:
        """Return the writer of structured replies. The extractive model has no window."""
        settings, prepared, text = self.run.settings, self.prepared, self.prepared.document.text
        # The length is counted in characters by the summary's language, or else the document's.
        language = (settings.language or "").casefold()
        in_characters = any(name in language for name in _UNSPACED) if settings.language else is_unspaced(text)

        def spare(prompt: Prompt[Any, str], values: BaseModel) -> int:
            return settings.context_tokens - prepared.tokenizer.count(prepared.book.render(prompt, values)) - MARGIN

        return StructuredWriter(
            self.pool.writer.model,
            prepared.plan.tokens_per_word,
            settings.temperature,
            settings.sample,
            spare if reads_prompts(settings.model) else None,
            settings.language,
            in_characters,
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
    document, tokens, wording = prepared.document, prepared.document_tokens, USUAL
    if judged:
        tokens, wording = tokens_in(document.text, tokenizer), wording_of(document.text, tokenizer)
    passages = Passages(document, tokenizer, encoder)
    return EvidenceReader(document, passages, tokenizer, least_window(judging), tokens, wording, reading)


async def judge(job: Job, name: str) -> Evaluation:
    """Judge the best draft by one metric, whether or not the run uses it."""
    run = await off_loop(job.store.runs.get, job.run.id)
    draft = run.drafted()
    judging = (run.judging or JudgeConfig()).model_copy(update={"metrics": (name,)})
    panel = await off_loop(job.panel_of, judging)
    return await panel.judge_by(name, draft)


async def revise(job: Job, findings: Sequence[str], instruction: str) -> State:
    """Fix findings on the best draft in a round of its own, judge it, and accept it if it gains. The revision is judged
    by the run's metrics and by those behind the findings. A run that a graph is in the middle of is refused: the graph
    would go on from what it knows."""
    run = await off_loop(job.store.runs.get, job.run.id)
    if run.status != "done":
        raise RunError(
            f"run {run.id} is {run.status}, and can only be revised when it is done", hint="wait until it is done"
        )
    if run.draft is None or run.judging is None:
        raise RunError(f"run {run.id} has no judged draft", hint="start it with metrics or goals")
    evaluations = await job.judged(run.draft)
    metric_by_finding = {
        finding.id: finding.metric for evaluation in evaluations.values() for finding in evaluation.findings
    }
    if unknown := [key for key in findings if key not in metric_by_finding]:
        raise UsageError(f"there is no finding {unknown[0]!r} on the best draft", hint="list_findings has their ids")

    aims = list(dict.fromkeys(metric_by_finding[key] for key in findings))
    metrics = tuple(dict.fromkeys([*run.judging.metrics, *(aim for aim in aims if aim != REVIEW)]))
    panel = await off_loop(job.panel_of, run.judging.model_copy(update={"metrics": metrics}))
    job = replace(job, panel=panel, failures={})
    rounds = await off_loop(job.store.rounds.of, run.id)
    if not rounds:
        rounds = [Round(0, run.draft, accepted=True, reason="the first draft")]
        await job.keep_round(rounds[0])
    best: Update = {"draft": run.draft, "best": run.draft, "scores": metric_scores(scores_of(evaluations))}
    of_round: Update = {"run": run.id, "round": rounds[-1].number, "way": "correct", "why": ""}
    task: Update = {"aims": aims, "to_fix": list(findings), "instruction": instruction}
    state = cast("State", {**new_refinement(rounds[0].draft), **best, **of_round, **task})

    await confirm(state, job, state["best"], findings_in(evaluations, findings))
    state["to_fix"] = [finding.id for finding in findings_in(await job.judged(state["best"]), findings)]
    if not state["to_fix"]:
        raise UsageError(
            "a second look at the document overruled these findings: they are withdrawn",
            hint="list_findings has those that are left",
        )
    state = cast("State", {**state, **await revised(state, job)})
    tasks: list[MetricTask] = [
        {"run": run.id, "draft": state["draft"], "round": state["round"], "metric": evaluator.name}
        for evaluator in job.judges.evaluators
    ]
    await gather_all([metric(task, job) for task in tasks])
    if job.failures:
        raise next(iter(job.failures.values()))
    return cast("State", {**state, **await settle(state, job)})
