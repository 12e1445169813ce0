"""What all items of a batch are made under, as it is stored; and the names that follow from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from redraft.domain import content_id
from redraft.readers.choosing import Choice
from redraft.runs.preparing import Order
from redraft.settings import Judging, Refinement, Settings, with_draft

BATCH = "batch"
"""What the runs of a batch are on record as made for."""
_NAME_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """How each document is read, summarized, judged and redrafted."""

    settings: Settings
    judging: Judging | None = None
    refinement: Refinement | None = None
    reading: Choice = field(default_factory=Choice)

    @property
    def order(self) -> Order:
        """What each run is for."""
        return Order(with_draft(self.judging, self.refinement), experiment=BATCH)

    def to_json(self) -> dict[str, Any]:
        """As it is stored: what nobody has set is not in it, and is found out for each run."""
        return {
            "settings": self.settings.model_dump(mode="json", exclude_unset=True),
            "judging": self.judging.model_dump(mode="json") if self.judging else None,
            "refinement": self.refinement.model_dump(mode="json") if self.refinement else None,
            "reading": asdict(self.reading) | {"skip": list(self.reading.skip)},
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Asked:
        """As it was stored."""
        reading = stored["reading"]
        return cls(
            Settings.model_validate(stored["settings"]),
            Judging.model_validate(stored["judging"]) if stored["judging"] else None,
            Refinement.model_validate(stored["refinement"]) if stored["refinement"] else None,
            Choice(**reading | {"skip": tuple(reading["skip"])}),
        )

    def keys(self) -> list[str]:
        """The environment variables that the settings name for keys."""
        return sorted(set(_key_variables(self.to_json())))

    def name(self, sources: Sequence[str], folder: str) -> str:
        """What a batch of these sources is called where nobody has named it: the same for the same command."""
        asked = self.to_json()
        if asked["refinement"]:
            # Whether its goals count makes no other batch of it.
            del asked["refinement"]["allow_self_check"]
        return content_id(json.dumps([asked, list(sources), folder], sort_keys=True))[:_NAME_LENGTH]


def pot_of(batch: str) -> str:
    """What all workers of a batch draw their budget from."""
    return content_id(f"{BATCH}\n{batch}")


def _key_variables(asked: Any) -> Iterator[str]:
    """Whatever stands under `key_env`, of whichever model."""
    if isinstance(asked, Mapping):
        for name, value in asked.items():
            if name == "key_env" and value:
                yield value
            else:
                yield from _key_variables(value)
    elif isinstance(asked, list):
        for one in asked:
            yield from _key_variables(one)
