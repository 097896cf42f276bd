"""The lines to extensions of the client program, their manifests, and what can be told of a line that is too long."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_json import json_values
from wire.framing import LineSplitter, Oversize
from wire.manifest import Manifest
from wire.rpc import ext_lines
from wire.rpc.ext_lines import SETTINGS, ExtLine, UnfitManifestError, long_line, manifest_of

LINE = msgspec.json.Decoder(ExtLine)


@given(st.text(st.characters(exclude_categories=["Cs"])), json_values)
def test_a_frame_comes_whole_within_one_line(name, value):
    frame = msgspec.json.encode({"type": "tool_call", "args": [name, repr(value)]}) + b"\n"
    line = ext_lines.frame_line(ext_lines.line_start(name), frame)
    assert line.count(b"\n") == 1
    read = LINE.decode(line)
    assert (read.extension, json.loads(bytes(read.frame))) == (name, json.loads(frame))
    end = LINE.decode(ext_lines.end_line(name, "why"))
    assert (end.extension, end.closed, end.frame) == (name, "why", msgspec.UNSET)


@given(
    st.text(), st.dictionaries(st.sampled_from([*Manifest.__struct_fields__, "x"]), json_values), st.binary(max_size=9)
)
def test_any_manifest_is_taken_or_refused_in_one_line(name, fields, tail):
    for text in (json.dumps(fields).encode(), json.dumps(fields).encode() + tail, tail):
        taken = taken_or_why_not(name, text)
        if isinstance(taken, str):
            assert taken
            assert "\n" not in taken
        else:
            assert (taken.name, taken.restart.policy, taken.workers) == (name, "temporary", 1)
            assert set(fields) <= {*SETTINGS, "x"} or text == tail


def taken_or_why_not(name, text):
    try:
        return manifest_of(name, text)
    except UnfitManifestError as error:
        return str(error)


def test_one_that_hangs_is_given_up_only_if_its_manifest_says_so():
    assert manifest_of("a", b"").stall_after == ext_lines.NEVER_STALLED
    assert manifest_of("a", b' {"stall_after": 3} ').stall_after == 3
    assert manifest_of("a", b'{"priorty": 1}').remark


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ('{"type":"ext","extension":"a","frame":{"type":"tool_result","id":"7","content":"', ("a", "tool_result", "7")),
        ('{"id": 1, "type": "ext", "extension": "a", "frame" : {"type":"x","y":[', ("a", "x", None)),
        ('{"type":"ext","extension":"a","manifest":"', ("a", None, None)),
        ('{"type":"ext","frame":{"type":"tool_result","id":"7","content":"', None),
        ('{"type":"prompt","extension":"a","message":"', None),
    ],
)
def test_what_is_told_of_a_line_that_is_too_long(start, told):
    splitter = LineSplitter(1000)
    (line,) = splitter.feed(start.encode() + b"x" * 2000 + b'"}}\n')
    assert isinstance(line, Oversize)
    found = long_line(line)
    assert (found and (found.extension, found.frame.frame_type, found.frame.frame_id)) == told
