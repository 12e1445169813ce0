"""The words that metrics report in and that those who show a report know, apart from the metrics themselves.

Whoever only shows what was found needs none of the machinery that found it, which takes a while to import.
"""

from __future__ import annotations

PREFERENCE = "preference"
"""Under which the comparison of two summaries is on record."""
UNSUPPORTED = "unsupported"
"""A sentence about which the document says nothing."""
NONE = "none"
"""The level of a sentence that states no key fact."""
