"""Judges with known error rates, on labels by people: is the fit right, is the interval, does a cascade pay?

A scripted judge sees each sentence with noise: what it sees is normal, one deviation wide, and `separation` above 0 for
a sentence that people find right, as much below 0 for another. From this and the share that is right follows the
probability that holds. The judge says another one: its log odds are exaggerated and shifted, by known numbers. So the
calibration, the cuts behind it and the errors beyond them are known.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory

import numpy as np

from redraft import Store
from redraft.agents.accounts import HIGH, LOW, calibrated, fit_deviation, raw_threshold
from redraft.evaluators.base import statements_of
from redraft.evaluators.consensus import interval_of_mean
from redraft.lab.agreement.correlation import sentence_series
from redraft.lab.agreement.people import Dataset
from redraft.lab.agreement.report import LabelledProbability, fit_calibration, fit_quality, labelled_probabilities
from redraft.lab.agreement.trial import AgreementDesign, AgreementOutcome, run_trial
from redraft.prompts.coherence import NO_CONFUSION
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import Calibration, JudgeConfig, Limits, ModelSettings
from tests.decisionserver import Json, Script, decision_server

TRUTH = Calibration(slope=0.5, intercept=-1.0)
"""What makes the judge's log odds those that hold: it says twice as much, and 2 too much."""
ASIS = Calibration(slope=1.0, intercept=0.0)
SEPARATION = 1.5
DRAWS, SENTENCES = 1_000, 100
DEAR_ERRORS = 0.1
_QUOTED = re.compile(r"“(.*?)”", re.DOTALL)
_NORMAL = NormalDist()


def log_odds(probability: float) -> float:
    return float(np.log(probability / (1 - probability)))


@dataclass(frozen=True)
class Scripted:
    """A judge that sees what people say with noise, and says it with an exaggeration."""

    share: float
    """The share of sentences that are right."""
    separation: float = SEPARATION
    truth: Calibration = TRUTH

    def says(self, right: bool, noise: float) -> float:
        """The probability that it gives."""
        seen = (self.separation if right else -self.separation) + noise
        holds = 2 * self.separation * seen + log_odds(self.share)
        return float(1 / (1 + np.exp(-(holds - self.truth.intercept) / self.truth.slope)))

    def expected(self) -> tuple[float, float]:
        """The share of its verdicts among all sentences with the right cuts, and the share of these that is wrong."""
        d, base = self.separation, log_odds(self.share)
        low, high = ((log_odds(cut) - base) / (2 * d) for cut in (LOW, HIGH))
        accused, missed = _NORMAL.cdf(low - d), 1 - _NORMAL.cdf(high + d)
        wrong = self.share * accused + (1 - self.share) * missed
        right = self.share * (1 - _NORMAL.cdf(high - d)) + (1 - self.share) * _NORMAL.cdf(low + d)
        return right + wrong, wrong / (right + wrong)


@dataclass(frozen=True)
class Labels:
    """The labels of a set by our sentences; of two labels of the same sentence the first counts."""

    by_statement: dict[str, tuple[str, bool]]
    share: float

    @classmethod
    def of(cls, dataset: Dataset) -> Labels:
        found: dict[str, tuple[str, bool]] = {}
        known = [
            (sentence, label)
            for item in dataset.items
            for sentence, label in zip(item.sentences, item.labels, strict=True)
            if label is not None
        ]
        for sentence, label in known:
            for one in statements_of(sentence):
                found.setdefault(one.sentence, (sentence, label))
        return cls(found, float(np.mean([label for _, label in known])))


