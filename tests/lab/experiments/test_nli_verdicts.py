"""What is said of a claim, by odds that are made up: no model is needed to see when something is said, and when not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.evaluators.factual import SentenceVerdict, verify_sentences
from redraft.llm.nli import (
    NO_ANSWER,
    ClaimAnswer,
    Entailment,
    EntailmentScores,
    check_claims,
    open_entailment,
)
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import UNSURE as UNSURE_SAID
from redraft.prompts.qa import Statement
from redraft.runs.models import price_of, resolve
from redraft.settings import DraftConfig
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer

YES, NO, NEITHER, UNSURE = (
    EntailmentScores(0.95, 0.03, 0.02),
    EntailmentScores(0.01, 0.04, 0.95),
    EntailmentScores(0.02, 0.96, 0.02),
    EntailmentScores(0.4, 0.3, 0.3),
)
LABELS = {0: "contradiction", 1: "entailment", 2: "neutral"}
FERRY, BRIDGE, MILL = "The ferry sank in March.", "The bridge was built of stone.", "The mill burned down."


class Words:
    """In the place of a cross-encoder: a token a word, and odds by the premise and the claim."""

    def __init__(self, odds: Callable[[str, str], EntailmentScores], length: int = 64) -> None:
        self.config = SimpleNamespace(id2label=LABELS, max_position_embeddings=length + 2)
        self.max_seq_length = None
        self.tokenizer = _Tokenizer()
        self.asked: list[list[tuple[str, str]]] = []
        self._odds = odds

    def predict(self, pairs: list[tuple[str, str]], **options: Any) -> Any:
        self.asked.append(pairs)
        assert options["apply_softmax"] is True
        scores = [self._odds(*pair) for pair in pairs]
        return np.array([[score.contradiction, score.entailment, score.neutral] for score in scores])


class _Tokenizer:
    model_max_length = 10**30

    def num_special_tokens_to_add(self, pair: bool) -> int:
        return 3

    def __call__(self, text: str, **options: Any) -> dict[str, list[int]]:
        return {"input_ids": [0] * len(text.split())}


def said(
    claim: str, passages: list[str], odds: Callable[[str, str], EntailmentScores], length: int = 64
) -> ClaimAnswer:
    return check_claims(Entailment("made-up", Words(odds, length)), [claim], passages)[0]


def told(answer: ClaimAnswer) -> tuple[str, str, set[int]]:
    """Why which verdict is given, with its probability, the sentence that it rests on, and where its texts are."""
    assert answer.verdict in answer.reason
    return answer.reason.removeprefix("The entailment model: "), answer.quote, set(answer.places)


BOTH = f"{FERRY} {MILL}"


@pytest.mark.parametrize(
    ("claim", "passages", "odds", "verdict"),
    [
        ("The ferry.", [BRIDGE, FERRY], {FERRY: YES, "": NO}, ("supported (0.95).", FERRY, {1})),
        ("Ferry and mill.", [FERRY, BRIDGE, MILL], {BOTH: YES, "": NEITHER}, ("supported (0.95).", FERRY, {0, 2})),
        # Only the nearest passage contradicts.
        ("The ferry sank in May.", [BRIDGE, FERRY], {FERRY: NO, "": NEITHER}, ("contradicted (0.94).", FERRY, {1})),
        ("The ferry sank in May.", [BRIDGE, FERRY], {BRIDGE: NO, "": NEITHER}, ("absent (0.96).", "")),
        ("The king died.", [BRIDGE, FERRY], {"": NEITHER}, ("absent (0.96).", "")),
        ("The ferry sank.", [FERRY], {"": UNSURE}, ("unsure (0.40).", "")),
    ],
)
def test_verdicts_follow_the_odds_of_passages(
    claim: str, passages: list[str], odds: dict[str, EntailmentScores], verdict: tuple[object, ...]
) -> None:
    answer = said(claim, passages, lambda premise, _: odds.get(premise, odds[""]))
    assert told(answer)[: len(verdict)] == verdict


def test_nothing_is_said_without_passages() -> None:
    assert said("The ferry sank.", [], lambda *_: YES) == NO_ANSWER


def test_pairs_fit_and_are_scored_once() -> None:
    words = Words(lambda *_: UNSURE, length=64)
    model, long = Entailment("made-up", words), " ".join([FERRY, BRIDGE, MILL] * 40)
    claims = ["The ferry sank in March.", "The mill burned down."]
    check_claims(model, claims, [long, "x" * 500, FERRY])
    check_claims(model, claims, [long, "x" * 500, FERRY])
    (pairs,) = words.asked
    assert len(pairs) == len(set(pairs))
    assert all(len(premise.split()) + len(claim.split()) + 3 <= 64 for premise, claim in pairs)
    assert model.length == 64
    assert check_claims(model, ["word " * 40], [FERRY]) == [NO_ANSWER]


async def verified(scores: EntailmentScores, db: Path) -> list[SentenceVerdict]:
    """What an agent makes of a sentence and of one that is too long, by verdict or left open."""
    document = Document.from_text(f"{FERRY} {BRIDGE}")
    tokenizer = Tokenizer()
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, 2048, 100)
    model = Entailment("made-up", Words(lambda *_: scores))
    statements = [Statement(id=1, sentence="The ferry sank."), Statement(id=2, sentence="word " * 60)]
    with Store(db) as store:
        judge = Judge(model, PromptBook("standard"), store.verdicts)
        account = await verify_sentences(judge, statements, reader, None)
        return [verdict for _, verdict in sorted((account.verdicts | account.undecided).items())]


async def test_uncertain_and_long_claims_are_undecided(tmp_path: Path) -> None:
    for n, (supported, verdict) in enumerate([(0.81, "none"), (0.79, "unsure"), (0.21, "unsure"), (0.19, "sentence")]):
        scores = EntailmentScores(supported, 0.0, 1 - supported)
        verdicts = await verified(scores, tmp_path / f"{n}.db")
        assert [verdict.category for verdict in verdicts] == [verdict, UNSURE_SAID]


def test_judge_is_free_and_known_by_name(tmp_path: Path) -> None:
    settings = resolve(DraftConfig(model="nli:cross-encoder/nli-deberta-v3-base", base_url="http://localhost:1/v1"))
    assert settings.base_url is None
    assert price_of(settings, None) is not None  # type: ignore[arg-type]
    assert open_entailment("cross-encoder/nli-deberta-v3-base").identity == "nli:cross-encoder/nli-deberta-v3-base:4"
    assert open_entailment(str(tmp_path)).identity.startswith(f"nli:{os.path.abspath(tmp_path)}:4:")
    with pytest.raises(UsageError, match="no such folder"):
        open_entailment("./nowhere")
    with pytest.raises(UsageError, match="there is no model"):
        resolve(DraftConfig(model="nli:"))


@pytest.mark.parametrize(
    ("fine", "names"),
    [
        (0, ("entailment", "not_entailment")),
        (0, ("supported", "unsupported")),
        (0, ("consistent", "hallucinated")),
        (1, ("Not supported", "Supported")),
    ],
)
def test_two_classes_never_contradict(fine: int, names: tuple[str, str]) -> None:
    class Pairs(Words):
        def predict(self, pairs: list[tuple[str, str]], **_: Any) -> Any:
            odds = {True: (0.95, 0.05), False: (0.05, 0.95)}
            return np.array([odds[(premise == FERRY) != bool(fine)] for premise, _claim in pairs])

    words = Pairs(lambda *_: YES)
    words.config.id2label = dict(enumerate(names))
    model = Entailment("made-up", words)
    (with_ferry,) = check_claims(model, ["The ferry sank."], [BRIDGE, FERRY])
    assert told(with_ferry) == ("supported (0.95).", FERRY, {1})
    (with_mill,) = check_claims(model, ["The ferry sank."], [BRIDGE, MILL])
    assert told(with_mill)[:2] == ("absent (0.95).", "")
