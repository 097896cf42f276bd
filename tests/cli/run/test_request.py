"""The request that the flags make, and flags that exclude each other."""

from __future__ import annotations

import pytest

from cli.run.request import FlagError, OutputForm, RunOutput, output_from


@pytest.mark.parametrize(
    ("parameters", "asked"),
    [
        ({}, None),
        ({"output": "a"}, None),
        ({"print": True}, RunOutput(OutputForm.TEXT)),
        ({"json": True, "output": "a", "summary": "b"}, RunOutput(OutputForm.STREAM, "a", "b")),
        ({"output_format": "text", "output": "a"}, RunOutput(OutputForm.TEXT, "a")),
        ({"output_format": "json"}, RunOutput(OutputForm.OBJECT)),
        ({"output_format": "json", "print": True, "summary": "b"}, RunOutput(OutputForm.OBJECT, None, "b")),
        ({"rpc": True, "output_format": None, "image": ()}, RunOutput(OutputForm.RPC)),
    ],
)
def test_the_flags_say_the_form_and_the_files(parameters, asked):
    assert output_from(parameters) == asked


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"json": True, "print": True}, "choose one of --json, --print and --rpc"),
        ({"json": True, "output_format": "text"}, "--output-format and --json exclude each other"),
        ({"rpc": True, "output_format": "json"}, "--output-format has no effect with --rpc"),
        ({"rpc": True, "output": "a"}, "--output has no effect with --rpc"),
        ({"rpc": True, "summary": "a"}, "--summary has no effect with --rpc"),
        ({"rpc": True, "image": ["a"]}, "--image has no effect with --rpc"),
    ],
)
def test_flags_that_exclude_each_other(parameters, why):
    with pytest.raises(FlagError, match=why):
        output_from(parameters)
