"""Prompts that an extension sends with `session.send`, and `session.abort`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.copilot_methods import Talk, error_of, read, result_of
from wire.dialects import host_calls
from wire.dialects.base import HostCalled, Remarked


def test_a_prompt_is_taken_by_the_host_and_gets_an_id():
    talk = Talk()
    call = talk.called("session.send", prompt="Analyze the test results.")
    assert call.call == host_calls.SendPrompt("Analyze the test results.")
    first = result_of("session.send", read(talk.methods.answer(call.key, None)))
    assert first["messageId"] != talk.answered("session.send", None, prompt="again")["messageId"]


def test_its_files_go_with_it():
    call = Talk().called(
        "session.send",
        prompt="Review",
        attachments=[
            {"type": "file", "path": "./src/index.ts"},
            {"type": "file", "path": "/a/b.txt", "displayName": "b"},
            {"type": "file", "path": "file:///a%20b/c.txt"},
            {"type": "file", "path": "FILE://localhost/d"},
        ],
    )
    assert call.call == host_calls.SendPrompt("Review", ("./src/index.ts", "/a/b.txt", "/a b/c.txt", "/d"))


@pytest.mark.parametrize(
    ("attachments", "said"),
    [
        ([{"type": "directory", "path": "src"}], "attachments[0].type: 'directory' is not supported here"),
        ([{"type": "file", "path": "a"}, {"type": "blob", "data": ""}], "attachments[1].type: 'blob' is not"),
        ([{"type": "selection", "filePath": "a"}], "attachments[0].type: 'selection' is not supported here"),
        ([{"type": "file"}], "attachments[0].path: a file needs one"),
        ([{"type": "file", "path": ""}], "attachments[0].path: a file needs one"),
        ([{"type": "file", "path": "file://far/a"}], "attachments[0].path: 'file://far/a' is on another host"),
        ([{"type": "file", "path": "a\0b"}], "attachments[0].path: it contains a NUL character"),
        ([{"type": "file", "path": 1}], "attachments[0].path: expected str | null, got int"),
        ([{}], "attachments[0].type is required"),
        ("a.txt", "attachments: expected array | null, got str"),
        ([{"type": "file", "path": "a"}] * 21, "attachments: 21 of them, at most 20 are taken"),
    ],
)
def test_attachments_that_cannot_be_taken_are_named(attachments: Any, said: str):
    messages, answer = Talk().take("session.send", prompt="x", attachments=attachments)
    code, message = error_of(answer)
    assert code == -32602
    assert message.startswith(f"session.send: {said}")
    assert [type(message) for message in messages] == [Remarked]


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_an_empty_prompt_is_refused_unless_a_file_goes_with_it(prompt: str):
    assert error_of(Talk().take("session.send", prompt=prompt)[1]) == (-32602, "session.send: prompt: it is empty")
    Talk().called("session.send", prompt=prompt, attachments=[{"type": "file", "path": "a"}])


def test_what_has_no_effect_is_remarked_once():
    talk = Talk()
    options = {"mode": "immediate", "displayPrompt": "y", "agentMode": "plan", "wait": True, "source": "system"}
    files = [{"type": "file", "path": "a", "lineRange": {"start": 1, "end": 2}}]
    messages, _ = talk.take("session.send", prompt="x", attachments=files, **options)
    assert sorted(message.text for message in messages[:-1]) == [
        f"session.send: {name} has no effect here"
        for name in ("agentMode", "attachments[].lineRange", "displayPrompt", "mode", "source", "wait")
    ]
    assert isinstance(messages[-1], HostCalled)
    talk.called("session.send", prompt="x", **options)
    usual = {"mode": "enqueue", "agentMode": "interactive", "billable": True, "prepend": False, "wait": False}
    Talk().called("session.send", prompt="x", **usual)


def test_a_refused_prompt_is_an_error_with_the_reason():
    talk = Talk()
    call = talk.called("session.send", prompt="x")
    assert error_of(read(talk.methods.refuse(call.key, "10 were sent"))) == (-32000, "session.send: 10 were sent")


def test_an_abort_succeeds_or_says_why_not():
    assert Talk().answered("session.abort", None) == {"success": True}
    talk = Talk()
    refused = read(talk.methods.refuse(talk.called("session.abort").key, "nothing runs"))
    assert result_of("session.abort", refused) == {"success": False, "error": "nothing runs"}
