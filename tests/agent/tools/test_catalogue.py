"""The tools as offered to the model."""

import jsonschema_rs
import pytest

from agent.tools import arguments
from agent.tools.bash import decode_call
from agent.tools.catalogue import SPECS
from agent.tools.file_worker import main
from agent.tools.outcome import ToolError

PARAMETERS = {
    "bash": ({"command": "string", "timeout": "integer"}, ["command"]),
    "edit": ({"path": "string", "edits": "array"}, ["path", "edits"]),
    "read": ({"path": "string", "offset": "integer", "limit": "integer"}, ["path"]),
    "write": ({"path": "string", "content": "string"}, ["path", "content"]),
}


def test_names_types_and_required_fields_are_zots() -> None:
    found = {
        spec.name: (
            {name: schema["type"] for name, schema in spec.input_schema["properties"].items()},
            spec.input_schema["required"],
        )
        for spec in SPECS
    }
    assert found == PARAMETERS
    assert [spec.name for spec in SPECS] == sorted(found)


def test_every_schema_is_valid_and_every_description_one_short_sentence() -> None:
    for spec in SPECS:
        jsonschema_rs.validator_for(spec.input_schema)
        assert spec.description.endswith(".")
        assert spec.description.count(".") == 1
        assert len(spec.description) < 100


def test_every_tool_can_be_run() -> None:
    assert {spec.name for spec in SPECS} == {*main._TOOLS, "bash"}


@pytest.mark.parametrize("edits", [[], [{"oldText": "a", "newText": "b"}], [{"oldText": 1, "newText": "b"}], "x", [3]])
def test_the_edit_schema_and_the_decoder_agree(edits: object) -> None:
    (spec,) = [spec for spec in SPECS if spec.name == "edit"]
    valid = jsonschema_rs.is_valid(spec.input_schema, {"path": "p", "edits": edits})
    try:
        arguments.replacements({"edits": edits})
    except ToolError:
        assert not valid
    else:
        assert valid


def test_the_bash_schema_and_the_decoder_agree_on_whole_numbers() -> None:
    (spec,) = [spec for spec in SPECS if spec.name == "bash"]
    args = {"command": "ls", "timeout": 3.0}
    assert jsonschema_rs.is_valid(spec.input_schema, args)
    assert decode_call(args).timeout_s == 3
