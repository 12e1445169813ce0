"""The built-in model takes a sentence apart only where it is safe to."""

from __future__ import annotations

import pytest

from redraft.builtin.facts.splitting import split_facts
from redraft.prompts.facts import FactsGiven
from redraft.prompts.judging import Statement


def facts(sentence: str) -> list[str]:
    return split_facts(FactsGiven(sentences=[Statement(id=1, sentence=sentence)])).sentences[0].facts


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        (
            "Hester lit the lamp, and Abram rowed to the mainland.",
            ["Hester lit the lamp.", "Abram rowed to the mainland."],
        ),
        ("Hester lit the lamp; Abram rowed home.", ["Hester lit the lamp.", "Abram rowed home."]),
        # Who "she" is stands in the other clause, and what was "later" done has no name at all.
        ("Hester lit the lamp, and she rowed home.", ["Hester lit the lamp, and she rowed home."]),
        ("Hester lit the lamp, and later rowed home.", ["Hester lit the lamp, and later rowed home."]),
        ("Hester bought bread, and Abram's boat.", ["Hester bought bread, and Abram's boat."]),
        ("Who lit the lamp?", []),
        ("# The Lamp", []),
        ("The Lamp", []),
    ],
)
def test_a_clause_is_a_fact_where_it_has_a_name_and_a_verb_of_its_own(sentence: str, parts: list[str]) -> None:
    assert facts(sentence) == parts
