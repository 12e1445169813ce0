"""What a page's script needs, packed small enough to stand within the page."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from redraft.dossier.contents import Dossier
from redraft.pages.wording import kind

# The time within a packed text would make each one another.
_NO_TIME = 0


def packed(value: object) -> str:
    """A value as JSON, compressed, in letters that mean nothing in HTML."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=_NO_TIME)).decode()


def page_data(dossier: Dossier) -> dict[str, Any]:
    """What the script of a dossier goes by. Offsets count characters, as everywhere."""
    return {
        "text": dossier.document.text,
        "sections": [[one["start"], one["level"], one["title"]] for one in dossier.document.sections],
        "sentences": {
            one.number: [[source.place.start, source.place.end] for source in one.sources] for one in dossier.sentences
        },
        "findings": {
            one.number: [one.evidence.start, one.evidence.end, kind(one), one.sentence or 0]
            for one in dossier.findings
            if one.evidence is not None and one.state == "open"
        },
        "items": [
            [one.place.start, one.place.end, one.value]
            for one in dossier.items
            if one.place is not None and one.metric != "consistency"
        ],
        "drafts": [[one.number, one.text] for one in dossier.rounds],
        "calls": [
            [
                one.number,
                one.label,
                one.prompt,
                one.model,
                one.outcome,
                one.began,
                one.seconds,
                one.prompt_tokens,
                one.completion_tokens,
                one.cost_usd,
                one.error,
                one.borrowed,
            ]
            for one in dossier.calls
        ],
    }
