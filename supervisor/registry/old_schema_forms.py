"""Schemas in the forms of older drafts of JSON Schema, and of OpenAPI 3.0, in the form of draft 2020-12. Pure.

Many programs that write schemas still use these forms: their meaning is clear, and the model's API refuses them.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from supervisor.registry.plain_schema import NAMED_SCHEMAS, ONE_SCHEMA, SCHEMA_LISTS, is_number
from supervisor.registry.schema_rules import RULES

OLD_DRAFTS = ("http://json-schema.org/draft-0", "https://json-schema.org/draft-0", "https://json-schema.org/draft/2019")
"""How `$schema` begins in a schema of an older draft."""
_ANCHOR = re.compile("[A-Za-z_][-A-Za-z0-9._]*")
LIMITS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
OLD_WORDS = frozenset({
    "$id", "$recursiveAnchor", "$recursiveRef", "dependencies", "exclusiveMaximum", "exclusiveMinimum", "id",
    "nullable",
})  # fmt: skip
"""Keywords that another form may stand for, but for `items`, `required` and `type`, which nearly every schema has."""
WHOLE_VALUE = ("$ref", "allOf", "anyOf", "const", "if", "not", "oneOf")
"""Keywords that may refuse null whatever `type` and `enum` say."""
SAID_OUTSIDE = ("$anchor", "$defs", "$id", "default", "definitions", "deprecated", "description", "examples", "title")
"""Keywords that stay where they are when a schema becomes one of several."""


def renew_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with each of these in the form of draft 2020-12; all else as it is:

    - a list in `items` (draft 3 to 2019-09) is `prefixItems`, and `additionalItems` beside it is `items`;
    - true in `exclusiveMinimum` or `exclusiveMaximum` (draft 3 and 4) stands there for the limit itself;
    - true in `required` of a property (draft 3) is its name in the `required` of the object; the type "any" is no type;
    - `dependencies` (draft 3 to 7) are `dependentRequired` and `dependentSchemas`;
    - `#name` in `id` or `$id` (draft 4 to 7) is `$anchor`; `$recursiveRef` (2019-09) is `$ref`;
    - true in `nullable` (OpenAPI 3.0) also takes null;
    - null for a keyword, which encoders write for what is not set, is no keyword;
    - `$schema` goes if it names an older draft and something has changed.

    A reference of the form `#/…` leads to the same part afterwards."""
    renewed: dict[str, Any] = _Renewal(schema).of(schema, is_top=True)
    if renewed != schema and str(renewed.get("$schema")).startswith(OLD_DRAFTS):
        del renewed["$schema"]
    return renewed


class _Renewal:
    """The renewal of one schema: references are looked up in the whole of it."""

    def __init__(self, whole: dict[str, Any]) -> None:
        self._whole = whole

    def of(self, schema: Any, *, is_top: bool = False) -> Any:
        """A part in the new form. A part that is no schema stays as it is."""
        if type(schema) is not dict:
            return schema
        new = {word: self._rule(word, rule) for word, rule in schema.items() if rule is not None or not _is_unset(word)}
        if type(new.get("items")) is list:
            _renew_tuple(new)
        if "properties" in new or "required" in new:
            _renew_required(new, schema)
        if (types := new.get("type")) == "any" or (type(types) is list and "any" in types):
            del new["type"]
        if new.keys().isdisjoint(OLD_WORDS):  # true of most schemas
            return new
        _renew_limits(new)
        _renew_dependencies(new)
        _renew_names(new)
        is_nullable = type(new.get("nullable")) is bool and new.pop("nullable")
        return _with_null(new) if is_nullable and not is_top else new

    def _rule(self, word: str, rule: Any) -> Any:
        if (word in ONE_SCHEMA or word in SCHEMA_LISTS) and type(rule) is list:
            return [self.of(inner) for inner in rule]
        if word in ONE_SCHEMA or word == "additionalItems":
            return self.of(rule)
        if (word in NAMED_SCHEMAS or word == "dependencies") and type(rule) is dict:
            return {name: self.of(inner) for name, inner in rule.items()}
        if word == "$ref" and type(rule) is str and rule.startswith("#/"):
            return self._reference(rule)
        return rule

    def _reference(self, reference: str) -> str:
        """Where the part that a reference names lies afterwards."""
        steps = reference.split("/")
        here: Any = self._whole
        for at, step in enumerate(steps[1:], 1):
            if type(here) is dict:
                if _is_tuple(here) and step in ("items", "additionalItems"):
                    steps[at] = "prefixItems" if step == "items" else "items"
                here = here.get(unquote(step).replace("~1", "/").replace("~0", "~"))
            elif type(here) is list and step.isdecimal() and int(step[:9]) < len(here):
                here = here[int(step[:9])]
            else:
                break
        return "/".join(steps)


