"""Schemas of answers: which files are taken, which texts fit, and what is said of the others."""

from __future__ import annotations

import json
import os

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.answers.checked_text import repair_request
from agent.answers.schema import FAULTS_LIMIT, SIZE_LIMIT, AnswerSchema, AnswerSchemaError
from tests.support.any_schema import ARGUMENTS, SCHEMAS

ITEM = {"type": "object", "properties": {"price": {"type": "number", "minimum": 0}}, "required": ["price"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "kind": {"anyOf": [{"type": "integer"}, {"const": "x"}]},
    },
    "required": ["items"],
    "additionalProperties": False,
    "$defs": {"item": ITEM},
}


@pytest.fixture
def schema(tmp_path):
    def make(value=SCHEMA):
        path = tmp_path / "schema.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
        return AnswerSchema(str(path))

    return make


def fault(schema, value):
    with pytest.raises(AnswerSchemaError) as raised:
        schema(value)
    text = str(raised.value)
    assert text.startswith("--output-schema ")
    return text.partition("schema.json")[2]


# --- the file -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", ":1:1: not JSON: it is empty"),
        ('{"type": "object",}', ":1:19: not JSON: trailing comma in object (the line: "),
        ("1e999", ": not JSON: a number is too large"),
        ('{"a":' * 2_000, ": not JSON: nested too deeply"),
        ("true", ': a schema is an object, such as {"type": "object"}, not true'),
        ("[]", ": a schema is an object"),
        (
            {"properties": {"a": {"type": "strin"}}},
            ':4:4: not a JSON Schema: /properties/a/type: "strin" is not one of',
        ),
        ({"pattern": "("}, ':2:2: not a JSON Schema: /pattern: "(" is not a "regex"'),
        ({"items": {"$ref": "#/$defs/no"}}, ":3:3: not a JSON Schema: Pointer '/$defs/no' does not exist"),
        ({"$schema": 5}, ":2:2: not a JSON Schema: /$schema: 5 is not of type"),
        ({"$schema": "https://a.b/c"}, ":2:2: not a JSON Schema: no draft of JSON Schema has the name 'https://a.b/c'"),
    ],
)
def test_a_faulty_file_is_refused_with_the_place(schema, value, said):
    assert fault(schema, value).startswith(said)


@pytest.mark.parametrize("word", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("target", ["https://example.com/x.json#/a", "other.json", "../x.json", "file:///etc/passwd"])
def test_no_reference_is_fetched(schema, tmp_path, word, target):
    (tmp_path / "other.json").write_text("{}")
    said = fault(schema, {"properties": {"a": {word: target}}})
    assert said.startswith(":4:4: not a JSON Schema: it refers to ")
    assert "nothing is fetched" in said


def test_a_file_that_is_none(schema, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    said = {"none": "No such file or directory", "fifo": "Not a file", ".": "Is a directory"}
    for name, reason in said.items():
        with pytest.raises(AnswerSchemaError, match=f"cannot be read: {reason}"):
            AnswerSchema(str(tmp_path / name))
    with pytest.raises(AnswerSchemaError, match="is empty"):
        AnswerSchema(" ")
    assert "131,072" in fault(schema, json.dumps({"title": "x" * SIZE_LIMIT}))


def test_the_draft_is_that_of_the_schema(schema):
    """`items` with a list is a rule of older drafts only."""
    rule = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    assert not schema(rule).check("[1]").fits
    assert fault(schema, {"items": [{"type": "string"}]}).startswith(":2:2: not a JSON Schema: /items: ")


def test_names_within_the_file_are_found(schema):
    made = schema({"$id": "https://example.com/s", "$defs": {"a": {"type": "null"}}, "$ref": "s#/$defs/a"})
    assert made.check("null").fits
    assert not made.check("1").fits


def test_the_model_is_told_the_schema_on_one_line(schema):
    told = schema({"type": "object", "title": "Ünï"}).instructions
    assert told.splitlines()[-1] == '{"type":"object","title":"Ünï"}'


# --- texts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"items":[]}',
        ' \n{"items":[]}\n\n',
        '```json\n{"items":[]}\n```',
        '```JSON \r\n{"items":[]}\r\n```\n',
        '```\n{"items":[]}```',
    ],
)
def test_json_alone_or_in_one_fence_fits(schema, text):
    verdict = schema().check(text)
    assert (verdict.fits, verdict.text, bytes(verdict.answer)) == (True, '{"items":[]}', b'{"items":[]}')


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Here it is:\n```json\n{}\n```",
        "```json\n{}\n```\nDone.",
        "```json\n{}\n```\n```json\n{}\n```",
        "```yaml\n{}\n```",
        "{} {}",
        "NaN",
        "1e999",
        "[" * 2_000,
        "[" * 101 + "]" * 101,
        '"\\ud800"',
        "'a'",
    ],
)
def test_anything_else_is_no_answer(schema, text):
    verdict = schema({}).check(text)
    assert not verdict.fits
    assert verdict.text == text
    assert verdict.answer is msgspec.UNSET
    assert len(verdict.faults) == 1
    assert verdict.faults[0].startswith("it is ")


