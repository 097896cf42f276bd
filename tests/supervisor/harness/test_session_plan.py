"""Which arguments are paths, and the arguments that are made up for a call."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.harness.session_plan import made_up_arguments, path_arguments
from supervisor.registry.registration import Tool

TEXT = {"type": "string"}


def tool(name: str = "t", *required: str, **properties: Any) -> Tool:
    return Tool(name, "", {"type": "object", "properties": properties, "required": list(required)})


@pytest.mark.parametrize(
    ("argument", "schema", "is_folder"),
    [
        ("path", TEXT, False), ("file_path", TEXT, False), ("filePath", {}, False), ("FILE", TEXT, False),
        ("cwd", TEXT, True), ("targetDir", TEXT, True), ("root-path", TEXT, False),
        ("source", {"type": "string", "description": "The file to read."}, False),
        ("where", {"type": "string", "description": "A folder."}, True),
        ("query", {"type": "string", "description": "A text of the profile."}, None),
        ("path", {"type": "integer"}, None), ("profile", TEXT, None), ("path", True, None),
    ],
)  # fmt: skip
def test_an_argument_is_a_path_by_a_word_of_its_name_or_its_description(
    argument: str, schema: Any, is_folder: bool | None
):
    assert path_arguments(tool(**{argument: schema})) == ({} if is_folder is None else {argument: is_folder})


@pytest.mark.parametrize("name", ["list_files", "ls", "listDirectory", "directory_tree"])
def test_the_path_of_a_tool_that_lists_is_a_folder(name: str):
    assert path_arguments(tool(name, path=TEXT)) == {"path": True}


def test_a_tool_without_arguments_has_none():
    assert path_arguments(Tool("t", "", {"type": "object"})) == {}


def test_the_required_arguments_are_made_up_and_one_path_at_least():
    given_schema = {"path": TEXT, "cwd": TEXT, "n": {"type": "integer"}, "how": {"enum": ["raw", "text"]}, "more": TEXT}
    assert made_up_arguments(tool("t", "n", "how", "path", **given_schema), "d", "f") == {
        "n": 1, "how": "raw", "path": "f"
    }  # fmt: skip
    assert made_up_arguments(tool("t", **given_schema), "d", "f") == {"path": "f"}
    assert made_up_arguments(tool("t", "cwd", "path", **given_schema), "d", "f") == {"cwd": "d", "path": "f"}


KINDS = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])


@given(st.dictionaries(st.text(min_size=1), st.fixed_dictionaries({"type": KINDS})), st.data())
def test_made_up_arguments_fit_a_schema_of_plain_types_and_name_nothing_else(
    schema: dict[str, Any], data: st.DataObject
):
    required = data.draw(st.lists(st.sampled_from(sorted(schema) or ["x"]), unique=True)) if schema else []
    made = tool("t", *required, **{**schema, "path": TEXT})
    arguments = made_up_arguments(made, "d", "f")
    assert jsonschema_rs.is_valid(made.schema, arguments)
    assert {value for value in arguments.values() if isinstance(value, str)} <= {"d", "f", "x"}