def _is_unset(word: str) -> bool:
    """Whether null for this keyword, which is no value for it, says that it is not set."""
    return word in RULES or word in ONE_SCHEMA


def _is_tuple(schema: dict[str, Any]) -> bool:
    return type(schema.get("items")) is list and "prefixItems" not in schema


def _renew_tuple(new: dict[str, Any]) -> None:
    if _is_tuple(new):
        items = new.pop("items")
        if items:
            new["prefixItems"] = items
        if "additionalItems" in new:
            new["items"] = new.pop("additionalItems")


def _renew_limits(new: dict[str, Any]) -> None:
    for limit, exclusive in LIMITS:
        if type(new.get(exclusive)) is bool and new.pop(exclusive) and is_number(new.get(limit)):
            new[exclusive] = new.pop(limit)


def _renew_required(new: dict[str, Any], old: dict[str, Any]) -> None:
    """`old` is the schema before its properties were renewed."""
    if type(new.get("required")) is bool:
        del new["required"]
    properties = old.get("properties")
    if type(properties) is not dict:
        return
    named = [name for name, rule in properties.items() if type(rule) is dict and rule.get("required") is True]
    if named and type(said := new.get("required", [])) is list:
        known = set(filter(_is_text, said))
        new["required"] = [*said, *(name for name in named if name not in known)]


def _is_text(value: Any) -> bool:
    return type(value) is str


def _renew_dependencies(new: dict[str, Any]) -> None:
    rules = new.get("dependencies")
    if type(rules) is not dict or "dependentRequired" in new or "dependentSchemas" in new:
        return
    del new["dependencies"]
    names = {name: [rule] if type(rule) is str else rule for name, rule in rules.items() if type(rule) in (str, list)}
    schemas = {name: rule for name, rule in rules.items() if name not in names}
    if names:
        new["dependentRequired"] = names
    if schemas:
        new["dependentSchemas"] = schemas


def _renew_names(new: dict[str, Any]) -> None:
    for word in ("id", "$id"):
        base, hash_sign, name = new[word].partition("#") if type(new.get(word)) is str else ("", "", "")
        if hash_sign and _ANCHOR.fullmatch(name) and (word == "$id" or not base):
            new.setdefault("$anchor", name)
            del new[word]
            if base:
                new[word] = base
    if type(new.get("$recursiveAnchor")) is bool:
        del new["$recursiveAnchor"]
    if new.get("$recursiveRef") == "#" and "$ref" not in new:
        new["$ref"] = new.pop("$recursiveRef")


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, which then takes null, too."""
    if any(word in schema for word in WHOLE_VALUE):
        outside = {word: schema.pop(word) for word in SAID_OUTSIDE if word in schema}
        return {**outside, "anyOf": [schema, {"type": "null"}]}
    types, values = schema.get("type"), schema.get("enum")
    if type(types) is str and types != "null":
        schema["type"] = [types, "null"]
    elif type(types) is list and "null" not in types:
        schema["type"] = [*types, "null"]
    if type(values) is list and None not in values:
        schema["enum"] = [*values, None]
    return schema
