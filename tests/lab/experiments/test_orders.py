"""Orders of experiments: their defaults, what they refuse, and which models get the usual key."""

from __future__ import annotations

import pytest

from redraft import DraftConfig
from redraft.errors import UsageError
from redraft.fields import validated
from redraft.lab.experiments.orders import Asked, GridOrder, NamedModel, QaOrder, Seats
from redraft.settings import NO_KEY

HERE, ELSEWHERE = "http://127.0.0.1:8080/v1", "http://127.0.0.1:9090/v1"


def model(name: str, base_url: str | None = None, **more: str) -> DraftConfig:
    return DraftConfig.model_validate({"model": name, "base_url": base_url, **more})


def seated(writer: DraftConfig, judge: DraftConfig) -> Seats:
    return Seats(writers=(NamedModel("writer", writer),), judges=(NamedModel("judge", judge),))


def test_orders_keep_what_they_are_given() -> None:
    assert GridOrder().chunk_sizes == (2048,)
    assert [QaOrder(similarity=name).similarity for name in ("exact", "cosine")] == ["exact", "cosine"]
    with pytest.raises(UsageError, match="similarity"):
        validated(QaOrder, Asked({"similarity": "judge"}).fields(QaOrder))


@pytest.mark.parametrize(("count", "problem"), [(0, "no model judges"), (2, "only one model can judge")])
def test_one_judge_is_required(count: int, problem: str) -> None:
    judges = tuple(NamedModel(f"j{number}", model("extractive")) for number in range(count))
    with pytest.raises(UsageError, match=problem):
        _ = Asked({}, judges=judges).judge


def test_usual_key_goes_to_one_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one, where none is OpenAI or named by OPENAI_BASE_URL."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    here, elsewhere = model("openai:m", HERE), model("openai:m", ELSEWHERE)
    assert seated(here, model("extractive")).keyed(here) == here
    both = seated(here, elsewhere)
    assert [both.keyed(each).key_env for each in (here, elsewhere)] == [None, NO_KEY]
    for unchanged in (model("extractive"), model("openai:m", ELSEWHERE, key_env="OWN_KEY")):
        assert seated(here, unchanged).keyed(unchanged) == unchanged
