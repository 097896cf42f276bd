"""The shape of responses."""

from __future__ import annotations

import msgspec

from wire.rpc import responses
from wire.rpc.responses import Response, encode


def test_members_that_do_not_apply_are_absent():
    assert encode(Response(command="abort", success=True)) == b'{"type":"response","command":"abort","success":true}\n'
    refused = Response(id=msgspec.Raw(b"7"), command="clear", success=False, error="busy")
    assert encode(refused) == b'{"type":"response","id":7,"command":"clear","success":false,"error":"busy"}\n'


def test_falsy_data_is_written():
    said = encode(Response(command="queue", success=True, data=responses.Queued(())))
    assert said.endswith(b'"data":{"prompts":[]}}\n')
