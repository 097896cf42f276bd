"""The receiver of a line: exactly one, the same that the list of commands promises."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyzot.answers import CommandInfo, SkillInfo
from pyzot.screen.commands import BUILT_INS, Commands, Kind
from tests.pyzot.screen.view.test_text import any_text


def commands_of(extensions=(), skills=()):
    commands = Commands()
    commands.update(
        [CommandInfo(name, f"does {name}", "e") for name in extensions],
        [SkillInfo(name, f"is {name}", "builtin", None) for name in skills],
    )
    return commands


def receiver(commands, text):
    line = commands.read(text)
    return line.kind, line.name, line.rest


@pytest.mark.parametrize(
    ("text", "kind", "name", "rest"),
    [
        ("hello", Kind.PROMPT, "", ""),
        ("", Kind.PROMPT, "", ""),
        ("/", Kind.PROMPT, "", ""),
        ("/ help", Kind.PROMPT, "", ""),
        ("/usr/bin is full", Kind.PROMPT, "", ""),
        ("/* a comment */", Kind.PROMPT, "", ""),
        ("see /help", Kind.PROMPT, "", ""),
        ("//", Kind.PROMPT, "", ""),
        ("!ls -l", Kind.SHELL, "", "ls -l"),
        ("! ls\n", Kind.SHELL, "", "ls"),
        ("!", Kind.PROMPT, "", ""),
        ("!  ", Kind.PROMPT, "", ""),
        (" !ls", Kind.PROMPT, "", ""),
        ("/help", Kind.BUILT_IN, "help", ""),
        ("  /HELP  me \n now ", Kind.BUILT_IN, "help", "me \n now"),
        ("/zot:help", Kind.BUILT_IN, "help", ""),
        ("/zot:todo", Kind.UNKNOWN, "zot:todo", ""),
        ("/todo add\tmilk", Kind.EXTENSION, "todo", "add\tmilk"),
        ("/ToDo", Kind.EXTENSION, "todo", ""),
        ("/deploy.prod now", Kind.EXTENSION, "deploy.prod", "now"),
        ("/grüße", Kind.EXTENSION, "grüße", ""),
        ("/write-it now", Kind.SKILL, "write-it", "now"),
        ("/tmp", Kind.UNKNOWN, "tmp", ""),
    ],
)
def test_receivers(text, kind, name, rest):
    commands = commands_of(["Todo", "deploy.prod", "Grüße"], ["write-it", "todo"])
    assert receiver(commands, text) == (kind, name, rest)
    assert commands.read(text).text == text


def test_built_ins_of_the_go_zot_win_and_ours_yield():
    commands = commands_of(["help", "cost", "Export"], ["tools", "help"])
    assert commands.read("/help").kind is Kind.BUILT_IN
    assert receiver(commands, "/cost x") == (Kind.EXTENSION, "cost", "x")
    assert receiver(commands, "/export") == (Kind.EXTENSION, "export", "")
    assert receiver(commands, "/zot:export a") == (Kind.BUILT_IN, "export", "a")
    assert commands.read("/tools").kind is Kind.BUILT_IN, "a skill hides no command"
    listed = dict(commands.list())
    assert listed["/cost"] == "does cost [e]"
    assert listed["/zot:cost"] == BUILT_INS["cost"].description
    assert "/zot:help" not in listed
    assert "/zot:tools" not in listed


def test_the_first_of_two_extensions_has_a_command():
    commands = Commands()
    commands.update([CommandInfo("A", "one", "first"), CommandInfo("a", "two", "second")], [])
    assert dict(commands.list())["/a"] == "one [first]"
    commands.update([], [])
    assert commands.read("/a").kind is Kind.UNKNOWN


def test_lines_that_change_the_conversation_wait():
    commands = commands_of(["todo"], ["skill"])
    texts = ("hi", "!ls", "/skill", "/todo", "/nope", "/model x", "/cost", "/exit", "/clear", "/ext")
    waiting = [text for text in texts if commands.read(text).waits]
    assert waiting == ["hi", "/skill", "/model x", "/clear"]


names = st.sampled_from(["help", "cost", "HELP", "zot:cost", "zot:help", "todo", "a.b", "top", "ä", "x-1", "a:b"])


@given(any_text | st.text("/!: aA\n", max_size=8), st.lists(names), st.lists(names))
@example("/zot:cost", ["zot:cost"], [])
def test_every_text_has_one_receiver_and_every_listed_command_is_read(text, extensions, skills):
    commands = commands_of(extensions, skills)
    line = commands.read(text)
    assert (line.kind in (Kind.PROMPT, Kind.SHELL)) == (line.name == "")
    assert line.kind is not Kind.PROMPT or line.waits
    listed = [name for name, _ in commands.list()]
    assert len(listed) == len(set(listed))
    kinds = [commands.read(name).kind for name in listed]
    assert kinds == sorted(kinds, key=[Kind.BUILT_IN, Kind.EXTENSION, Kind.SKILL].index)
    assert kinds.count(Kind.BUILT_IN) == len(BUILT_INS)
    if line.kind in (Kind.EXTENSION, Kind.SKILL):
        assert f"/{line.name}" in listed
