"""What an encoder has said of a document is kept: who judges by it again, in another process, encodes it no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from redraft import Session
from redraft.readers.documents import load
from redraft.runs import job, prepare
from redraft.settings import JudgeConfig
from redraft.text.languages import language_spans_of
from redraft.text.origins import indexed
from redraft.text.sentences import sentences
from redraft.text.vectors import Embeddings, load_encoder
from tests.history.test_embedded import Counting

SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "the-salt-ledger.md"
METRICS = ("coverage", "consistency", "faithfulness", "position", "spread")
SUMMARIES = (
    "Hester Vane came to the island of Sarn on Monday, 3 March 1924. She was afraid of the causeway.",
    "Hester Vane came to the island of Sarn on Monday, 3 March 1924. Nobody was glad of her ledger.",
)


class Noting(Counting):
    """Which texts it is asked about, and how often."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: Counter[str] = Counter()

    def encode(self, texts: Sequence[str]) -> Embeddings:
        self.texts.update(texts)
        return super().encode(texts)


async def judged(database: Path, monkeypatch: pytest.MonkeyPatch, summary: str) -> Counter[str]:
    """What is encoded in a process that has but the database in common with those before it."""
    encoder = Noting()
    for module in (job, prepare):
        monkeypatch.setattr(module, load_encoder.__name__, lambda _: encoder)
    async with Session(database) as session:
        judging = JudgeConfig(embeddings="a model", metrics=METRICS)
        done = await session.evaluate(str(SAMPLE), summary, judging=judging)
    assert {one.outcome for one in done.evaluations.values()} <= {"scored", "measured", "failed"}
    assert done.evaluations["position"].judged
    return encoder.texts


def told(summary: str) -> set[str]:
    return {summary[span.start : span.end] for span in sentences(summary)}


@pytest.mark.nightly
async def test_a_document_is_encoded_once_whoever_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await judged(tmp_path / "redraft.db", monkeypatch, SUMMARIES[0])
    sample = load(str(SAMPLE))
    document = Counter(indexed(sample.text, language_spans_of(sample)).texts)
    made = {text: first[text] for text in document if text not in told(SUMMARIES[0])}
    assert made == {text: document[text] for text in made}, "two metrics have had it encoded at once"
    again = await judged(tmp_path / "redraft.db", monkeypatch, SUMMARIES[0])
    assert not again, "what judges have looked for and the summary itself are known as well"
    other = await judged(tmp_path / "redraft.db", monkeypatch, SUMMARIES[1])
    assert other
    assert all(any(one in text for one in told(SUMMARIES[1])) for text in other)
