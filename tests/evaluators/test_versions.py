"""A metric whose judges are shown other places than before is another metric: its figures hold no longer."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from redraft.agents.evidence import FAR, EvidenceQuery, EvidenceReader, ReadingPlan
from redraft.evaluators.catalog import built_in
from redraft.readers.documents import load
from redraft.text.retrieval import Passages
from redraft.text.sentences import sentences
from redraft.text.tokens import EstimatingTokenizer

SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "the-salt-ledger.md"
READ = "64a60198d169"
"""What is read for the sentences below. Whoever has to write another one here makes the versions beside it higher."""
VERSIONS = {"coverage": 8, "consistency": 9, "faithfulness": 5}


@pytest.mark.nightly
def test_reading_goes_with_the_metric_version() -> None:
    source, tokenizer = load(str(SAMPLE)), EstimatingTokenizer()
    reader = EvidenceReader(source, Passages(source, tokenizer), tokenizer, 8192, tokenizer.count(source.text))
    items = [source.text[sentence.start : sentence.end] for sentence in sentences(source.text)][::25]
    questions = [f"Who was it of whom this is said: {sentence.split(',')[0]}?" for sentence in items]
    looks = ReadingPlan(
        reader, [EvidenceQuery(sentence) for sentence in (*items, *questions)], each=100, near=8, far=16
    )
    numbers = range(len(looks.items))
    wider = looks.nearest(numbers, FAR, wide=True)
    read = [looks.nearest(numbers), wider, looks.closer(numbers), *looks.parts(numbers)]
    digest = hashlib.sha256(str([look.spans for batches in read for look in batches]).encode()).hexdigest()[:12]
    assert (digest, {name: built_in(name).version for name in VERSIONS}) == (READ, VERSIONS)
