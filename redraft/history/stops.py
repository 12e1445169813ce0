"""Why runs go no further, in words."""

from __future__ import annotations

STOPS = {
    "goals_met": "every goal is met",
    "rounds": "no more rounds are allowed",
    "no_progress": "two revisions in a row were refused",
    "nothing_to_fix": "there is nothing left to try",
    "unsure": "too few items have a verdict to tell whether every goal is met",
    "decided": "the model that leads it saw nothing more to gain",
    "first_draft_preferred": "the first draft reads better than the best of the revisions, and is the result",
    "budget": "the budget is used up",
    "cancelled": "it was stopped",
}
"""By the reason that is on record for it."""
