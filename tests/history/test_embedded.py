"""Embeddings of a document are made once, and belong to it, to how it was cut, and to the weights of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from redraft.report.history.lineage import CachingEncoder, read_lineage
from redraft.store.store import Store
from redraft.text.vectors import Embeddings
from tests.history.test_lineage import drafted
from tests.store.support import TEXT, document

SENTENCES = [f"Sentence {number} of many." for number in range(80)]


class Counting:
    """A model whose rows tell of the text, and which counts what it is asked."""

    def __init__(self, name: str = "a model", weights: str = "") -> None:
        self.name, self.weights = name, weights or name
        self.asked = 0

    def encode(self, texts: Sequence[str]) -> Embeddings:
        self.asked += len(texts)
        rows = np.array([[1 + text.count(letter) for letter in "aeiourstln"] for text in texts], dtype=np.float32)
        rows = rows.reshape(len(texts), 10)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def caching(store: Store, encoder: Counting) -> CachingEncoder:
    book = document()
    store.documents.add(book)
    return CachingEncoder(encoder, store.ancestry, book.id)


@pytest.mark.parametrize("texts", [SENTENCES, SENTENCES[:1], []], ids=["many", "one", "none"])
def test_a_list_is_encoded_once(tmp_path: Path, texts: list[str]) -> None:
    counting = Counting()
    with Store(tmp_path / "redraft.db") as store:
        first = caching(store, counting).encode(texts)
        second = caching(store, counting).encode(texts)
    assert np.allclose(first, Counting().encode(texts), atol=1e-3)
    assert counting.asked == len(texts)
    assert (second == first).all()
    assert np.allclose((first * first).sum(axis=1), 1.0, atol=1e-6), "a text is not exactly like itself"


def test_vectors_belong_to_cut_model_and_document(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        caching(store, Counting()).encode(SENTENCES)
        for encoder, texts in (
            (Counting("another"), SENTENCES),
            (Counting(), SENTENCES[::-1]),
            (Counting(weights="of another model of the same name"), SENTENCES),
        ):
            caching(store, encoder).encode(texts)
            assert encoder.asked == len(SENTENCES)
        store.forget(documents=[document(TEXT).id])
        caching(store, counting := Counting()).encode(SENTENCES)
        assert counting.asked == len(SENTENCES)


@pytest.mark.slow
async def test_a_lineage_with_embeddings_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, run = await drafted(tmp_path)
    without, counting = read_lineage(desk.store, run), Counting()
    lineage = read_lineage(desk.store, run, encoder=counting)
    assert counting.asked
    assert [sentence.text for sentence in lineage.sentences] == [sentence.text for sentence in without.sentences]
    monkeypatch.setattr(counting, "encode", None)
    assert read_lineage(desk.store, run, encoder=counting).sentences == lineage.sentences
