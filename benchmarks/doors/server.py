"""A judge for any library: redraft's own prompts are judged by rules, all others get the least reply that fits."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from tests.chatserver import Seen, text_of
from tests.judges import Keepers, seen_on, shapes

_PLAIN = '{"score": 8, "reason": "It is."}\nGRADE: C'


def judge(seen: Seen) -> str:
    """Reply to a request as a lenient judge."""
    form = (seen.body.get("response_format") or {}).get("json_schema") or {}
    tool = (seen.body.get("tools") or [{}])[0].get("function") or {}
    name, schema = form.get("name") or tool.get("name"), form.get("schema") or tool.get("parameters")
    if name in shapes():
        said = Keepers()(seen_on(seen))
        return said if isinstance(said, str) else json.dumps(said)
    if not schema and seen.body.get("response_format"):
        schema = _shown("\n".join(text_of(message) for message in seen.messages))
    return json.dumps(_least(schema, schema)) if schema else _PLAIN


def _shown(prompt: str) -> dict[str, Any]:
    """Return the last JSON Schema in a prompt."""
    found: dict[str, Any] = {}
    for at in re.finditer(r"\{(?=\s*\")", prompt):
        with suppress(ValueError):
            one, _ = json.JSONDecoder().raw_decode(prompt, at.start())
            found = one if isinstance(one, dict) and one.get("type") == "object" and "title" in one else found
    return found


def _least(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Return the most favorable small value that fits a schema."""
    if "$ref" in schema:
        return _least(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if found := schema.get("anyOf") or schema.get("allOf"):
        return _least(found[0], root)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            return {name: _least(one, root) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [_least(schema.get("items", {"type": "string"}), root)]
        case "integer" | "number":
            return schema.get("maximum", 1)
        case "boolean":
            return True
    return "yes"
