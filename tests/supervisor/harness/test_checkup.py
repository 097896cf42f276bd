"""Several extensions are started, greeted and ended, and what was seen of each is returned."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.harness.checkup import CheckupResult, Force, examine
from supervisor.harness.harness import Harness
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.harness.script_runner import find_extension
from tests.support.extension_folder import extension, folder
from tests.support.host import PRELUDE

if TYPE_CHECKING:
    from pathlib import Path

PATIENT = {"hello": 20.0, "ready": 20.0}


@pytest.fixture
def facts_of(tmp_path: Path):
    def examine_these(*children: tuple[str, ...], at_once: int = 4, **manifest) -> dict[str, CheckupResult]:
        fields = {"timeouts": PATIENT, **manifest}
        found = [find_extension(extension(tmp_path, child, *args, **fields)) for child, *args in children]
        done: list[str] = []
        with Harness() as room:
            facts = examine(room, found, at_once=at_once, on_done=lambda one: done.append(one.found.manifest.name))
        assert sorted(done) == sorted(one.manifest.name for one in found)
        assert [one.found for one in facts] == found
        return {one.found.manifest.name: one for one in facts}

    return examine_these


def test_a_good_extension_passes(facts_of):
    facts = facts_of(("echo",), env=["HOME", "NO_SUCH_VARIABLE"])["echo"]
    assert facts.phase is HandshakePhase.READY
    assert facts.ready_s is not None
    assert (facts.hello_name, facts.tools, facts.intercepts) == ("echo", ("echo",), ("tool_call",))
    assert (facts.junk, facts.warnings, facts.bad_frames) == (0, [], [])
    assert facts.exit is not None
    assert (facts.exit.code, facts.has_acked, facts.force, facts.left) == (0, True, Force.ASKING, 0)
    assert facts.missing_env == ("NO_SUCH_VARIABLE",)


def test_each_fault_is_found(facts_of, tmp_path):
    facts = facts_of(
        ("junk_between",), ("bad_tools",), ("exits_before_hello",), ("no_ready",), ("wrong_types",),
        ("first_frame_not_hello",), ("grandchild", str(tmp_path / "pid")), at_once=3,
    )  # fmt: skip
    assert facts["junk_between"].junk > 3
    assert facts["junk_between"].first_junk == "Listening on port 3000"
    assert "good_tool" in facts["bad_tools"].tools
    assert any("'has spaces' is not usable" in text for text in facts["bad_tools"].warnings)
    assert facts["exits_before_hello"].phase is HandshakePhase.FAILED
    assert facts["exits_before_hello"].failure == "it exited before its hello (exit 3)"
    assert facts["exits_before_hello"].force is Force.NOTHING
    assert facts["no_ready"].phase is HandshakePhase.SILENT
    assert len(facts["wrong_types"].bad_frames) >= 2
    assert "must be hello" in facts["first_frame_not_hello"].failure
    assert facts["grandchild"].left == 1


def test_registrations_are_those_at_the_end(tmp_path):
    source = tmp_path / "x.py"
    source.write_text(
        PRELUDE
        + """
hello("kept", "taken_back")
send(type="unregister_tool", name="taken_back")
send(type="subscribe", events=["turn_end", "no_such_event"])
send(type="ready")
list(frames())
"""
    )
    with Harness() as room:
        (facts,) = examine(
            room, [find_extension(folder(tmp_path, "x", [sys.executable, "-I", "-S", str(source)], timeouts=PATIENT))]
        )
    assert (facts.tools, facts.events) == (("kept",), ("turn_end",))
    assert facts.remarks == ["subscribed to 'no_such_event', which this host does not send"]


def test_those_that_do_not_end(facts_of):
    facts = facts_of(("ignores_shutdown",), ("deaf",))
    assert (facts["ignores_shutdown"].force, facts["deaf"].force) == (Force.SIGKILL, Force.SIGTERM)


def test_an_extension_that_hangs_costs_its_own_deadline(facts_of):
    facts = facts_of(("silent",), timeouts={"hello": 0.2})["silent"]
    assert facts.failure == "said no hello within 0.2 s"
    assert facts.exit is not None


def test_an_extension_that_cannot_be_started_is_reported(tmp_path):
    with Harness() as room:
        (facts,) = examine(room, [find_extension(folder(tmp_path, "x", ["./nix"]))])
        assert examine(room, []) == []
    assert "no such file" in facts.spawn_error


def test_an_extension_that_closes_its_stdout_is_reported(facts_of):
    assert facts_of(("closes_stdout",))["closes_stdout"].is_mute


def test_deferred_tools_are_named_apart(tmp_path):
    source = tmp_path / "main.py"
    source.write_text(f"""{PRELUDE}
send(type="hello", name="x")
send(type="register_tool", name="a", deferred=True)
send(type="register_tool", name="b", exposure="direct", deferred=True)
send(type="register_tool", name="c", exposure="deferred")
send(type="ready")
for _ in frames(): pass
""")
    found = find_extension(folder(tmp_path, "x", [sys.executable, "-I", "-S", str(source)], timeouts=PATIENT))
    with Harness() as room:
        (facts,) = examine(room, [found])
    assert (facts.tools, facts.deferred) == (("a", "b", "c"), ("a", "c"))
