"""A manifest is read as zot reads it; each fault is one line that names the field."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.any_message import JSON
from wire.dialects.table import MODULES
from wire.manifest import VOCABULARY, Limits, Manifest, ManifestError, Restart, Timeouts, parse_manifest
from wire.schema import generate
from wire.settings.manifest_faults import all_faults


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
        ({"exec": ""}, "exec is required, or skills, or a theme.json"),
        ({"exec": "", "skills": []}, "exec is required, or skills, or a theme.json"),
        ({"exec": ["a"]}, "exec: expected str, got array"),
        ({"skills": "skills"}, "skills: expected array | null, got str"),
        ({"skills": ["a", 1]}, "skills[1]: expected str, got int"),
        ({"skills": {"a": "b"}}, "skills: expected array | null, got object"),
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
        (b'{"name":"x"}', "manifest: exec is required, or skills, or a theme.json"),
        (b'{"name":"x","Skill":["a"]}', "manifest: exec is required, or skills, or a theme.json; rename 'Skill'"),
        (b"[]", "manifest: expected object, got array"),
        (b"", "parse manifest: extension.json:1:1: it is empty"),
        (b'{"name":"x"', "parse manifest: extension.json:1:12: it ends in the middle (the line: {"),
        (b"{'name': 1}", "parse manifest: extension.json:1:2: object keys must be strings (the line: {'name': 1})"),
        (b'{"name":"\xff","exec":"x"}', "parse manifest: extension.json:1:10: this is not UTF-8"),
        (b'{"name":"x","exec":"x","y":"\xff"}', "parse manifest: extension.json:1:29: this is not UTF-8"),
        (b'\xef\xbb\xbf{"name":"x"}', "parse manifest: extension.json:1:1: it starts with a byte order mark"),
        (b'{"name": "x",\n  // no\n}', "parse manifest: extension.json:2:3: JSON has no comments (the line: // no)"),
        (b'{\n"name": "x"\n\t"exec": 1}', "parse manifest: extension.json:3:2: expected ',' or '}'; is a comma"),
        (b'{"name":"x","command":"x"}', "manifest: exec is required, or skills, or a theme.json; rename 'command'"),
        (b'{"name":"x","exec":1,"exec":"x"}', "manifest: exec: expected str, got int"),
        (b'{"x":' + b"[" * 50_000, "parse manifest: nested too deeply"),
    ],
    ids=lambda value: str(value[:30]),
)
def test_text_that_is_no_manifest_is_named(text: bytes, line: str):
    assert fault(text).startswith(line)
    assert all_faults(text)


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


# --- unknown fields -----------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def test_no_example_no_scaffold_and_no_manifest_of_the_documents_has_a_remark(monkeypatch):
    monkeypatch.setitem(MODULES, "tab", "examples.dialect.tab_dialect")
    texts = [path.read_bytes() for path in ROOT.glob("examples/**/extension.json")]
    assert len(texts) >= 10
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("*.md")]:
        blocks = re.findall(r"```json\n(\{.*?\})\n```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        texts += [block.encode() for block in blocks if '"exec"' in block and "…" not in block]
    assert len(texts) >= 12
    for text in texts:
        assert parse_manifest(text).unknown == ()


def test_the_fields_of_zot_have_no_remark():
    fields = {"version": "1", "language": "go", "description": "d", "args": ["--mode", "daemon"], "enabled": True}
    assert parse(**fields).remark == ""
    assert parse(**{"$schema": "https://example.org/manifest.json"}).remark == ""


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"author": "me"}, "extension.json: nothing reads the field 'author'"),
        ({"prority": 3, "i": 1}, "extension.json: nothing reads the fields 'prority' (did you mean 'priority'?), 'i'"),
        ({"tool_call": 3}, "extension.json: nothing reads the field 'tool_call' (did you mean 'timeouts.tool_call'?)"),
        ({"action": "x"}, "extension.json: nothing reads the field 'action' (did you mean 'limits.action'?)"),
        ({"requires": ["git"]}, "extension.json: nothing reads the field 'requires'"),
        ({"dependencies": {}, "keywords": []}, "extension.json: nothing reads the fields 'dependencies', 'keywords'"),
        ({"dev": 1, "end": 2}, "extension.json: nothing reads the fields 'dev', 'end'"),
        ({"\x1b[31m": 1}, "extension.json: nothing reads the field '\\\\x1b[31m'"),
    ],
    ids=str,
)  # fmt: skip
def test_unknown_fields_are_named(fields: dict, remark: str):
    assert parse(**fields).remark == remark


def test_unknown_fields_are_counted_when_there_are_many():
    assert parse(**{f"zzz{i}": i for i in range(100)}).remark.endswith(" and 92 more")


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("onFailure", "on_failure"), ("on-failure", "on_failure"), ("ON_FAILURE", "on_failure"),
        ("on_failrue", "on_failure"), ("onfail", "on_failure"), ("fail_closed", "on_failure"),
        ("onError", "on_failure"), (" on_failure", "on_failure"), ("on_failures", "on_failure"),
        ("Required", "required"), ("requried", "required"), ("mandatory", "required"), ("requires", "required"),
        ("Limits", "limits"), ("limit", "limits"), ("limtis", "limits"), ("rss_mb", "limits.rss_mb"),
        ("cpuPercent", "limits.cpu_percent"),
        ("ENV", "env"), ("envs", "env"), ("environment", "env"), ("envVars", "env"),
        ("enviroment", "env"), ("envirnoment", "env"), ("env_policies", "env_policy"),
        ("envPolicy", "env_policy"), ("env-policy", "env_policy"), ("env_polcy", "env_policy"),
    ],
)  # fmt: skip
def test_a_near_miss_of_a_guarding_field_is_an_error(field: str, meant: str):
    line = fault(json.dumps({"name": "a", "exec": "./a", field: True}).encode())
    assert line.startswith(f"manifest: {field}: no such field; did you mean {meant!r}?")


@pytest.mark.parametrize("field", ["default_on_failure", "fail_safe", "when failed", "guard.onFailure"])
def test_a_name_with_fail_in_it_that_is_to_deny_means_on_failure(field: str):
    assert "did you mean 'on_failure'?" in fault(json.dumps({"name": "a", "exec": "x", field: "Deny"}).encode())
    assert parse(**{field: "retry"}).unknown


@pytest.mark.parametrize("second", ["allow", "deny"])
def test_a_guarding_field_that_is_there_twice_is_an_error(second: str):
    text = b'{"name":"a","exec":"x","on_failure":"deny","x":{"env":1},"env":[],"on_failure":"%s"}' % second.encode()
    assert fault(text).startswith("manifest: on_failure is there twice")
    placed = [(each.message[:18], each.place.column) for each in all_faults(text) if each.place]
    assert placed == [("on_failure is ther", text.rindex(b'"on_failure"') + 1)]


def test_faults_and_places_of_a_huge_manifest_are_found_in_bounded_time():
    faults = all_faults(json.dumps({"name": "a", "exec": "x", "args": [1] * 1000, "x": ["é"] * 100_000}).encode())
    assert len(faults) == 20
    assert {each.place for each in faults} == {None}


def test_on_failure_inside_an_unknown_object_is_an_error():
    line = fault(b'{"name":"a","exec":"x","guard":{"rules":[{"onFailure":"deny"}]}}')
    assert "guard: on_failure inside it: no such field" in line


def test_a_near_miss_inside_limits_names_the_field():
    assert "limits.rssMb: no such field; did you mean 'rss_mb'?" in fault(
        b'{"name":"a","exec":"x","limits":{"rssMb":5}}'
    )


@given(st.text(max_size=12))
def test_any_name_is_known_or_named_or_refused(name: str):
    try:
        manifest = parse(**{name: None})
    except ManifestError:
        return
    assert (name in VOCABULARY.known) is (manifest.unknown == ())


@given(st.sampled_from(sorted(VOCABULARY.guarding)), st.data())
def test_any_other_style_of_a_guarding_field_is_refused(field: str, data: st.DataObject):
    style = st.sampled_from([str.lower, str.upper, str.title])
    joint = data.draw(st.sampled_from(["", "-", "_", " ", "."]))
    spelled = joint.join(data.draw(style)(part) for part in field.split("_"))
    if spelled != field:
        assert f"did you mean {field!r}?" in fault(json.dumps({"name": "a", "exec": "x", spelled: "deny"}).encode())


@pytest.mark.parametrize(
    ("text", "may_be_needed"),
    [
        ('{"name":"a","exec":"x","onFailure":"deny"}', True),
        ('{"name":"a","exec":"x","on_failure":"Deny"}', True),
        ('{"name":"a","on_failure":"deny"}', True),
        ('{"name":"a","on_failure":"allow"}', False),
        ('{"name":"a","required":true}', True),
        ('{"name":"a","required":"yes","exec":"x"}', True),
        ('{"name":"a","required":false}', False),
        ('{"name":"a","onFailure":"deny","exec":"x","enabled":false}', False),
        ('{"name":"a","exec":"x","Env":["A"]}', False),
        ('{"name":"a","exec":"x","limits":{"onFailure":"deny"}}', True),
        ('{"name":"a"}', False),
        ('{"name":"a" "on_failure":"deny"}', True),
        ('{"name":"a" "on_failure":"allow"}', False),
        ('{"name":"a" "onFailure":"allow"}', True),
        ("{'required': true}", True),
        ('{"name":"a",}', False),
        ('{"name":"a","exec":', True),
        ("", True),
        ("[]", False),
    ],
)
def test_whether_a_faulty_manifest_may_be_that_of_a_guard_that_denies(text: str, may_be_needed: bool):
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text.encode())
    assert caught.value.may_be_needed is may_be_needed


def test_two_manifests_that_differ_in_unknown_fields_are_equal():
    assert parse(author="me") == parse()


def test_the_reference_has_a_meaning_and_a_default_for_every_field():
    page = (ROOT / "docs" / "reference" / "manifest.md").read_text(encoding="utf-8")
    rows = [row.split(" | ", 3) for row in re.findall(r"^\| (`\w+` .*) \|$", page, flags=re.MULTILINE)]
    fields = [name for each in (Manifest, Limits, Restart, Timeouts) for name in each.__struct_fields__]
    assert sorted(row[0].strip("`") for row in rows) == sorted(fields)
    for name, _kind, default, meaning in rows:
        assert len(meaning) > 10, name
        assert default, name
        assert default != "absent" or "Absent: " in meaning, name


def test_the_page_about_limits_names_every_limit():
    page = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    assert [name for name in Limits.__struct_fields__ if f'"{name}"' not in page] == []
