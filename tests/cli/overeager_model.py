"""A judge of key facts who finds too much, and a validator who sees it."""

from __future__ import annotations

from typing import Any, cast

from tests.judges import PerfectModel, ScriptedReply, Sheet, fact_of

NO_ITEM = fact_of(99, "Nemo")
HEARSAY = "The keeper number 12 is called Tom12 by Nemo."
UNIMPORTANT = fact_of(3)


class OvereagerModel(PerfectModel):
    """Finds a keeper who is not there, too, and thinks little of the third.

    On an island of twelve that is a tree of 14 facts, of which 3 are pruned, and one of 12, of which 2 are.
    """

    def keyfacts_analytical(self, sheet: Sheet) -> ScriptedReply:
        tree = cast(dict[str, Any], super().keyfacts_analytical(sheet))
        tree["roots"][-1]["branches"].append({"fact": NO_ITEM, "leaves": [HEARSAY]})
        return tree

    def facts_significant(self, sheet: Sheet) -> ScriptedReply:
        return {
            "facts": [
                {"id": n, "reason": "as it seems", "verdict": "fail" if item["fact"] == UNIMPORTANT else "pass"}
                for n, item in sheet.items("facts").items()
            ]
        }
