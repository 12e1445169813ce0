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

    def __init__(self, name: str = "a model") -> None:
        self.name = self.weights = name
        self.asked = 0

    def encode(self, texts: Sequence[str]) -> Embeddings:
        self.asked += len(texts)
        rows = np.array([[1 + text.count(letter) for letter in "aeiourstln"] for text in texts], dtype=np.float32)
        rows = rows.reshape(len(texts), 10)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def kept(store: Store, encoder: Counting) -> CachingEncoder:
    book = document()
    store.documents.add(book)
    return CachingEncoder(encoder, store.ancestry, book.id)


@pytest.mark.parametrize("texts", [SENTENCES, SENTENCES[:1], []], ids=["many", "one", "none"])
def test_a_list_is_encoded_once_be_it_long_or_short(tmp_path: Path, texts: list[str]) -> None:
    counting = Counting()
    with Store(tmp_path / "redraft.db") as store:
        first = kept(store, counting).encode(texts)
        assert np.allclose(first, Counting().encode(texts), atol=1e-3)
        again = kept(store, counting).encode(texts)
        assert counting.asked == len(texts)
        assert (again == first).all()
        assert np.allclose((first * first).sum(axis=1), 1.0, atol=1e-6), "a text is not exactly like itself"


def test_another_cut_another_model_and_another_document_have_their_own(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        kept(store, Counting()).encode(SENTENCES)
        for encoder, texts in ((Counting("another"), SENTENCES), (Counting(), SENTENCES[::-1])):
            kept(store, encoder).encode(texts)
            assert encoder.asked == len(SENTENCES)
        other = Counting()
        other.weights = "of another model that is called the same"
        kept(store, other).encode(SENTENCES)
        assert other.asked == len(SENTENCES)
        store.forget(documents=[document(TEXT).id])
        counting = Counting()
        kept(store, counting).encode(SENTENCES)
        assert counting.asked == len(SENTENCES)


@pytest.mark.slow
async def test_a_lineage_with_meanings_is_another_than_one_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, run = await drafted(tmp_path)
    without = read_lineage(desk.store, run)
    counting = Counting()
    found = read_lineage(desk.store, run, encoder=counting)
    assert counting.asked
    assert [one.text for one in found.sentences] == [one.text for one in without.sentences]
    monkeypatch.setattr(counting, "encode", None)
    assert read_lineage(desk.store, run, encoder=counting).sentences == found.sentences
