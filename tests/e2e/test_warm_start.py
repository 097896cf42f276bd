"""A `zot` from a template behaves as one started as a program: output, status, what it inherits and passes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.support import warm_start
from tests.support.messages_server import http_error, text_reply
from tests.support.replay_script import Script
from wire.events import Done, Result, Session, ToolProgress
from wire.exit_codes import Status

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux" or warm_start.TURNED_OFF in os.environ, reason="everything is started as a program here"
    ),
]

INHERITED = (
    "ls -l /proc/$PPID/fd | grep -c socket:; readlink /proc/$PPID/cwd /proc/$PPID/exe;"
    ' grep -E "^(Sig(Ign|Cgt)|Umask|Uid|Groups|Seccomp|Threads)" /proc/$PPID/status; cat /proc/$PPID/limits;'
    ' ls /proc/self/fd; grep -E "^Sig(Pnd|Blk|Ign|Cgt)" /proc/self/status; umask; ulimit -a; trap;'
    ' env | grep -vE "^(ZOT_TEST_RUN|ZOT_HOST_TOKEN)=" | sort'
)
"""Prints what the host inherited, and what a program that it starts inherits."""


def both(zot, *args, **given):
    """The outcomes of a program of its own, and of a child of the template."""
    made = []
    for cold in (True, False):
        with zot.start(*args, cold=cold, **given) as running:
            assert isinstance(running.process, warm_start.WarmProcess) is not cold
            made.append(running.finish())
    return made


@pytest.mark.parametrize(
    "args",
    [
        ("-h",),
        ("--nope",),
        ("ext", "list", "--json"),
        ("schema", "nothing"),
        ("-p", "--replay", "missing", "gr\udcfc\u00df"),
    ],
    ids=" ".join,
)
def test_commands_say_the_same_and_end_the_same(zot, args):
    cold, warm = both(zot, *args)
    assert (warm.status, warm.stdout, warm.stderr) == (cold.status, cold.stdout, cold.stderr)


def test_help_follows_the_environment_of_the_child(zot):
    for env in ({"FORCE_COLOR": "1"}, {"COLUMNS": "40"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
        cold, warm = both(zot, "-h", env=env)
        assert warm.stdout == cold.stdout


def test_a_run_inherits_and_passes_on_the_same(zot):
    script = Script(zot.cwd).call(("bash", {"command": INHERITED}))
    cold, warm = both(zot, *zot.replay_flags(script), "--max-steps", "1", "go")
    for outcome in (cold, warm):
        outcome.check(Status.MAX_STEPS)
    assert "SigIgn" in cold.tool_texts()[0], "or nothing is compared"
    said = [re.sub(r"Took [0-9.]+s", "", outcome.tool_texts()[0]) for outcome in (cold, warm)]
    assert said[1] == said[0]
    kinds = [[type(record) for record in made.records if not isinstance(record, ToolProgress)] for made in (cold, warm)]
    assert kinds[1] == kinds[0]


def test_a_model_worker_says_the_same(zot, server):
    for reply in (lambda: text_reply("Hello"), lambda: http_error(400, "no")):
        server.add(reply(), reply())
        cold, warm = both(zot, "--json", "--base-url", server.base_url, "--no-session", "go")
        said = [
            [record for record in made.records if not isinstance(record, Session | Result | Done)]
            for made in (cold, warm)
        ]
        assert [type(record) for record in said[1]] == [type(record) for record in said[0]]
        assert (warm.status, warm.stderr, warm.result.text) == (cold.status, cold.stderr, cold.result.text)
    bodies = [(request.body, {**request.headers, "content-length": ""}.keys()) for request in server.requests]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("cold", [True, False])
def test_the_process_is_our_child_in_the_group_that_was_asked_for(zot, cold):
    script = Script(zot.cwd).call(("bash", {"command": "echo up; sleep 600"}))
    for given in ({}, {"start_new_session": True}, {"process_group": 0}):
        with zot.start(*zot.replay_flags(script), "go", cold=cold, **given) as running:
            running.wait_for(ToolProgress)
            leads = bool(given)
            assert (os.getpgid(running.pid) == running.pid) is leads
            assert (os.getsid(running.pid) == running.pid) is ("start_new_session" in given)
            assert os.getpgid(running.pid) == (running.pid if leads else os.getpgrp())
            running.signal(signal.SIGINT)
            assert running.finish().status == 130


def test_options_that_a_template_lacks_start_a_program(zot):
    for given in ({"env": {"PYTHONPATH": f".:{warm_start.ROOT}"}}, {"preexec_fn": int}, {"env": {"LC_ALL": "POSIX"}}):
        with zot.start("--version", **given) as running:
            assert type(running.process) is subprocess.Popen
            assert running.finish().text.startswith("zot ")
    long = "x" * 100_000
    with zot.start("--json", "--replay", "missing", long) as running:
        assert type(running.process) is subprocess.Popen
        assert running.finish().status == 2


def test_a_template_that_was_ended_is_replaced(zot):
    assert zot.run("--version").status == 0
    for pid in warm_start.own_children():
        with suppress(ProcessLookupError):  # one of them may have been ended by another test
            os.kill(pid, signal.SIGKILL)
    for _ in range(2):
        assert zot.run("--version").text.startswith("zot ")
    with zot.start("--version") as running:
        assert isinstance(running.process, warm_start.WarmProcess)
        assert running.finish().status == 0
