"""The agent's tools in Copilot CLI's words, and rewritten arguments back."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.any_json import json_values
from wire.dialects.copilot.tool_names import RewriteError, copilot_args, copilot_name, is_same_value, restore_args
from wire.lenient_json import read

TOOLS = st.sampled_from(["bash", "read", "write", "edit", "skill", "other"])
MEMBERS = st.sampled_from(
    ["path", "offset", "limit", "view_range", "content", "file_text", "edits", "old_str", "new_str", "command", "x"]
)
EDITS = st.lists(
    json_values | st.fixed_dictionaries({}, optional={"oldText": st.text(max_size=3), "newText": json_values}),
    max_size=3,
)
VALUES = json_values | st.integers(-2, 9) | EDITS | st.lists(st.integers(-2, 9), max_size=3) | st.text(max_size=3)
ARGS = st.dictionaries(MEMBERS, VALUES, max_size=5)


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def changed(tool: str, args: dict, cwd: str = "", **members: Any) -> Any:
    """The arguments after an extension has changed these members of what it was shown; None removes one."""
    told = {**copilot_args(tool, dumped(args), cwd), **members}
    return taken(tool, args, {name: value for name, value in told.items() if value is not None}, cwd)


def taken(tool: str, args: dict, told: Any, cwd: str = "") -> Any:
    text = restore_args(tool, dumped(args), told, cwd)
    return None if text is None else json.loads(text)


@pytest.mark.parametrize(
    ("tool", "args", "name", "told"),
    [
        ("bash", {"command": "ls", "timeout": 5}, "bash", {"command": "ls", "timeout": 5}),
        ("read", {"path": "a"}, "view", {"path": "a"}),
        ("read", {"path": "a", "offset": 5, "limit": 10}, "view", {"path": "a", "view_range": [5, 14]}),
        ("read", {"path": "a", "offset": 5}, "view", {"path": "a", "view_range": [5, -1]}),
        ("read", {"path": "a", "limit": 3.0}, "view", {"path": "a", "view_range": [1, 3]}),
        ("read", {"path": "a", "offset": 0, "limit": None}, "view", {"path": "a"}),
        ("read", {"path": "a", "offset": "5"}, "view", {"path": "a", "offset": "5"}),
        ("write", {"path": "a", "content": "x"}, "create", {"path": "a", "file_text": "x"}),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]},
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y"}], "old_str": "x", "new_str": "y"},
        ),
        ("edit", {"path": "a", "edits": "?"}, "edit", {"path": "a", "edits": "?"}),
        ("lookup", {"content": 1, "offset": 2}, "lookup", {"content": 1, "offset": 2}),
    ],
)
def test_what_an_extension_is_told(tool: str, args: dict, name: str, told: dict):
    assert copilot_name(tool) == name
    assert copilot_args(tool, dumped(args), "") == told


def test_of_several_edits_a_guard_sees_all_texts():
    edits = [{"oldText": "a", "newText": "harmless"}, {"oldText": "b", "newText": "password"}]
    told = copilot_args("edit", dumped({"path": "p", "edits": edits}), "")
    assert (told["old_str"], told["new_str"], told["edits"]) == ("a\nb", "harmless\npassword", edits)


@pytest.mark.parametrize(
    ("tool", "args", "told"),
    [
        ("write", {"path": "a", "content": "evil", "file_text": "good"}, {"path": "a", "file_text": "evil"}),
        ("write", {"path": "a", "file_text": "good"}, {"path": "a"}),
        ("read", {"path": "a", "offset": 9, "view_range": [1, 2]}, {"path": "a", "view_range": [9, -1]}),
        ("read", {"path": "a", "view_range": [1, 2]}, {"path": "a"}),
        ("edit", {"path": "a", "old_str": "x", "new_str": "good"}, {"path": "a"}),
    ],
)
def test_a_member_that_the_tool_does_not_read_cannot_deceive_a_guard(tool: str, args: dict, told: dict):
    assert copilot_args(tool, dumped(args), "") == told


def test_arguments_that_are_no_json_are_told_as_text():
    assert copilot_args("write", b"{", "/repo") == "{"
    assert copilot_args("write", b"[1]", "/repo") == [1]


@pytest.mark.parametrize(
    ("tool", "args", "members", "rewritten"),
    [
        ("bash", {"command": "ls", "x": 1}, {"command": "ls 2>&1"}, {"command": "ls 2>&1", "x": 1}),
        ("read", {"path": "a", "offset": 2}, {"path": "b"}, {"path": "b", "offset": 2}),
        ("read", {"path": "a"}, {"view_range": [3, 7]}, {"path": "a", "offset": 3, "limit": 5}),
        ("read", {"path": "a", "limit": 9, "x": 1}, {"view_range": [3, -1]}, {"path": "a", "x": 1, "offset": 3}),
        ("read", {"path": "a", "offset": 2}, {"view_range": None}, {"path": "a"}),
        ("read", {"path": "a"}, {"limit": 4}, {"path": "a", "limit": 4}),
        ("write", {"path": "a", "content": "x", "y": 2}, {"file_text": "z"}, {"path": "a", "content": "z", "y": 2}),
        ("write", {"path": "a", "content": "x"}, {"path": "b"}, {"path": "b", "content": "x"}),
        ("write", {"path": "a", "content": "x"}, {"content": "z", "file_text": None}, {"path": "a", "content": "z"}),
        ("write", {"path": "a", "content": "x"}, {"content": "z"}, {"path": "a", "content": "z"}),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y", "n": 1}]},
            {"new_str": "z"},
            {"path": "a", "edits": [{"oldText": "x", "newText": "z", "n": 1}]},
        ),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]},
            {"new_str": "z", "edits": None},
            {"path": "a", "edits": [{"oldText": "x", "newText": "z"}]},
        ),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y"}] * 2},
            {"path": "b", "edits": None},
            {"path": "b", "edits": [{"oldText": "x", "newText": "y"}] * 2},
        ),
        (
            "edit",
            {"path": "a", "edits": [{"oldText": "x", "newText": "y"}] * 2},
            {"edits": [{"oldText": "x", "newText": "z"}]},
            {"path": "a", "edits": [{"oldText": "x", "newText": "z"}]},
        ),
    ],
)
def test_what_a_change_makes_of_the_arguments(tool: str, args: dict, members: dict, rewritten: dict):
    assert changed(tool, args, **members) == rewritten


def test_modified_args_replace_all_arguments():
    assert taken("bash", {"command": "ls", "timeout": 9}, {"command": "pwd"}) == {"command": "pwd"}


@pytest.mark.parametrize(
    ("tool", "told", "said"),
    [
        ("bash", "ls", "modifiedArgs is a string, not an object"),
        ("bash", None, "modifiedArgs is null, not an object"),
        ("read", {"path": "a", "view_range": [3]}, "modifiedArgs.view_range is not [first line, last line]"),
        ("read", {"path": "a", "view_range": [3, 2]}, "modifiedArgs.view_range is not [first line, last line]"),
        ("read", {"path": "a", "view_range": [True, 2]}, "modifiedArgs.view_range is not [first line, last line]"),
        ("write", {"path": "a"}, "modifiedArgs.file_text is missing"),
        ("edit", {"path": "a"}, "modifiedArgs has no edit: old_str and new_str are missing"),
        ("edit", {"new_str": "z"}, "modifiedArgs changes old_str or new_str of a call with 2 edits"),
        ("edit", {"new_str": "z", "edits": []}, "modifiedArgs changes edits, and old_str or new_str besides"),
    ],
)
def test_a_change_without_a_meaning_is_refused_by_name(tool: str, told: Any, said: str):
    args = {"path": "a", "content": "c", "edits": [{"oldText": "x", "newText": "y"}] * 2}
    with pytest.raises(RewriteError) as raised:
        taken(tool, args, told)
    assert str(raised.value).startswith(said)


def test_a_piece_of_an_edit_that_is_no_text_is_refused():
    with pytest.raises(RewriteError, match=r"modifiedArgs\.new_str is a number, not a string"):
        changed("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, new_str=7)


def test_deep_arguments_are_refused():
    deep: Any = {}
    for _ in range(200):
        deep = {"x": deep}
    with pytest.raises(RewriteError, match="nested deeper than 100 levels"):
        taken("bash", {"command": "ls"}, deep)


def test_numbers_that_javascript_cannot_hold_stay_as_the_model_wrote_them():
    args = b'{"n":12345678901234567890,"x":1.0,"command":"ls"}'
    assert restore_args("other", args, {"n": 12345678901234567000.0, "x": 1, "command": "ls"}, "") is None
    text = restore_args("other", args, {"n": 12345678901234567000.0, "x": 1, "command": "pwd"}, "")
    assert text == b'{"n":12345678901234567890,"x":1.0,"command":"pwd"}'


def test_true_is_not_one():
    assert taken("bash", {"command": "ls", "x": 1}, {"command": "ls", "x": True}) == {"command": "ls", "x": True}


# --- paths --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("a.py", "/repo/a.py"), ("./a//b/", "/repo/a/b"), ("../etc/passwd", "/etc/passwd"), ("a/../../..", "/"),
        ("/etc/passwd", "/etc/passwd"), ("/repo/../etc/x", "/etc/x"), ("//etc/x", "/etc/x"), ("///etc", "/etc"),
        ("~/x", "/repo/~/x"), ("~", "/repo/~"), (" a", "/repo/ a"), ("é", "/repo/é"), (".", "/repo"),
        ("", ""), ("a\0b", "a\0b"), (None, None), (7, 7), (["a"], ["a"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("tool", ["read", "write", "edit"])
def test_a_path_is_told_as_the_absolute_one_of_the_file_that_the_tool_touches(tool: str, path: Any, told: Any):
    assert copilot_args(tool, dumped({"path": path}), "/repo") == {"path": told}


def test_paths_of_other_tools_and_paths_without_a_working_folder_are_told_as_they_are():
    assert copilot_args("lookup", dumped({"path": "a"}), "/repo") == {"path": "a"}
    assert copilot_args("bash", dumped({"path": "a"}), "/repo") == {"path": "a"}
    assert copilot_args("read", dumped({"path": "../a"}), "") == {"path": "../a"}
    assert copilot_args("read", dumped({}), "/repo") == {}


def test_bytes_of_the_working_folder_that_are_no_text_can_be_told():
    assert copilot_args("read", dumped({"path": "a"}), "/a\udcff") == {"path": "/a\ufffd/a"}


@pytest.mark.parametrize(
    ("given", "taken"),
    [("/repo/a", "./a"), ("/repo/b", "/repo/b"), ("b", "b"), ("a", "a"), ("/repo/./a", "/repo/./a"), (7, 7)],
)
@pytest.mark.parametrize(
    ("tool", "args", "change", "rewritten"),
    [
        ("read", {"offset": 2}, {"x": 1}, {"offset": 2, "x": 1}),
        ("write", {"content": "x"}, {"file_text": "y"}, {"content": "y"}),
        (
            "edit",
            {"edits": [{"oldText": "x", "newText": "y"}]},
            {"new_str": "z"},
            {"edits": [{"oldText": "x", "newText": "z"}]},
        ),
    ],
)
def test_a_path_that_comes_back_stays_as_the_model_wrote_it_and_a_changed_one_is_as_given(
    tool: str, args: dict, change: dict, rewritten: dict, given: Any, taken: Any
):
    found = changed(tool, {"path": "./a", **args}, "/repo", **{**change, "path": given})
    assert found == {"path": taken, **rewritten}


def test_a_path_that_is_taken_away_is_missing():
    assert changed("read", {"path": "a", "offset": 2}, "/repo", path=None) == {"offset": 2}
    assert taken("read", {"offset": 2}, {"path": None}, "/repo") == {"path": None}


PATHS = st.text(st.sampled_from("./~a\\ é*"), max_size=12) | st.lists(
    st.sampled_from(["", ".", "..", "~", "a", "repo", "etc"]), max_size=6
).map("/".join)


@given(PATHS, st.sampled_from(["/", "/repo", "/home/me/a b"]))
def test_a_guard_can_tell_by_its_beginning_where_a_path_leads(path: str, cwd: str):
    told = copilot_args("read", dumped({"path": path}), cwd)["path"]
    if not path:
        assert told == ""
        return
    parts = told.split("/")
    assert told == "/" or (parts[0] == "" and all(part not in ("", ".", "..") for part in parts[1:]))
    assert copilot_args("read", dumped({"path": told}), "/other") == {"path": told}


# --- any arguments ------------------------------------------------------------------------------------------

CWDS = st.sampled_from(["", "/", "/repo"])


@given(TOOLS, ARGS, CWDS)
@example("edit", {"edits": [None]}, "/repo")
def test_what_comes_back_unchanged_changes_nothing(tool: str, args: dict, cwd: str):
    text = dumped(args)
    told = copilot_args(tool, text, cwd)
    if isinstance(told, dict):
        assert restore_args(tool, text, told, cwd) is None


@given(TOOLS, ARGS, CWDS, st.text(max_size=4).map("own_{}".format), st.integers(0, 9))
def test_a_change_of_another_member_keeps_all_that_the_tool_reads(
    tool: str, args: dict, cwd: str, name: str, value: int
):
    text = dumped(args)
    told = copilot_args(tool, text, cwd)
    if not isinstance(told, dict):
        return
    rewritten = restore_args(tool, text, {**told, name: value}, cwd)
    assert rewritten is not None
    assert read(rewritten)[0].get("path") == read(text)[0].get("path"), "as the tools read it"
    again = copilot_args(tool, rewritten, cwd)
    assert again.pop(name) == value
    assert is_same_value(again, told)


@given(TOOLS, json_values | ARGS, json_values | ARGS, CWDS)
def test_it_never_raises_anything_else(tool: str, args: Any, told: Any, cwd: str):
    text = json.dumps(args).encode()
    copilot_args(tool, text, cwd)
    with contextlib.suppress(RewriteError):
        rewritten = restore_args(tool, text, told, cwd)
        assert rewritten is None or isinstance(json.loads(rewritten), dict)
