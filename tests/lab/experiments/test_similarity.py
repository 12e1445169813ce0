"""How alike statements are, by their words and by their meanings."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest

from redraft.lab.experiments.reading import EmbeddingSimilarity, TermSimilarity
from redraft.text.vectors import Embeddings


def test_words_weigh_by_their_rarity() -> None:
    likeness = TermSimilarity("Ann slept. Ben slept. Cleo came.")
    # Three sentences: "slept" is in two of them, "Ann" in one; "Dora" is in none, and as rare as any that is.
    slept, ann, dora = (log(3 / count) for count in (2, 1, 1))
    actual = likeness.between(["Ann slept.", "Dora slept."], ["Ben slept.", "ANN slept!", "And then?", "Dora slept."])
    assert actual[0] == pytest.approx([slept**2 / (slept**2 + ann**2), 1.0, 0.0, actual[1][1]], abs=1e-5)
    assert actual[1][0] == pytest.approx(slept**2 / ((slept**2 + ann**2) * (slept**2 + dora**2)) ** 0.5, abs=1e-5)
    assert actual[1][3] == 1.0
    assert likeness.between([], ["Ann slept."]).shape == (0, 1)
    assert (likeness.name, likeness.threshold) == ("TF-IDF cosine", 0.5)


def test_meanings_use_the_encoder_and_its_threshold() -> None:
    class Four:
        name = weights = "four"

        def encode(self, texts: Sequence[str]) -> Embeddings:
            rows = {"north": (0.0, 1.0), "east": (1.0, 0.0), "north-east": (0.6, 0.8), "south": (0.0, -1.0)}
            return np.array([rows[text] for text in texts], dtype=np.float32)

    likeness = EmbeddingSimilarity(Four())
    assert likeness.between(["north"], ["north", "east", "north-east", "south"])[0] == pytest.approx([1, 0, 0.8, 0])
    assert (likeness.name, likeness.threshold) == ("cosine of four", 0.7)
