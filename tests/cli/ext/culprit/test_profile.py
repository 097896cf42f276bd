"""The text of `zot ext profile`, and the extensions that have no process to profile."""

from __future__ import annotations

import pytest

from cli.ext.culprit.profile import lines
from cli.hosts.profile_order import reason_against
from supervisor.profile.outcome import HotSpot, Profile
from tests.support.control_peer import extension_stats
from wire.events import HostedShare

SPOTS = (HotSpot("count_words", "guard/main.py:7", 8.124, 81.24), HotSpot("<module>", "", 1.0, 10.0))


def test_the_functions_stand_in_columns():
    assert lines("guard", Profile("/runs/p.json", 42, "python3.12", "python", 10, 8.2, SPOTS)) == [
        "guard: pid 42 (python3.12), 10 s, 8.20 s of them on the processor",
        "    8.12 s   81 %  count_words (guard/main.py:7)",
        "    1.00 s   10 %  <module>",
        "/runs/p.json: open it at https://www.speedscope.app",
    ]


def test_an_idle_process_is_told_as_idle():
    shown = lines("guard", Profile("/runs/p.json", 42, "node", "node", 10, 0.0, ()))
    assert shown[1] == "  it was idle all the time: no function ran"


def test_a_name_of_a_function_cannot_change_the_terminal():
    evil = HotSpot("\x1b[31m\nf", "", 1.0, 10.0)
    assert "\x1b" not in "".join(lines("guard", Profile("/p", 42, "python3", "python", 10, 0.0, (evil,))))


HOSTED = HostedShare(77, "shared", 1.0, 1.0, 5)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, ""),
        ({"in_client": True, "pids": ()}, "is a part of the program that runs zot"),
        ({"hosted": HOSTED, "pids": ()}, "is run by host 77: zot ext profile 'a b' --host 77"),
        ({"state": "asleep", "pids": ()}, "has no process now, it is asleep; a call of one of its tools wakes it"),
        ({"state": "failed", "failure": "exit 3", "pids": ()}, "has no process now, it is failed: exit 3"),
    ],
)
def test_an_extension_without_a_process_of_this_host_is_refused(fields: dict[str, object], why: str):
    found = reason_against(extension_stats(**fields), "a b")
    assert found.startswith(why) if why else found == ""
