"""How structured replies are asked for is a setting of a run; a refusal in words leaves a gap in its summary."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import Limits
from redraft.errors import BudgetError
from tests.command import Command
from tests.judges import KEY, Court, told
from tests.llm.test_modes import mode_of


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


async def test_a_run_goes_on_in_the_form_that_it_began_with(tmp_path: Path) -> None:
    court = Court(tmp_path)
    with court.served() as server:
        with pytest.raises(BudgetError):
            await court.evaluate(told(1, 2), settings={"replies": "plain"}, limits=Limits(max_calls=1))
        run = court.store.runs.latest(1)[0]
        assert run.settings.replies == "plain"
        await court.resume(run.id, limits=Limits())
    assert len(server.seen) > 2
    assert {mode_of(seen.body) for seen in server.seen} == {"plain"}
    court.store.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", [pytest.param("tools", marks=pytest.mark.nightly), "plain"])
def test_the_command_line_has_the_form_too(tmp_path: Path, form: str) -> None:
    court = Court(tmp_path / "court")
    (tmp_path / "book.md").write_text(court.document.text, "utf-8")
    (tmp_path / "summary.md").write_text(told(1, 2), "utf-8")
    with court.served() as server:
        command = Command(tmp_path, server.base_url)
        done = command.run("evaluate", "book.md", "summary.md", "--model", "openai:m", "--replies", form, "--json")
    assert done.code == 0, done.err
    assert {mode_of(seen.body) for seen in server.seen} == {form}
    court.store.close()
