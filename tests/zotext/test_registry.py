"""A name of a tool is registered once, and can be given back."""

from __future__ import annotations

import pytest

from zotext import Extension, RegistrationError
from zotext.testing import Harness


def test_a_name_is_taken_once_and_can_be_given_back(ext: Extension):
    @ext.tool
    def greet() -> str:
        return "first"

    with pytest.raises(RegistrationError, match="already there"):
        ext.tool(name="greet")(lambda: "second")
    with Harness(ext) as host:
        ext.unregister_tool("greet")
        assert host.tools == {}
        assert host.call_tool("greet").text == "sample has no tool 'greet'"
        ext.tool(name="greet")(lambda: "second")
        ext.command(name="late")(lambda: "late")
        ext.on("turn_end")(lambda: ext.notify("info", "heard"))
        host.send_event("turn_end")
        host.settle()
        assert [note.message for note in host.notes] == ["heard"]
        assert host.call_tool("greet").text == "second"
        assert host.run_command("late").text == "late"
    with pytest.raises(KeyError):
        ext.unregister_tool("two")
