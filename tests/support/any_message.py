"""Hypothesis strategies for every frame and record, made from their definitions, so a new field is covered."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import UNSET, Raw

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
RAW = JSON.map(lambda value: Raw(json.dumps(value, separators=(",", ":")).encode()))


SIMPLE = {
    msgspec.inspect.StrType: TEXT,
    msgspec.inspect.BoolType: st.booleans(),
    msgspec.inspect.FloatType: st.floats(0.25, 8e4, allow_nan=False, width=32),
    msgspec.inspect.RawType: RAW,
    msgspec.inspect.NoneType: st.none(),
}


@cache
def any_of(struct: type) -> st.SearchStrategy[Any]:
    """Instances of a Struct with and without optional fields. Cached: making the strategy takes longer than drawing."""
    fields = {field.name: values(msgspec.inspect.type_info(field.type)) for field in msgspec.structs.fields(struct)}
    for field in msgspec.structs.fields(struct):
        if field.default is UNSET:
            fields[field.name] |= st.just(UNSET)
    return st.fixed_dictionaries(fields).map(lambda chosen: struct(**chosen))


def values(kind: msgspec.inspect.Type) -> st.SearchStrategy[Any]:  # noqa: C901  (a table)
    match kind:
        case msgspec.inspect.Metadata(type=inner):
            return values(inner)
        case msgspec.inspect.UnionType(types=types):
            return st.one_of(*(values(part) for part in types))
        case msgspec.inspect.ListType(item_type=item):
            return st.lists(values(item), max_size=3)
        case msgspec.inspect.VarTupleType(item_type=item):
            return st.lists(values(item), max_size=3).map(tuple)
        case msgspec.inspect.TupleType(item_types=items):
            return st.tuples(*(values(item) for item in items))
        case msgspec.inspect.IntType(ge=least, le=most):
            return st.integers(0 if least is None else least, 2**40 if most is None else most)
        case msgspec.inspect.DictType(value_type=msgspec.inspect.AnyType()):
            return st.dictionaries(TEXT, JSON, max_size=2)
        case msgspec.inspect.DictType(value_type=value):
            return st.dictionaries(TEXT, values(value), max_size=2)
        case msgspec.inspect.StructType(cls=cls):
            return any_of(cls)
        case msgspec.inspect.LiteralType(values=literals):
            return st.sampled_from(literals)
    return SIMPLE[type(kind)]


def plain(message: Any) -> Any:
    """The message as plain JSON values: `Raw` compares by identity."""
    return json.loads(msgspec.json.encode(message))
