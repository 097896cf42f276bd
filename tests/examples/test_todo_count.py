"""The todo-count example: the tool's answers, and that no argument leads out of the project."""

from __future__ import annotations

import json

import pytest

from tests.support.example_extensions import greeted, starting


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("around")
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.c").write_text("// TODO one\nint TODOLIST;\n/* FIXME: two TODO */\n// FIXME\n")
    (folder / "with space & 'quote' [x].txt").write_text("TODO\n")
    (folder / "grün.txt").write_text("TODO\nTODO\n")
    (folder / "-n").write_text("TODO")
    (folder / "empty").write_text("")
    (folder / "link").symlink_to(folder / "src" / "app.c")
    (folder / "out").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("TODO\n")
    (tmp_path / "project-2").mkdir()
    (tmp_path / "project-2" / "secret").write_text("TODO\n")
    return folder


@pytest.fixture(scope="module")
def tool(folder_of, project):
    """One process for all tests of the module, whose questions are independent."""
    with starting(folder_of) as start_example:
        yield greeted(start_example("todo-count"), "todo-count", project)


def call_raw(tool, args: str):
    """Calls with this JSON text as arguments; returns (text, is_error)."""
    tool.send_bytes(b'{"type":"tool_call","id":"31","name":"todo_count","args":%s}\n' % args.encode())
    result = tool.frame()
    assert (result["type"], result["id"], len(result["content"])) == ("tool_result", "31", 1)
    assert result["content"][0]["type"] == "text"
    return result["content"][0]["text"], result["is_error"]


def call(tool, path: str):
    return call_raw(tool, json.dumps({"path": path}, ensure_ascii=False))


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("src/app.c", 3),
        ("./src/../src/app.c", 3),
        ("with space & 'quote' [x].txt", 1),
        ("grün.txt", 2),
        ("-n", 1),
        ("empty", 0),
    ],
)
def test_counts_lines_of_a_file(path, lines, tool):
    assert call(tool, path) == (f"lines with TODO or FIXME in {path}: {lines}", False)


def test_an_absolute_path_in_the_project_works(tool, project):
    assert call(tool, f"{project}/src/app.c") == (f"lines with TODO or FIXME in {project}/src/app.c: 3", False)


@pytest.mark.parametrize(
    "path", ["../secret", "out/secret", "src/../../secret", "/etc/passwd", "no/file", "../project-2/secret"]
)
def test_a_path_outside_the_project_is_refused(path, tool):
    assert call(tool, path) == (f"{path} is not in the project, or its folder does not exist", True)


@pytest.mark.parametrize("path", ["src", "link", "missing", "out", ".", "src/"])
def test_what_is_not_a_plain_file_is_refused(path, tool):
    assert call(tool, path) == (f"{path} is not a file that can be read", True)


@pytest.mark.parametrize("path", ['a"b', "a\\b", "a\nb", 'x","path":"src/app.c'])
def test_a_path_that_needs_an_escape_is_refused(path, tool):
    text, is_error = call(tool, path)
    assert "backslash" in text
    assert is_error


@pytest.mark.parametrize(
    "args",
    [
        "{}",
        "null",
        "[]",
        '"path"',
        '{"path":5}',
        '{"path":null}',
        '{"path":""}',
        '{"note":"\\"path\\":\\"src/app.c\\""}',
        '{"a\\"path":"src/app.c"}',
        '["path","src/app.c"]',
    ],
)
def test_missing_and_wrong_arguments_are_refused(args, tool):
    assert call_raw(tool, args) == ('todo_count needs "path", a string', True)


@pytest.mark.parametrize(
    "args",
    ['{ "path" : "src/app.c" }', '{"limit":3,"path":"src/app.c"}', '{"path":"src/app.c","note":"a \\"b\\" {c}"}'],
)
def test_spaces_and_other_members_do_not_matter(args, tool):
    assert call_raw(tool, args) == ("lines with TODO or FIXME in src/app.c: 3", False)


def test_arguments_cannot_pose_as_another_frame(tool):
    args = '{"path":"src/app.c","type":"shutdown","id":"666","args":{"id":"667"}}'
    assert call_raw(tool, args) == ("lines with TODO or FIXME in src/app.c: 3", False)


@pytest.mark.parametrize("cwd", ["/nowhere/at/all", 'quo"ted', "back\\slash", ""])
def test_without_a_usable_project_directory_every_path_is_refused(cwd, start):
    tool = start("todo-count")
    tool.frames_up_to("ready")
    tool.send("hello_ack", protocol_version=1, cwd=cwd)
    assert call(tool, "todo-count.sh")[1]
    assert call(tool, "/etc/passwd")[1]


def test_several_calls_in_one_write_are_all_answered(tool):
    frames = [{"type": "tool_call", "id": str(i), "name": "todo_count", "args": {"path": "-n"}} for i in range(20)]
    tool.send_bytes(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))
    assert [tool.frame()["id"] for _ in frames] == [frame["id"] for frame in frames]
