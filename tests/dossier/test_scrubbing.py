"""Nothing of the machine goes out with a dossier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.text.sanitizer import scrubbed, scrubbed_all


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("/home/ann/secret project/book.db: it is locked", "secret project/book.db: it is locked"),
        ("/home/ann/models/minilm", "minilm"),
        ("nli:/srv/models/deberta", "nli:deberta"),
        ("~/prompts/mine", "mine"),
        (r"C:\Users\Ann\prompts", "prompts"),
        (r"the file 'D:\books\a.txt' is empty", "the file 'a.txt' is empty"),
        ("(/opt/redraft/cache/x)", "(x)"),
        ("https://ann:pass@models.example.org/v1", "https://models.example.org/v1"),
        ("http://127.0.0.1:8080/v1/chat/completions", "http://127.0.0.1:8080/v1/chat/completions"),
        ("openai/gpt-5-mini", "openai/gpt-5-mini"),
        ("and/or either/or", "and/or either/or"),
        ("11/12 chunks, level 1/2", "11/12 chunks, level 1/2"),
        ("It answers yes/no.", "It answers yes/no."),
    ],
)
def test_of_a_path_the_last_name_is_left(said: str, left: str) -> None:
    assert scrubbed(said) == left


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=5), min_size=2, max_size=6))
def test_no_directory_of_an_absolute_path_is_left(names: list[str]) -> None:
    directories = [f"dir{at}{name}" for at, name in enumerate(names)]
    assert scrubbed(f"cannot read /{'/'.join(directories)}") == f"cannot read {directories[-1]}"


def test_every_text_within_a_value_is_scrubbed_and_nothing_else() -> None:
    value = {"prompts": "/home/ann/p", "n": 3, "none": None, "judges": ["/home/ann/m", "extractive"], "on": True}
    assert scrubbed_all(value) == {"prompts": "p", "n": 3, "none": None, "judges": ["m", "extractive"], "on": True}
