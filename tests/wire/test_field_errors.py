"""How a fault that msgspec finds is told."""

from __future__ import annotations

import msgspec
import pytest

from wire.field_errors import explain
from wire.manifest import Manifest


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (b'{"limits": {"rss": 1}}', "limits.rss: no such field; did you mean 'rss_mb'?"),
        (b'{"timeouts": {"a\\nb": 1}}', "timeouts.a\\nb: no such field; it has hello, "),
        (b'{"on_failure": "a\\nb"}', "on_failure: 'a\\nb' is not one of allow, deny"),
    ],
)
def test_a_fault_is_told_on_one_line(fields, said):
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"name": "a", "exec": "b", ' + fields[1:], type=Manifest)
    assert explain(Manifest, str(caught.value)).startswith(said)
