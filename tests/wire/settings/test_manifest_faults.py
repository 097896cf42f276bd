"""All faults of a manifest are found at once, each with its place."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.any_message import JSON
from wire.lenient_json import places
from wire.manifest import ManifestError, parse_manifest
from wire.schema import generate
from wire.settings.manifest_faults import all_faults


def test_all_faults_are_named_with_their_places():
    text = b"""{
  "name": "a/b",
  "args": ["x", 1, null],
  "on-failure": "deny",
  "limits": {"rss": 1, "cpu_percent": -1},
  "restart": {"backoff_s": [0, "x"]}
}"""
    assert [(fault.place and fault.place[:2], fault.message.partition(";")[0]) for fault in all_faults(text)] == [
        (None, "exec is required, or skills, or a theme.json"),
        ((2, 3), "name must be 1 to 64 characters, without slashes or control characters, and not start with a dot"),
        ((3, 17), "args[1]: expected str, got int"),
        ((3, 20), "args[2]: expected str, got null"),
        ((4, 3), "on-failure: no such field"),
        ((5, 14), "limits.rss: no such field"),
        ((5, 24), "limits.cpu_percent: expected float > 0.0"),
        ((6, 29), "restart.backoff_s[0]: expected float > 0.0"),
        ((6, 32), "restart.backoff_s[1]: expected float, got str"),
    ]
    (fault,) = all_faults(b'{"name": "x",}')
    assert fault.message == "extension.json is no JSON: trailing comma in object"
    assert fault.place is not None
    assert fault.place.quoted[fault.place.caret] == "}"
    assert [fault.message for fault in all_faults(b"[]")] == ["a manifest is an object, { … }"]


FIELDS = st.sampled_from(
    [
        "name",
        "exec",
        "skills",
        "args",
        "enabled",
        "priority",
        "on_failure",
        "timeouts",
        "limits",
        "restart",
        "workers",
        "env",
        "x",
    ]
)
INNER = st.sampled_from(["hello", "rss_mb", "action", "backoff_s", "policy", "no_restart_exit", "x"])
VALUES = JSON | st.lists(st.integers() | st.text(max_size=3), max_size=3) | st.dictionaries(INNER, JSON, max_size=3)


PUBLISHED = jsonschema_rs.validator_for(generate("manifest"))


@example({"timeouts": {"0": None, "0[0": None, "a.b": 1, "x` - at `$.y": 2}})
@given(st.dictionaries(FIELDS, VALUES))
def test_all_faults_are_those_that_the_published_schema_finds(fields: dict):
    """The schema finds a place with a fault wherever we do, and nowhere else."""
    text = json.dumps(fields).encode()
    named = {re.split(r"[:. ;\[]", fault.message)[0] for fault in all_faults(text)}
    try:
        manifest = json.loads(text)
    except ValueError:
        return
    errors = list(PUBLISHED.iter_errors(manifest))
    found = {str(error.instance_path[0]) for error in errors if error.instance_path}
    found |= {"name"} - set(fields)
    found |= set() if manifest.get("exec") or manifest.get("skills") else {"exec"}
    assert named == found
    with nullcontext() if named == set() else pytest.raises(ManifestError):
        parse_manifest(text)


@given(JSON)
def test_the_places_of_all_fields_are_found(value: object):
    text = json.dumps({"a": value, "b": [value, value]}, ensure_ascii=False, indent=1).encode()

    def check(path: str, part: object, spots: dict[str, int]) -> None:
        if isinstance(part, dict):
            for name, inner in part.items():
                key = f"{path}.{name}" if path else name
                assert text[spots[key] :].startswith(json.dumps(name, ensure_ascii=False).encode())
                check(key, inner, spots)
        elif isinstance(part, list):
            for index, inner in enumerate(part):
                check(f"{path}[{index}]", inner, spots)

    if not set(".[]") & set(str(value)):
        check("", {"a": value, "b": [value, value]}, places(text))
