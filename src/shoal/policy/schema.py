"""The JSON Schema of a policy's YAML file, for editors."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from shoal.policy.presets import PRESETS
from shoal.registry import Frozen


def file_schema(policy: type[Frozen]) -> dict[str, Any]:
    """Return the JSON Schema of what a file may say: presets among the models, names in place of mappings."""
    schema = policy.model_json_schema()
    schema["$schema"] = GenerateJsonSchema.schema_dialect
    schema |= {"title": "shoal policy", "description": "What is promised about a release, and how it is kept."}
    names_list = {"type": "array", "items": {"type": "string"}}
    known = {"enum": sorted(PRESETS)}
    schema["properties"]["presets"]["items"] = known
    schema["properties"]["models"]["items"]["oneOf"].append(
        {"type": "object", "properties": {"preset": known}, "required": ["preset"], "additionalProperties": False}
    )
    for role in ("identifiers", "quasi_identifiers", "sensitive"):
        mapping = {key: value for key, value in schema["properties"][role].items() if key != "description"}
        schema["properties"][role] = {
            "description": schema["properties"][role].get("description", ""),
            "anyOf": [mapping, names_list],
        }
    return schema
