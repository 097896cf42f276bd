"""Permission requests, and what the answers of a permission handler mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from tests.support.any_json import json_values
from tests.support.copilot_verdicts import tool_call
from wire import frames
from wire.dialects.copilot.join import CopilotTool, Join
from wire.dialects.copilot.permissions import NOT_ASKED, hook_request, permission_request, read_permission
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind

JOINED = Join("s", {"own": CopilotTool("own", "It does.")})


def requested(tool: str, **args: Any) -> dict[str, Any]:
    return permission_request(tool_call(tool, **args), JOINED, "/repo")


def shell(command: str) -> dict[str, Any]:
    return requested("bash", command=command)


def names(command: str) -> list[str]:
    return [each["identifier"] for each in shell(command)["commands"]]


# --- requests -----------------------------------------------------------------------------------------------


def test_a_shell_command():
    assert shell("git log -p --output=/tmp/x | head > out.txt; curl https://a.b/c?d") == {
        "kind": "shell",
        "toolCallId": "t1",
        "intention": "",
        "canOfferSessionApproval": False,
        "fullCommandText": "git log -p --output=/tmp/x | head > out.txt; curl https://a.b/c?d",
        "commands": [{"identifier": name, "readOnly": False} for name in ("git", "head", "curl")],
        "possiblePaths": ["log", "/tmp/x", "out.txt", "https://a.b/c?d"],
        "possibleUrls": [{"url": "https://a.b/c?d"}],
        "hasWriteFileRedirection": True,
    }


@pytest.mark.parametrize(
    ("command", "identifiers"),
    [
        ("ls -la", ["ls"]),
        ("ls 2>&1", ["ls"]),
        ("ls && rm x & true", ["ls", "rm", "true"]),
        ("(cd /tmp; rm y)", ["cd", "rm"]),
        ("ls | 'rm' x", ["ls", "rm"]),
        ("<in rm >out", ["rm"]),
        ("ls '' ';'", ["ls"]),
    ],
)
def test_the_programs_of_a_plain_command(command: str, identifiers: list[str]):
    assert names(command) == identifiers


@pytest.mark.parametrize(
    "command",
    [
        "ls $(rm x)", "ls `rm x`", "ls\nrm x", "X=1 rm x", "if true; then rm x; fi", "! rm x", "{ rm x; }", "rm $x",
        "ls &> x rm", "cat <<rm", "echo 'rm", "r\\m rm", "eval rm x", "f() { rm; }",
    ],
)  # fmt: skip
def test_a_command_that_is_not_plain_passes_no_list_of_allowed_programs_and_shows_those_of_a_list_of_denied_ones(
    command: str,
):
    assert names(command)[0] == command
    assert "rm" in names(command)


@pytest.mark.parametrize("command", ["", " ", ">", "x" * 5_000, "ls " * 100_000])
def test_commands_is_never_empty(command: str):
    assert names(command)


def test_a_command_that_is_no_text_is_shown_as_json():
    assert shell(["rm"])["fullCommandText"] == '["rm"]'  # type: ignore[arg-type]
    assert requested("bash")["fullCommandText"] == ""


def test_a_file_that_is_read():
    assert requested("read", path="/etc/passwd") == {
        "kind": "read",
        "toolCallId": "t1",
        "intention": "",
        "path": "/etc/passwd",
    }


def test_a_file_that_is_written():
    assert requested("write", path="a", content="x\ny") == {
        "kind": "write",
        "toolCallId": "t1",
        "intention": "",
        "canOfferSessionApproval": True,
        "fileName": "/repo/a",
        "diff": "--- /repo/a\n+++ /repo/a\n@@\n+x\n+y",
        "newFileContents": "x\ny",
    }


def test_a_file_that_is_edited():
    edits = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]
    asked = requested("edit", path="p", edits=edits)
    assert (asked["kind"], asked["fileName"]) == ("write", "/repo/p")
    assert asked["diff"] == "--- /repo/p\n+++ /repo/p\n@@\n-a\n-c\n+b\n+d"
    assert "newFileContents" not in asked


@pytest.mark.parametrize(("tool", "description"), [("own", "It does."), ("other", "")])
def test_a_tool_of_an_extension(tool: str, description: str):
    assert requested(tool, x=1) == {
        "kind": "custom-tool",
        "toolCallId": "t1",
        "toolName": tool,
        "toolDescription": description,
        "args": {"x": 1},
    }


def test_the_management_of_extensions():
    asked = requested("extensions_manage", operation="scaffold", name="x")
    assert asked == {
        "kind": "extension-management",
        "toolCallId": "t1",
        "operation": "scaffold",
        "extensionName": "x",
    }
    assert requested("extensions_reload")["operation"] == "reload"


def test_a_question_of_a_hook():
    event = tool_call("write", path="a", content="x")
    asked = {
        "kind": "hook",
        "toolCallId": "t1",
        "toolName": "create",
        "toolArgs": {"path": "/repo/a", "file_text": "x"},
    }
    assert hook_request(event, "", "/repo") == asked
    assert hook_request(event, "sure?", "/repo") == {**asked, "hookMessage": "sure?"}


@given(
    st.sampled_from(["bash", "read", "write", "edit", "own", "extensions_manage", "x"]),
    json_values | st.dictionaries(st.sampled_from(["command", "path", "content", "edits", "name"]), json_values),
)
def test_any_call_can_be_asked_about(tool: str, args: Any):
    event = frames.Event("tool_call", tool_id="t", tool_name=tool, tool_args=Raw(json.dumps(args).encode()))
    for asked in (permission_request(event, JOINED, "/repo"), hook_request(event, "m", "/repo")):
        assert asked["kind"]
        json.dumps(asked)


@given(st.text(st.sampled_from(" ;|&<>()'\"$`\\\n=-rmx/#!{}")))
def test_a_program_that_a_shell_would_start_is_named(command: str):
    """Whatever stands before and behind it."""
    assert "tool" in names(f"{command};tool x")
    assert "tool" in names(f"tool x;{command}")


# --- answers ------------------------------------------------------------------------------------------------

CHANGED = GuardVerdict(VerdictKind.ALLOW, modified_args=b"{}")
HOOK_ASKS = GuardVerdict(VerdictKind.ASK, "hm", modified_args=b"{}")


@pytest.mark.parametrize(
    "kind",
    [
        "approve-once", "approve-for-session", "approve-for-location", "approve-permanently", "approved",
        "approved-for-session", "approved-for-location",
    ],
)  # fmt: skip
def test_approved(kind: str):
    assert read_permission({"kind": kind, "approval": {"kind": "read"}}, HOOK_ASKS) == CHANGED


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"kind": "reject", "feedback": "use rg"}, "use rg"),
        ({"kind": "reject"}, "refused by the extension's permission handler"),
        ({"kind": "reject", "feedback": 7}, "refused by the extension's permission handler"),
        ({"kind": "denied-interactively-by-user", "feedback": "no"}, "no"),
        ({"kind": "denied-interactively-by-user"}, "denied by the user"),
        ({"kind": "denied-by-rules", "rules": []}, "denied by rules of the extension"),
        ({"kind": "denied-by-content-exclusion-policy", "path": "p", "message": "secret"}, "secret"),
        ({"kind": "denied-by-permission-request-hook", "message": "m"}, "m"),
        ({"kind": "cancelled", "reason": "late"}, "late"),
        (
            {"kind": "denied-no-approval-rule-and-could-not-request-from-user"},
            "refused by the extension's permission handler",
        ),
        ({"kind": "denied-by-something-new"}, "refused by the extension's permission handler"),
    ],
)
def test_refused(result: dict, reason: str):
    assert read_permission(result, HOOK_ASKS) == GuardVerdict(VerdictKind.DENY, reason)


def test_a_decision_with_its_context_counts_without_it():
    context = {"outcome": "approved", "source": "x", "surface": "y"}
    for result in ({"kind": "approve-once"}, {"kind": "reject", "feedback": "no"}):
        attributed = {"kind": "attributed", "result": result, "decisionContext": context}
        assert read_permission(attributed, CHANGED) == read_permission(result, CHANGED)
    assert read_permission({"kind": "attributed", "result": "x"}, CHANGED).kind is VerdictKind.NO_VERDICT


def test_nobody_and_no_opinion():
    assert read_permission({"kind": "user-not-available"}, ALLOW) == GuardVerdict(VerdictKind.ASK, NOT_ASKED)
    assert read_permission({"kind": "user-not-available"}, HOOK_ASKS) == HOOK_ASKS
    for before in (ALLOW, CHANGED, HOOK_ASKS):
        assert read_permission({"kind": "no-opinion"}, before) is before
        assert read_permission({"kind": "no-result"}, before) is before


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "the permission result is null, not an object"),
        ("approve-once", "the permission result is a string, not an object"),
        ({}, "the kind of the permission result is missing"),
        ({"kind": True}, "the kind of the permission result is true, not a string"),
        ({"kind": "approve-always"}, "the kind of the permission result is 'approve-always', not a known one"),
        ({"kind": "yes"}, "the kind of the permission result is 'yes', not a known one"),
        ({"zotHookError": "x is undefined"}, "its onPermissionRequest threw: x is undefined"),
    ],
)
def test_what_is_not_understood(result: Any, said: str):
    assert read_permission(result, CHANGED) == GuardVerdict(VerdictKind.NO_VERDICT, said)
    assert read_permission(result, HOOK_ASKS) == GuardVerdict(VerdictKind.DENY, f"hm ({said})")


@given(json_values | st.dictionaries(st.sampled_from(["kind", "feedback", "zotHookError"]), json_values))
def test_any_result_is_read(result: Any):
    assert read_permission(result, ALLOW).kind is not VerdictKind.ALLOW
    assert read_permission(result, HOOK_ASKS).kind is VerdictKind.DENY
