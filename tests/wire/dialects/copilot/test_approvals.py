"""What a permission handler approves for the session: of which calls it is not asked again, and of which it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.copilot_verdicts import Talk, read, tool_call
from wire import frames
from wire.dialects.base import Remarked
from wire.dialects.copilot.joining import Tool
from wire.dialects.copilot.permissions.approvals import LIMIT, NAME_LIMIT, Approvals


def commands(*identifiers: str) -> dict[str, Any]:
    return {"kind": "commands", "commandIdentifiers": list(identifiers)}


def bash(command: str) -> frames.Event:
    return tool_call("bash", command=command)


def approving(event: frames.Event, approval: Any = None, kind: str = "approve-for-session") -> tuple[Talk, list[Any]]:
    """An extension without preToolUse whose handler was asked about this event, and what the host takes of its
    answer."""
    talk = Talk(set(), asks_permission=True)
    answer = {"kind": kind} if approval is None else {"kind": kind, "approval": approval}
    messages, sent = talk.permit(talk.ask(event), answer)
    assert sent == b""
    assert isinstance(messages[-1], frames.InterceptResponse)
    assert messages[-1].block is None
    return talk, list(messages)


def is_asked(talk: Talk, event: frames.Event) -> bool:
    """Whether the handler is asked about this event. If it is not, the call is allowed."""
    question = talk.ask(event)
    if question["method"] == "hooks.invoke":  # to an extension without the hook, so that it answers at all
        messages, sent = talk.answer(question, {"result": {}})
        if not sent:
            (response,) = messages
            assert response == frames.InterceptResponse(response.id)
            return False
        question = read(sent)
    assert question["params"]["event"]["type"] == "permission.requested"
    return True


def covers(asked: frames.Event, approval: Any, later: frames.Event) -> bool:
    talk, _ = approving(asked, approval)
    return not is_asked(talk, later)


# --- what it says -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("later", "covered"),
    [
        ("ls -la src", True), ("ls | ls", True), ("ls; wc -l a", True), ("ls && rm a", False), ("lsof", False),
        ("ls > out", False), ("ls 2> out", False), ("ls $(rm a)", False), ("ls `rm a`", False), ("ls\nrm a", False),
        ("ls ..", False), ("ls a/../..", False), ("ls a/..", True), ("ls /repo/src", True), ("ls /repository", False),
        ("ls /", False), ("ls ~", False), ("ls ~root", False), ("ls $HOME", False), ("ls {/etc,a}", False),
        ("ls .*/x", False), ("ls --color=always", True), ("ls -I/etc", False), ("ls --ignore=../x", False),
        ("ls https://a.b", False), ("eval ls", False), ("A=1 ls", False), ("ls 'a b'", True), ("ls 'a", False),
        ("ls " + "a" * 5000, False), ("ls a=/etc", False), ("ls a=../..", False), ("ls a=~/x", False),
        ("ls host:/etc", False), ("ls @/etc/passwd", False), ("ls a=b,c:d", True),
    ],
)  # fmt: skip
def test_programs(later: str, covered: bool):
    assert covers(bash("ls"), commands("ls", "wc"), bash(later)) is covered


@pytest.mark.parametrize(
    ("later", "covered"),
    [
        ("cd src && ls x", True),
        ("cd && ls .ssh", False),
        ("cd; ls", False),
        ("cd - && ls", False),
        ("cd ..; ls", False),
    ],
)
def test_a_command_that_walks_out_of_the_working_folder(later: str, covered: bool):
    assert covers(bash("cd src; ls"), commands("cd", "ls"), bash(later)) is covered


@pytest.mark.parametrize(
    ("asked", "given", "later", "covered"),
    [
        ("git status", ["git"], "git status -s", True),
        ("git status", ["git"], "git push", False),
        ("git status", ["git"], "git -C x status", False),
        ("git status", ["git"], "git -c alias.status=!sh status", False),
        ("git status", ["git"], "git", False),
        ("/usr/bin/git status", ["/usr/bin/git"], "/usr/bin/git push", False),
        ("git status", ["git push"], "git push", True),
        ("git status; git log", ["git"], "git log", True),
        ("ls; git status", ["ls"], "git status", False),
        ("gh pr", ["gh"], "gh api", False),
        ("git $x", ["git"], "git push", False),
        ("git $x", ["git $x"], "git push", False),
    ],
)
def test_a_program_with_subcommands_is_approved_together_with_one(asked: str, given: list, later: str, covered: bool):
    assert covers(bash(asked), commands(*given), bash(later)) is covered


@pytest.mark.parametrize("tool", ["read", "write", "edit"])
@pytest.mark.parametrize(
    ("path", "covered"),
    [
        ("a", True), ("a/../b", True), ("/repo/b", True), ("/repo", True), ("../b", False), ("/etc/passwd", False),
        ("/repo2/b", False), ("~/b", True), ("[b]*", True),
    ],
)  # fmt: skip
def test_files_of_the_working_folder(tool: str, path: str, covered: bool):
    kind = "read" if tool == "read" else "write"
    assert covers(tool_call(tool, path="x"), {"kind": kind}, tool_call(tool, path=path)) is covered


def test_reading_is_not_writing():
    talk, _ = approving(tool_call("read", path="a"), {"kind": "read"})
    assert is_asked(talk, tool_call("write", path="a", content="b"))
    assert is_asked(talk, bash("cat a"))
    talk, _ = approving(tool_call("write", path="a", content=""), {"kind": "write"})
    assert not is_asked(talk, tool_call("edit", path="a", edits=[]))
    assert is_asked(talk, tool_call("read", path="a"))


def test_a_tool_by_its_name():
    approval = {"kind": "custom-tool", "toolName": "deploy"}
    assert covers(tool_call("deploy", to="a"), approval, tool_call("deploy", to="b"))
    assert not covers(tool_call("deploy"), approval, tool_call("deploy_all"))


def test_an_operation_on_extensions():
    listing, making = (tool_call("extensions_manage", operation=each, name="x") for each in ("list", "scaffold"))
    for approval in ({"kind": "extension-management"}, {"kind": "extension-management", "operation": "list"}):
        assert covers(listing, approval, listing)
        assert not covers(listing, approval, making)
        assert not covers(listing, approval, tool_call("extensions_reload"))


def test_without_a_word_about_what_it_is_the_same_call():
    talk, (remark, _) = approving(tool_call("deploy", to="a"))
    assert remark.text.endswith("is not asked again: the same call")
    assert not is_asked(talk, tool_call("deploy", tool_id="t2", to="a"))
    assert is_asked(talk, tool_call("deploy", to="b"))
    assert is_asked(talk, bash("ls"))


@pytest.mark.parametrize(
    "approval",
    [
        {}, [], "read", {"kind": 1}, {"kind": []}, {"kind": "read"}, {"kind": "write"}, {"kind": "memory"},
        {"kind": "mcp", "serverName": "s", "toolName": None}, {"kind": "custom-tool", "toolName": "bash"},
        {"kind": "commands"}, {"kind": "commands", "commandIdentifiers": "ls"},
        {"kind": "commands", "commandIdentifiers": [1, None, "l" * (NAME_LIMIT + 1)]},
    ],
)  # fmt: skip
def test_what_is_not_about_the_request_is_not_remembered(approval: Any):
    talk, (remark, response) = approving(bash("ls"), approval)
    assert "it is asked each time" in remark.text
    assert response.block is None
    assert is_asked(talk, bash("ls"))
    assert is_asked(talk, tool_call("read", path="a"))


@pytest.mark.parametrize(
    ("kind", "is_remembered"),
    [
        ("approve-for-session", True), ("approved-for-session", True), ("approve-for-location", True),
        ("approved-for-location", True), ("approve-once", False), ("approved", False), ("approve-permanently", False),
    ],
)  # fmt: skip
def test_which_answers_last(kind: str, is_remembered: bool):
    talk, _ = approving(bash("ls"), commands("ls"), kind)
    assert is_asked(talk, bash("ls")) is not is_remembered


# --- what stays ---------------------------------------------------------------------------------------------


def test_a_hook_that_denies_wins():
    talk = Talk({"preToolUse"}, asks_permission=True)
    _, sent = talk.judge(bash("ls"), None)
    talk.permit(read(sent), {"kind": "approve-for-session", "approval": commands("ls")})
    (denied,), sent = talk.judge(bash("ls"), {"permissionDecision": "deny"})
    assert (denied.block, sent) == (True, b"")
    (allowed,), sent = talk.judge(bash("ls"), None)
    assert (allowed.block, sent) == (None, b"")


def test_a_hook_that_asks_asks_each_time_and_its_answers_are_not_remembered():
    talk, _ = approving(bash("ls"), commands("ls"))
    talk.verdicts.joined = Talk({"preToolUse"}, asks_permission=True).verdicts.joined
    for _ in range(2):
        _, sent = talk.judge(bash("ls"), {"permissionDecision": "ask"})
        asked = read(sent)
        assert asked["params"]["event"]["data"]["permissionRequest"]["kind"] == "hook"
        (response,), _ = talk.permit(asked, {"kind": "approve-for-session"})
        assert response.block is None
    _, sent = talk.judge(bash("pwd"), None)
    assert sent


def test_the_rewritten_call_counts():
    talk, _ = approving(bash("ls"), commands("ls"))
    talk.verdicts.joined = Talk({"preToolUse"}, asks_permission=True).verdicts.joined
    _, sent = talk.judge(bash("ls"), {"modifiedArgs": {"command": "rm a"}})
    assert read(sent)["params"]["event"]["data"]["permissionRequest"]["fullCommandText"] == "rm a"


def test_another_process_is_asked_again():
    approving(bash("ls"), commands("ls"))
    assert is_asked(Talk(set(), asks_permission=True), bash("ls"))


def test_the_log_says_what_is_approved_each_once():
    talk, (remark, _) = approving(bash("ls"), commands("ls", "wc"))
    assert remark == Remarked(
        "its permission handler approves for the session, and is not asked again: commands ls and wc"
    )
    for _ in range(2):
        messages, _ = talk.permit(talk.ask(bash("pwd")), {"kind": "approve-for-session", "approval": {"kind": "mcp"}})
    assert len(messages) == 1


def test_approvals_without_end_are_not_remembered():
    approvals = Approvals("/repo")
    request = {"kind": "custom-tool", "toolName": "t", "args": {}}
    for number in range(LIMIT):
        assert approvals.remember(request, {"kind": "custom-tool", "toolName": f"t{number}"})
    assert approvals.remember(request, {"kind": "custom-tool", "toolName": "t"}) == ""
    assert not approvals.covers(request)
    assert approvals.covers({**request, "toolName": "t0"})


def test_a_tool_that_no_handler_is_asked_about():
    talk = Talk(set(), asks_permission=True, tools=(Tool("free", skip_permission=True),))
    assert not is_asked(talk, tool_call("free"))
