"""A manifest is read as zot reads it; each fault is one line that names the field."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import JSON
from wire.manifest import Manifest, ManifestError, parse_manifest
from wire.schema import generate


def parse(**fields: object) -> Manifest:
    return parse_manifest(json.dumps({"name": "a", "exec": "./a", **fields}).encode())


def fault(text: bytes) -> str:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(("manifest: ", "parse manifest: "))
    return line


def test_defaults():
    manifest = parse()
    assert (manifest.priority, manifest.on_failure, manifest.is_enabled) == (0, "allow", True)
    timeouts = manifest.timeouts
    assert (timeouts.hello, timeouts.ready, timeouts.tool_call, timeouts.intercept) == (None, 3.0, 60.0, 5.0)


def test_all_fields_and_unknown_ones():
    manifest = parse(
        args=["-x"], version="1", language="sh", description="d", priority=-3, on_failure="deny",
        timeouts={"hello": 0.5, "tool_call": 300}, anything={"else": True},
    )  # fmt: skip
    assert (manifest.args, manifest.priority, manifest.on_failure) == (("-x",), -3, "deny")
    assert (manifest.timeouts.hello, manifest.timeouts.tool_call, manifest.timeouts.ready) == (0.5, 300, 3.0)


@pytest.mark.parametrize(("enabled", "is_enabled"), [(None, True), (True, True), (False, False)])
def test_absent_or_null_means_enabled(enabled: bool | None, is_enabled: bool):
    assert parse(enabled=enabled).is_enabled is is_enabled


@pytest.mark.parametrize("field", ["args", "version", "language", "description", "enabled"])
def test_null_means_absent(field: str):
    assert parse(**{field: None}) == parse()


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"name": 5}, "name: expected str, got int"),
        ({"name": None}, "name: expected str, got null"),
        ({"exec": ""}, "exec: expected str of length >= 1"),
        ({"exec": ["a"]}, "exec: expected str, got array"),
        ({"args": "x"}, "args: expected array"),
        ({"args": [1]}, "args[0]: expected str"),
        ({"enabled": "yes"}, "enabled: expected bool"),
        ({"priority": "high"}, "priority: expected int"),
        ({"priority": 1.5}, "priority: expected int"),
        ({"on_failure": "maybe"}, "on_failure: 'maybe' is not one of allow, deny"),
        ({"timeouts": 5}, "timeouts: expected object"),
        ({"timeouts": {"tool_cal": 1}}, "timeouts.tool_cal: no such field; did you mean 'tool_call'?"),
        ({"timeouts": {"hello": 0}}, "timeouts.hello: expected float > 0.0"),
        ({"timeouts": {"ready": -1}}, "timeouts.ready: expected float > 0.0"),
        ({"timeouts": {"intercept": 1e9}}, "timeouts.intercept: expected float <= 86400.0"),
        ({"restart": {"policy": "often"}}, "restart.policy: 'often' is not one of permanent, temporary, transient"),
        ({"restart": {"backoff_s": [1]}}, "restart.backoff_s: expected array of length 2"),
        ({"limits": {"rss": 5}}, "limits.rss: no such field; did you mean 'rss_mb'?"),
        ({"limits": {"zzz": 5}}, "limits.zzz: no such field; it has rss_mb, cpu_percent"),
        ({"limits": {"processes": 0}}, "limits.processes: expected int >= 1"),
        ({"limits": {"action": "kill"}}, "limits.action: 'kill' is not one of restart, stop"),
        ({"workers": 65}, "workers: expected int <= 64"),
    ],
    ids=str,
)
def test_a_bad_field_is_named(fields: dict, wanted: str):
    line = fault(json.dumps({"name": "a", "exec": "./a", **fields}).encode())
    assert wanted in line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"{}", "manifest: name is required"),
        (b'{"exec":"x"}', "manifest: name is required"),
        (b'{"name":"x"}', "manifest: exec is required"),
        (b"[]", "manifest: expected object, got array"),
        (b"", "parse manifest: Input data was truncated"),
        (b"{'name': 1}", "parse manifest: JSON is malformed"),
        (b'{"name":"\xff","exec":"x"}', "parse manifest: 'utf-8' codec"),
        (b'{"x":' + b"[" * 50_000, "parse manifest: nested too deeply"),
    ],
    ids=lambda value: str(value[:30]),
)
def test_text_that_is_no_manifest_is_named(text: bytes, line: str):
    assert fault(text).startswith(line)


NAME_LINE = "manifest: name must be 1 to 64 characters, without slashes or control characters, and not start with a dot"
UNFIT = ["", ".", "..", ".hidden", "a/b", "/etc", "/../../evil", "a\\b", "x" * 65]
UNPRINTABLE = ["a\n", "a\nb", "\x1b[31m", "a\x00", "a\x7f", "a\x9b31m", "a\u202eb", "a\u2028"]
BAD_NAMES = UNFIT + UNPRINTABLE


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_a_name_that_is_no_file_name_is_refused(name: str):
    assert fault(json.dumps({"name": name, "exec": "x"}).encode()) == NAME_LINE


@pytest.mark.parametrize("name", [*BAD_NAMES, "ok", "with space", "a.b", "größe", "日本", "x" * 64], ids=repr)
def test_the_published_schema_judges_names_alike(name: str):
    manifest = {"name": name, "exec": "x"}
    try:
        parse_manifest(json.dumps(manifest).encode())
        accepted = True
    except ManifestError:
        accepted = False
    assert jsonschema_rs.is_valid(generate("manifest"), manifest) is accepted
    assert accepted is (name not in BAD_NAMES)


@given(
    st.dictionaries(
        st.sampled_from(["name", "exec", "args", "enabled", "priority", "on_failure", "timeouts", "x"]), JSON
    )
)
def test_any_object_gives_a_manifest_or_one_line(fields: dict):
    try:
        said = parse_manifest(json.dumps(fields).encode()).name
        assert said == fields["name"]
    except ManifestError as error:
        said = str(error)
    assert "\n" not in said
