"""A command is found in any case, has one spelling, and one owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.extension_versions import Folder
from wire.suggestions import UnknownNameError

if TYPE_CHECKING:
    from tests.support.host import Host

ECHOES = """
hello()
for name in {names!r}:
    send(type="register_command", name=name)
send(type="ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="display", display=frame["name"])
"""


def echoes(*names: str) -> str:
    return ECHOES.format(names=names)


def told_name(host: Host, typed: str) -> str | None:
    """The name with which the extension was called for the typed one."""
    answers = []
    owned = host.supervisor.registrations.command(typed)
    host.supervisor.begin_command(owned, "", answers.append)
    host.until(lambda: answers)
    return answers[0].frame.display


@pytest.mark.parametrize(
    ("registered", "typed"),
    [("Go", "go"), ("go", "GO"), ("mcp__One", "MCP__one"), ("Straße", "STRAẞE"), ("İ", "i"), ("ΟΔΟΣ", "οδοσ")],
)
def test_a_command_is_found_in_any_case_and_its_extension_gets_the_registered_name(host: Host, registered, typed):
    host.write("one", echoes(registered))
    host.start()
    assert told_name(host, typed) == told_name(host, registered) == registered
    assert set(host.supervisor.registrations.commands()) == {registered}


def test_names_that_lower_case_leaves_apart_are_two_commands(host: Host):
    host.write("one", echoes("Straße", "STRASSE"))
    host.start()
    assert (told_name(host, "straße"), told_name(host, "strasse")) == ("Straße", "STRASSE")
    assert host.said_of("one") == []


@pytest.mark.parametrize("typed", ["g", "goo", "", "/go", "İ"])
def test_another_name_is_unknown(host: Host, typed: str):
    host.write("one", echoes("Go"))
    host.start()
    with pytest.raises(UnknownNameError):
        host.supervisor.registrations.command(typed)
    assert host.supervisor.registrations.find_command(typed) is None


def test_of_two_of_one_extension_that_differ_only_by_case_the_first_counts(host: Host):
    host.write("one", echoes("Go", "go", "GO", "Go"))
    host.start()
    assert told_name(host, "go") == "Go"
    assert host.supervisor.registrations.commands().keys() == {"Go"}
    hidden = "its command '/go' is hidden: it has '/Go' already, and case does not count"
    assert host.said_of("one") == [("warning", hidden)]


def test_of_two_extensions_the_first_has_the_name(host: Host):
    host.write("first", echoes("Go"))
    host.write("second", echoes("gO", "Other"))
    host.start()
    for typed in ("go", "GO", "gO"):
        assert host.supervisor.registrations.command(typed).owner.name == "first"
    assert told_name(host, "other") == "Other"
    hidden = "its command '/gO' is hidden: extension first has '/Go', and case does not count"
    assert (host.said_of("first"), host.said_of("second")) == ([], [("warning", hidden)])


def test_a_reload_may_change_the_case(host: Host):
    folder = Folder(host)
    folder.code(echoes("Go"))
    host.write("second", echoes("go"))
    host.start()
    assert told_name(host, "go") == "Go"
    folder.code(echoes("gO"))
    assert folder.reload().outcome == "reloaded"
    assert told_name(host, "Go") == "gO"
    folder.code(echoes("other"))
    assert folder.reload().outcome == "reloaded"
    assert host.supervisor.registrations.command("GO").owner.name == "second"


def test_one_that_registers_a_command_500_times_has_it_once_and_one_line(host: Host):
    names = ["".join(c.upper() if n >> i & 1 else c for i, c in enumerate("abcdefghi")) for n in range(500)]
    host.write("one", echoes(*names, "more"))
    host.start()
    assert set(host.supervisor.registrations.commands()) == {"abcdefghi", "more"}
    assert [kind for kind, _ in host.said_of("one")] == ["warning"]


def test_workers_that_spell_a_command_otherwise_are_not_alike(host: Host):
    marks = str(host.folder / "marks")
    code = f"""
try:
    os.close(os.open({marks!r}, os.O_CREAT | os.O_EXCL)); name = "Go"
except FileExistsError:
    name = "go"
hello()
send(type="register_command", name=name)
send(type="ready")
for _ in frames(): pass
"""
    host.write("pool", code, workers=2)
    host.start()
    host.until(lambda: any(kind == "failed" for kind, _ in host.said_of("pool")))
    assert "is not like the others: commands differ (Go, go)" in host.said_of("pool")[0][1]
