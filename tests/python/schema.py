"""Complaints about a document, by the part of JSON Schema that docs/json/ uses; a keyword that is
not known is a complaint too."""

import json

import place

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float)}


def _has_type(name, value):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _complaints(schema, value, path=""):
    for key, rule in schema.items():
        if key == "type" and not _has_type(rule, value) or key == "const" and value != rule:
            yield f"{path}: {key}: {value!r}"
        elif key == "required":
            yield from (f"{path}: {name} is missing" for name in rule if name not in value)
        elif key == "items" and isinstance(value, list):
            for i, item in enumerate(value):
                yield from _complaints(rule, item, f"{path}/{i}")
        elif key == "properties" and isinstance(value, dict):
            for name, item in value.items():
                if name in rule:
                    yield from _complaints(rule[name], item, f"{path}/{name}")
                elif not schema.get("additionalProperties", True):
                    yield f"{path}: {name} is not known"
        elif key not in ("$schema", "title", "type", "const", "items", "properties",
                         "additionalProperties"):
            yield f"{path}: the keyword {key}"


def complaints(document):
    """By the schema that the document names."""
    name = document["schema"].split("/")[1]
    schema = json.loads((place.ROOT / f"docs/json/{name}.schema.json").read_text())
    return list(_complaints(schema, document))
