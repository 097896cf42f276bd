"""The arguments of `extensions_manage`: what is missing or wrong is named, with what there is."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from agent.tools.catalogue import EXTENSIONS_MANAGE, OF_EXTENSIONS
from agent.tools.extension_tools.tools import Inspect, ListAll, Scaffold, read
from agent.tools.outcome import ToolError


@pytest.mark.parametrize(
    ("args", "request_"),
    [
        ({"operation": "scaffold", "name": "x"}, Scaffold("x", "project")),
        ({"operation": "scaffold", "name": " x ", "location": "user"}, Scaffold("x", "user")),
        ({"operation": "list", "name": None}, ListAll()),
        ({"operation": "inspect", "name": "x"}, Inspect("x")),
    ],
)
def test_what_is_asked_for(args: dict[str, Any], request_: object):
    assert read(args) == request_


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({}, "operation is required: scaffold, list, inspect"),
        ({"operation": "create", "name": "x"}, "operation: 'create' is not one of scaffold, list, inspect"),
        ({"operation": "scaffold"}, "name is required for scaffold"),
        ({"operation": "inspect", "name": ""}, "name is required for inspect"),
        ({"operation": "scaffold", "name": "x", "location": "/etc"}, "location: '/etc' is not one of project, user"),
        ({"operation": 3}, "invalid args: operation must be a string, not a number"),
        ({"operation": "x" * 10_000}, f"operation: '{'x' * 80}' is not one of scaffold, list, inspect"),
    ],
)
def test_what_cannot_be_done_is_said(args: dict[str, Any], why: str):
    with pytest.raises(ToolError) as caught:
        read(args)
    assert str(caught.value).startswith(why)


def test_the_schema_says_what_the_decoder_takes():
    assert jsonschema_rs.is_valid(EXTENSIONS_MANAGE.input_schema, {"operation": "scaffold", "name": "x"})
    assert not jsonschema_rs.is_valid(EXTENSIONS_MANAGE.input_schema, {"operation": "create"})
    for spec in OF_EXTENSIONS:
        jsonschema_rs.validator_for(spec.input_schema)
        assert (spec.description.count("."), spec.description[-1]) == (1, ".")
