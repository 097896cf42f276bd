"""Hypothesis strategies for schemas at the edges of what a validator takes: places that are none, patterns that are no
regular expressions, drafts that nobody knows, references in circles, numbers without measure."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from supervisor.registry.plain_schema import NAMED_SCHEMAS, ONE_SCHEMA, SCHEMA_LISTS
from supervisor.registry.schema_rules import RULES

WORDS = sorted({*ONE_SCHEMA, *SCHEMA_LISTS, *NAMED_SCHEMAS, *RULES, "additionalItems", "const", "id", "nullable"})
PLACES = st.sampled_from([
    "#", "#/properties/a", "#/$defs/a", "#/allOf/99999999999999999999", "#/%zz", "#a", "#é", "a", "a#b", "", "//", "?",
    "\0", "../a", "urn:a", "http://[", "no URL %%%", "json-schema:///", "file:///etc/passwd", "http://none.invalid/a",
    "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
])  # fmt: skip
PATTERNS = st.sampled_from(
    ["(", "[", "a{99999}", "(?:a{1000}){1000}", r"\1", r"\c", r"\u{110000}", r"\p{L}", "(?=a)b", "(?i)a", "^a$", "\0"]
)
NUMBERS = st.sampled_from([0, -1, 1, 1.0, 1.5, 0.1, 1e308, 5e-324, 2**63, 2**64, -(2**70), 10**40])
TYPES = st.sampled_from(["array", "integer", "null", "number", "object", "string", "any", "text"])
LEAVES = st.none() | st.booleans() | NUMBERS | PLACES | PATTERNS | TYPES
NAMES = st.sampled_from(["a", "b", "", "(", "$ref"])
ARGUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=5
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Mostly with values that a keyword takes."""
    fitting = {
        **dict.fromkeys(RULES, LEAVES | inner),
        **dict.fromkeys(ONE_SCHEMA, inner),
        **dict.fromkeys(SCHEMA_LISTS, st.lists(inner, min_size=1, max_size=2)),
        **dict.fromkeys(NAMED_SCHEMAS, st.dictionaries(NAMES, inner, max_size=2)),
        **dict.fromkeys(("$dynamicRef", "$id", "$recursiveRef", "$ref", "$schema", "id"), PLACES),
        **dict.fromkeys(("$anchor", "$dynamicAnchor"), st.sampled_from(["a", "b"])),
        "pattern": PATTERNS,
        "type": TYPES,
    }
    words = st.sampled_from(WORDS)
    fits = words.flatmap(lambda word: st.tuples(st.just(word), fitting.get(word, NUMBERS)))
    return st.lists(fits | fits | fits | st.tuples(words, LEAVES), max_size=4).map(dict)


SCHEMAS = _objects(st.recursive(st.booleans() | _objects(st.booleans()), _objects, max_leaves=5))