def noise_of(sentence: str, salt: str) -> np.random.Generator:
    """Random numbers that depend on nothing but the sentence and the judge."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(f"{salt}{sentence}".encode()).digest()[:8]))


def script(labels: Labels, judge: Scripted | None, salt: str) -> Script:
    """What a server answers: by a scripted judge or, without one, rightly but for a tenth of all sentences."""

    def answer(_: str, question: Json) -> dict[str, float] | None:
        sentence = _QUOTED.findall(str(question["instructions"]))[0]
        if sentence not in labels.by_statement:
            return None
        whole, right = labels.by_statement[sentence]
        draw = noise_of(whole, salt)
        if judge is None:
            likely = 0.95 if right != (draw.random() < DEAR_ERRORS) else 0.05
        else:
            likely = judge.says(right, float(draw.normal()))
        names = list(question["criteria"])
        fine = NO_CONFUSION if NO_CONFUSION in names else names[0]
        rest = (1 - likely) / (len(names) - 1)
        return {name: likely if name == fine else rest for name in names}

    return answer


def halves(pairs: Sequence[LabelledProbability], seed: int) -> tuple[list[LabelledProbability], ...]:
    """The pairs of one half of the documents, drawn at random, and those of the other."""
    documents = sorted({one.document for one in pairs})
    inside = set(np.random.default_rng(seed).permutation(documents)[: len(documents) // 2].tolist())
    return tuple([one for one in pairs if (one.document in inside) == first] for first in (True, False))


def asked(dataset: Dataset, metric: str, human: str, judges: dict[str, str], confirm: str | None) -> AgreementOutcome:
    """What the first of some judges, at their addresses, says of a set; the last one confirms, if so named."""
    models = {
        name: ModelSettings(model=name, base_url=address, context_tokens=64_000) for name, address in judges.items()
    }
    judging = JudgeConfig(models=models, confirm=confirm)
    design = AgreementDesign(metric, human, (next(iter(judges)),), judging=judging)
    with TemporaryDirectory() as folder, Store(Path(folder) / "redraft.db") as store:
        return asyncio.run(run_trial(dataset, design, ExperimentRunner(store, Limits(concurrency=4))))


def coverage(pairs: Sequence[LabelledProbability], judge: Scripted, *, fit: bool) -> float:
    """How often the interval of a score contains the share that people find right.

    In each draw the judge judges anew, its calibration is fitted on half of the documents (or known), and the summary
    is a hundred sentences of the other half, drawn with replacement."""
    covered = 0
    for draw in range(DRAWS):
        random = np.random.default_rng(draw)
        some, others = halves(pairs, draw)
        by: Calibration | None = judge.truth
        if fit:
            noise = random.normal(size=len(some)).tolist()
            by = fit_calibration(
                [replace(one, probability=judge.says(one.right, its)) for one, its in zip(some, noise, strict=True)]
            )
        right = [others[n].right for n in random.integers(len(others), size=SENTENCES)]
        said = [judge.says(one, float(random.normal())) for one in right]
        likely = [calibrated(one, by) for one in said]
        low, high = interval_of_mean(likely, fit_deviation(likely, by))
        covered += low - 1e-9 <= np.mean(right) <= high + 1e-9
    return covered / DRAWS


@dataclass(frozen=True)
class Recovery:
    """What a fit on one half of the documents gives on the other, beside what is known."""

    set: str
    fitted_on: int
    held_out: int
    cuts: tuple[float, float]
    known_cuts: tuple[float, float]
    decided: float
    known_decided: float
    wrong: float
    known_wrong: float
    covered: float
    covered_fitted: float


def recovery(name: str, metric: str, human: str, dataset: Dataset) -> Recovery:
    """Have a scripted judge judge a whole set through `agree`, fit on one half, and look at the other."""
    labels = Labels.of(dataset)
    judge = Scripted(labels.share)
    with decision_server(script(labels, judge, name)) as server:
        outcome = asked(dataset, metric, human, {"systemone:scripted": server.address}, None)
    pairs = labelled_probabilities(outcome, outcome.columns[0])
    some, others = halves(pairs, 0)
    by = fit_calibration(some)
    assert by is not None, f"nothing could be fitted on {len(some)} labels of {name}"
    found = fit_quality([replace(one, probability=calibrated(one.probability, by)) for one in others])
    assert found is not None
    cuts, known = ((raw_threshold(LOW, one), raw_threshold(HIGH, one)) for one in (by, judge.truth))
    decided, wrong = judge.expected()
    return Recovery(
        name,
        len(some),
        len(others),
        cuts,
        known,
        found.decided / found.n,
        decided,
        found.wrong / found.decided,
        wrong,
        coverage(pairs, judge, fit=False),
        coverage(pairs, judge, fit=True),
    )


@dataclass(frozen=True)
class Cascade:
    """What two judges find alone and one after the other: errors among all sentences, and how many are asked about."""

    set: str
    separation: float
    sentences: int
    cheap_wrong: int
    cheap_open: int
    dear_wrong: int
    dear_asked: int
    both_wrong: int
    both_asked: int


def cascades(name: str, metric: str, human: str, dataset: Dataset, separations: Sequence[float]) -> Iterator[Cascade]:
    """Have cheap judges judge, a dear one, and the dear one what each cheap one doubts."""
    labels = Labels.of(dataset)
    cheap, dear = "systemone:cheap", "systemone:dear"
    with decision_server(script(labels, None, f"{name} dear")) as second:
        other = {dear: second.address}
        by_dear = errors(asked(dataset, metric, human, other, None))
        before = questions(second.bodies)
        for separation in separations:
            weak = script(labels, Scripted(labels.share, separation, ASIS), f"{name} cheap")
            with decision_server(weak) as first:
                one = {cheap: first.address}
                alone = errors(asked(dataset, metric, human, one, None))
                second.bodies.clear()
                both = errors(asked(dataset, metric, human, one | other, dear))
            after = questions(second.bodies)
            yield Cascade(name, separation, alone[2], alone[0], alone[1], by_dear[0], before, both[0], after)


def questions(bodies: Sequence[Json]) -> int:
    return sum(len(body["questions"]) for body in bodies)


def errors(outcome: AgreementOutcome) -> tuple[int, int, int]:
    """How many labelled sentences a judge is wrong about, how many it leaves open, and how many there are."""
    one = sentence_series(outcome.dataset, outcome.columns[0])
    assert one is not None, "the judge has no verdict"
    wrong = sum(said is not None and said != right for said, right in zip(one.said, one.people, strict=True))
    return wrong, len(one.said) - len(one.judged), len(one.said)


LabelledSet = tuple[str, str, str, Dataset]
_COVERED = 0.93
RECOVERY: list[object] = [
    "set",
    "fitted on",
    "held out",
    "cuts fitted",
    "known",
    "decided",
    "known",
    "wrong",
    "known",
    "covered, known",
    "covered, fitted",
]
CASCADE: list[object] = [
    "set",
    "separation",
    "sentences",
    "cheap wrong",
    "cheap open",
    "dear wrong",
    "cascade wrong",
    "asked of the dear one",
]


def recovery_table(sets: Sequence[LabelledSet]) -> tuple[list[list[object]], list[str]]:
    """A row for each set, and what is off."""
    rows, off = [RECOVERY], []
    for one in (recovery(*each) for each in sets):
        cuts = [f"{low:.2f}, {high:.3f}" for low, high in (one.cuts, one.known_cuts)]
        shares = [f"{share:.1%}" for share in (one.decided, one.known_decided, one.wrong, one.known_wrong)]
        covered = [f"{share:.1%}" for share in (one.covered, one.covered_fitted)]
        rows.append([one.set.partition(" ")[0], one.fitted_on, one.held_out, *cuts, *shares, *covered])
        for share, by in ((one.covered, "known"), (one.covered_fitted, "fitted")):
            if share < _COVERED:
                off.append(f"{one.set}: the interval covers the truth in {share:.1%} with the {by} calibration")
        if abs(one.decided - one.known_decided) > 0.05 or abs(one.wrong - one.known_wrong) > 0.03:
            off.append(f"{one.set}: the fitted cuts decide {one.decided:.1%} with {one.wrong:.1%} wrong")
    return rows, off


def cascade_table(sets: Sequence[LabelledSet]) -> tuple[list[list[object]], list[str]]:
    """A row for each set and cheap judge, and where the cascade does not pay.

    It cannot ask a third where half of the sentences are wrong: every objection is confirmed."""
    rows, off = [CASCADE], []
    for name, metric, human, dataset in sets:
        for one in cascades(name, metric, human, dataset, (1.0, SEPARATION)):
            of = f"{one.both_asked} of {one.dear_asked}"
            wrong = [one.cheap_wrong, one.cheap_open, one.dear_wrong, one.both_wrong]
            rows.append([name.partition(",")[0].partition(" ")[0], one.separation, one.sentences, *wrong, of])
            if one.separation == SEPARATION and one.both_wrong > one.dear_wrong:
                off.append(f"{name}: {one.both_wrong} errors in a cascade, {one.dear_wrong} of the dearer judge")
            if (
                one.separation == SEPARATION
                and Labels.of(dataset).share > 2 / 3
                and 3 * one.both_asked > one.dear_asked
            ):
                off.append(f"{name}: {of} questions asked of the dearer judge")
    return rows, off
