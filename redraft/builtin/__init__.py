"""The built-in model, which needs no key and no network."""

NOT_UNDERSTOOD = "the built-in model cannot follow requests in words"
"""What it says that it cannot do."""
