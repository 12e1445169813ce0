"""The commands of research need an extra."""

from __future__ import annotations

import importlib.util

import pytest

from redraft.cli.main import main


@pytest.mark.parametrize(
    "words",
    [
        ("agree", "labels.jsonl"),
        ("agree", "read", "sheet.csv"),
        ("experiment", "booookscore", "--summaries", "summaries.json"),
        ("experiment", "grid", "book.md", "-m", "extractive"),
    ],
)
def test_commands_say_which_extra_they_need(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("redraft.plugins.find_spec", lambda name: None if name == "sklearn" else find(name))
    with pytest.raises(SystemExit) as exited:
        main(words)
    assert exited.value.code == 2
    message = capsys.readouterr().err
    assert "needs sklearn, which is not installed" in message
    assert 'pip install "redraft[lab]"' in message
