"""What a summary shows of how it was made."""

from __future__ import annotations

import pytest

from redraft.text.reply_cleanup import needs_tidying

CLEAN = (
    "Hester Vane, an accountant, comes to Sarn. She finds that the ledger for 1901 is missing, and asks who took it."
)


@pytest.mark.parametrize(
    "text",
    [
        f"In this excerpt a ledger is missing. {CLEAN}",
        f"Summary:\n{CLEAN}",
        f"## The story\n\n{CLEAN}",
        f"**Part one**\n{CLEAN}",
        f"{CLEAN} The updated summary adds that Crane died.",
        f"{CLEAN} Later Hester Vane, an accountant of Wickmouth, opens the cask.",
        f"{CLEAN} She finds that the ledger for 1901 is missing and asks who took it away.",
        "In diesem Abschnitt fehlt ein Buch.",
        "Этот отрывок говорит о книге.",
    ],
)
def test_what_betrays_the_process_or_is_said_twice_is_seen(text: str) -> None:
    assert needs_tidying(text)


@pytest.mark.parametrize(
    "text",
    [
        CLEAN,
        "The passage to the north was closed, and part of the document was burnt.",
        "Ann came. Ann left. Ann came back.",
        "Jem Lamb, the landlady's grandson, reads on. Dorcas, the landlady, waits.",
        "",
    ],
)
def test_what_is_in_order_is_left_alone(text: str) -> None:
    assert not needs_tidying(text)