def test_numbers_stay_as_they_are_written(schema):
    verdict = schema().check('{"items":\n[{"price":123456789012345678901234567890.10}]}')
    assert bytes(verdict.answer) == b'{"items": [{"price":123456789012345678901234567890.10}]}'


def test_each_fault_has_its_place_and_its_rule(schema):
    verdict = schema().check('{"items":[{"price":"3"},{},{"price":-1}],"kind":"q","zz":1}')
    assert verdict.faults == (
        '/items/0/price: "3" is not of type "number" (rule /$defs/item/properties/price/type)',
        '/items/1: "price" is a required property (rule /$defs/item/required)',
        "/items/2/price: -1 is less than the minimum of 0 (rule /$defs/item/properties/price/minimum)",
        '/kind: "q" is not of type "integer"; or "x" was expected (rule /properties/kind/anyOf)',
        "/: Additional properties are not allowed ('zz' was unexpected) (rule /additionalProperties)",
    )
    assert verdict.summary.count("; ") == 3
    assert verdict.summary.endswith("; and 2 more")
    told = repair_request(verdict)
    assert all(f"\n- {each}\n" in told for each in verdict.faults)


def test_many_faults_are_bounded(schema):
    verdict = schema().check(json.dumps({"items": [{}] * 50}))
    assert len(verdict.faults) == FAULTS_LIMIT + 1
    assert verdict.faults[-1] == "and 40 more"
    assert len(repair_request(schema().check(json.dumps({"items": [{"price": "x" * 100} for _ in range(50)]})))) < 5_000


def test_of_a_long_text_the_first_fault_is_named(schema):
    """All faults of such a text would take gigabytes."""
    verdict = schema().check(json.dumps({"items": [{"price": "x" * 5_000}] * 50}))
    assert len(verdict.faults) == 1
    assert len(verdict.faults[0]) < 400


def test_a_pattern_that_takes_too_long_is_given_up(schema):
    made = schema({"type": "string", "pattern": "^(a|aa)+(?=b)$"})
    (said,) = made.check(json.dumps("a" * 60)).faults
    assert "backtracking" in said


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["{}", "```json\n{}\n```", "\n {} \n", "```\n{}\n```\n"]), st.sampled_from([None, 1]))
def test_every_json_value_fits_the_empty_schema(tmp_path_factory, value, around, indent):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text("{}")
    verdict = AnswerSchema(str(path)).check(around.replace("{}", json.dumps(value, indent=indent)))
    assert verdict.fits, verdict.summary
    assert json.loads(verdict.text) == json.loads(bytes(verdict.answer)) == value
    assert b"\n" not in bytes(verdict.answer)


@given(st.text() | st.from_regex(r"```(json)?\n?[\[\]{}\":,0-9a-z\n`]{0,30}"))
def test_no_text_breaks_it(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "object.json"
    path.write_text('{"type": "object", "minProperties": 1}')
    verdict = AnswerSchema(str(path)).check(text)
    assert verdict.fits == (verdict.answer is not msgspec.UNSET)


@given(SCHEMAS, ARGUMENTS)
@example({"$schema": "#"}, {})
def test_any_schema_is_refused_in_words_or_texts_are_held_against_it(schema, value):
    made, said = None, ""
    try:
        made = AnswerSchema(json.dumps(schema))
    except AnswerSchemaError as error:
        said = str(error)
    if made is None:
        assert said.startswith("--output-schema (the JSON)")
    else:
        verdict = made.check(json.dumps(value))
        assert verdict.fits == (verdict.answer is not msgspec.UNSET), "whatever does not fit has a fault"
        assert all(verdict.faults)


def test_a_schema_may_be_given_itself():
    made = AnswerSchema(json.dumps(SCHEMA))
    assert made.check('{"items": [{"price": 1}]}').fits
    assert made.check('{"items": [{"price": -1}]}').faults
    with pytest.raises(AnswerSchemaError, match=r"--output-schema \(the JSON\):1:\d+: not JSON"):
        AnswerSchema('{"type": }')
    with pytest.raises(AnswerSchemaError, match=r"--output-schema \(the JSON\): it has .* bytes; the limit is"):
        AnswerSchema('{"title": "' + "x" * SIZE_LIMIT + '"}')
