"""Checker processes check what is not plainly cheap. Whatever a schema asks for, the loop goes on and serves others."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.loop.future import Failure, Pending
from supervisor.loop.loop import Loop
from supervisor.process.table import is_alive, read_process
from supervisor.process.teardown import stop_all
from supervisor.registry import checker_main, checkers
from supervisor.registry.checkers import BROKEN_OFF_LIMIT, PROGRAM, Checkers
from tests.support.patience import PATIENCE_S
from tests.support.zot_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUICK = [
    *PROGRAM[:-1],
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    "from supervisor.registry import checker_main\nchecker_main.CPU_S = 0.3\nchecker_main.main()",
]
"""The checker with less time for a check."""


def program(code: str) -> list[str]:
    """A program in the place of a checker. It reads requests with `read`, which returns the schema."""
    prelude = (
        "import json, os, sys, time\n"
        "def say(text): print(text, flush=True)\n"
        "def read():\n"
        "    line = sys.stdin.buffer.readline()\n"
        "    sizes = [int(size) for size in line.split()] or sys.exit()\n"
        "    return [json.loads(sys.stdin.buffer.read(size)) for size in sizes][0]\n"
        "def hang(): sys.stdin.buffer.readline()\n"
    )
    return [sys.executable, "-I", "-S", "-c", prelude + code]


class Court:
    """Checkers with a loop. `stop` ends it."""

    def __init__(self, argv: Sequence[str] = QUICK) -> None:
        self.loop = Loop()
        self.checkers = Checkers(self.loop, argv)

    def ask(self, schema: Any, value: Any, extension: str = "a") -> Pending:
        return self.checkers.check(extension, json.dumps(schema).encode(), json.dumps(value).encode())

    def until_done(self, *pending: Pending) -> None:
        assert self.loop.run_until(lambda: all(each.done for each in pending), self.loop.clock() + PATIENCE_S)

    def fault(self, schema: Any, value: Any, extension: str = "a") -> str | None:
        pending = self.ask(schema, value, extension)
        self.until_done(pending)
        assert pending.failure is None, pending.reason
        return pending.value

    def failure(self, schema: Any, value: Any = None, extension: str = "a") -> tuple[Failure | None, str]:
        pending = self.ask(schema, value, extension)
        self.until_done(pending)
        return pending.failure, pending.reason

    def stop(self) -> None:
        stop_all(self.loop, self.checkers.stoppables())
        assert not self.loop.children
        self.loop.close()


@pytest.fixture
def court() -> Iterator[Court]:
    court = Court()
    yield court
    court.stop()


def court_of(code: str) -> Court:
    return Court(program(code))


def test_it_checks_as_the_validator_does(court: Court):
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "name": {"pattern": "^x"}}}
    assert court.fault(tree, {"left": {"left": {}}, "name": "xy"}) == ""
    assert court.fault(tree, {"left": {"left": 5}}) == 'invalid args: /left/left: 5 is not of type "object"'
    assert court.fault(tree, {"name": "y"}) == 'invalid args: /name: "y" does not match "^x"'
    assert court.fault({"$schema": "http://example.invalid/x", "not": {"required": ["a"]}}, {}) == ""


def test_of_many_faults_some_are_named_and_none_is_long(court: Court):
    faults = court.fault({"not": False, "items": {"type": "null"}}, ["y" * 1000] * 5) or ""
    assert faults.count("is not of type") == 5
    assert len(faults) < 1500


def test_of_faults_in_large_arguments_the_first_is_named(court: Court):
    schema = {"uniqueItems": False, "items": {"type": "null"}}
    assert (court.fault(schema, ["y"] * 10_000) or "").startswith('invalid args: /0: "y" is not of type "null"')


@pytest.mark.parametrize(
    ("schema", "trouble"),
    [
        ({"$ref": "http://127.0.0.1:9/schema"}, "a reference leads out of it: http://127.0.0.1:9/schema"),
        ({"$ref": "#/$defs/none"}, "/$defs/none"),
        ({"pattern": "("}, '"(" is not a "regex"'),
    ],
    ids=str,
)
def test_what_cannot_be_known_is_said(court: Court, schema: Any, trouble: str):
    failure, reason = court.failure(schema, "")
    assert failure is Failure.BAD_ANSWER
    assert trouble in reason
    assert court.fault({"pattern": "a"}, "a") == "", "and the checker goes on"


def below_an_id(levels: int, reference: str = "#/$defs/d{}") -> dict[str, Any]:
    """Each level asks for ten of the next one, and references count from the `$id` of the part that contains them."""
    named = {f"d{n}": {"anyOf": [{"$ref": reference.format(n + 1)}] * 10} for n in range(levels)}
    inner = {"$id": "http://x/inner", "$ref": reference.format(0), "$defs": {**named, f"d{levels}": {"not": {}}}}
    return {"type": "object", "properties": {"x": inner}, "$defs": {f"d{n}": {} for n in range(levels + 1)}}


def recursive(word: str) -> dict[str, Any]:
    again = {"$dynamicRef": "#again"}
    return {"$dynamicAnchor": "again", "anyOf": [{"properties": {"a": again}, word: ["b"]}] * 10}


NESTED: Any = {}
for _ in range(30):
    NESTED = {"a": NESTED}
HOSTILE: dict[str, tuple[Any, Any]] = {
    "references below an $id": (below_an_id(11), {"x": 1}),
    "percent-encoded references": (below_an_id(11, "#/$defs/%64{}"), {"x": 1}),
    "recursion by $dynamicRef": (recursive("required"), NESTED),
    "steps for many digits": ({"items": {"multipleOf": 1e-300}}, [1.7e300 + 1] * 300_000),
    "regular expressions": (
        {"items": {"allOf": [{"pattern": rf"^(a|aa)+\1{{{n}}}$"} for n in range(1, 9)]}}, ["a" * 4000 + "b"] * 50),
    "memory": ({"contains": {}}, [[0]] * 3_900_000),
    "values that are all different": ({"enum": [[n] for n in range(20_000)]}, [0] * 100),
}  # fmt: skip
ENDS_WELL = {"values that are all different"}
LIKE_ANOTHER = {"percent-encoded references", "steps for many digits"}
"""Hostile ones that cost the checker what another does."""


@pytest.mark.parametrize(
    "which", [pytest.param(which, marks=[pytest.mark.slow] if which in LIKE_ANOTHER else []) for which in HOSTILE]
)
def test_the_loop_goes_on_while_a_hostile_schema_is_checked(court: Court, which: str):
    court.fault({"pattern": "a"}, "a")
    hostile = court.ask(*HOSTILE[which], extension="hostile")
    passes = court.loop.passes
    assert court.fault({"pattern": "a"}, "a", "other") == "", "another extension's check does not wait for it"
    court.until_done(hostile)
    assert court.loop.passes > passes + 1
    assert (hostile.failure is None) == (which in ENDS_WELL), hostile
    if hostile.failure is not None:
        assert hostile.reason.startswith("a check"), hostile.reason


def test_thousands_of_wrong_names_are_one_fault(court: Court):
    schema = {"type": "object", "propertyNames": {"pattern": "^a"}}
    assert "does not match" in (court.fault(schema, {f"wrong name {n}": n for n in range(4000)}) or "")


def test_a_schema_whose_check_was_broken_off_is_not_checked_again(court: Court):
    hostile = HOSTILE["references below an $id"]
    said = (Failure.TIMEOUT, "a check takes more than a second of processor time")
    assert court.failure(*hostile) == said
    pending = court.ask(*hostile)
    assert pending.done, "at once"
    assert (pending.failure, pending.reason) == said
    assert court.fault({"pattern": "a"}, "a") == ""


def test_an_extension_with_ever_new_hostile_schemas_is_checked_no_more():
    court = court_of("say('{\"ready\": true}'); read() if len(sys.argv) > 1 else os._exit(5 if read() else 0)")
    for number in range(BROKEN_OFF_LIMIT):
        assert court.failure([number]) == (Failure.TIMEOUT, "its process ended (exit 5)")
    pending = court.ask([BROKEN_OFF_LIMIT], None)
    assert (pending.done, pending.reason) == (True, "the checks of 5 of its schemas had to be stopped")
    assert not court.ask([0], None, "another").done
    court.stop()


HANGS_ON_ONE = """
say('{"ready": true}')
while True:
    schema = read()
    if schema == 1: hang()
    say('{"fault": "fault %s"}' % schema)
"""


def test_a_check_that_hangs_delays_only_its_own_extension():
    court = court_of(HANGS_ON_ONE)
    hanging = court.ask(1, None, "bad")
    queued = [court.ask(number, None, "bad") for number in (2, 3)]
    assert [court.fault(number, None, "good") for number in (4, 5)] == ["fault 4", "fault 5"]
    assert not hanging.done
    assert not any(pending.done for pending in queued), "an extension has one check at a time"
    court.stop()
    assert all(pending.failure is Failure.CANCELLED for pending in (hanging, *queued))


def test_checks_that_wait_behind_one_that_is_broken_off_or_cancelled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkers, "ANSWER_S", 0.2)
    court = court_of(HANGS_ON_ONE)
    hanging, same, cancelled, last = [court.ask(schema, None) for schema in (1, 1, 2, 3)]
    cancelled.fail(Failure.CANCELLED, "not wanted")
    court.until_done(hanging, same, last)
    assert hanging.reason == "a check takes more than 0.2 s"
    assert (same.failure, same.reason) == (Failure.TIMEOUT, hanging.reason), "its check would be broken off, too"
    assert last.value == "fault 3"
    court.stop()


def test_a_checker_that_hangs_is_replaced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkers, "ANSWER_S", 0.2)
    court = court_of(HANGS_ON_ONE)
    assert court.failure(1) == (Failure.TIMEOUT, "a check takes more than 0.2 s")
    assert court.fault(2, None) == "fault 2"
    court.stop()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("say('{\"ready\": true}'); read(); say('rubbish'); hang()", "the checker's answer is no answer"),
        ("say('{\"ready\": true}'); read(); say('{}'); hang()", "the checker's answer is no answer"),
        ("say('{\"ready\": true}'); read(); say('x' * 10**6); hang()", "the checker's answer is no answer"),
        ("say('{\"ready\": true}'); read(); os.abort()", "a check of them takes too much memory"),
        ("say('{\"ready\": true}'); read(); os.kill(os.getpid(), 9)", "its process ended (signal SIGKILL)"),
        ("say('hello'); hang()", "the checker's answer is no answer"),
        ("sys.exit(3)", "its process ended (exit 3)"),
        ("import nothing_here", "its process ended (exit 1): ModuleNotFoundError: No module named 'nothing_here'"),
    ],
)
def test_a_checker_that_fails_is_an_answer(code: str, reason: str):
    court = court_of(code)
    assert court.failure(0)[1] == reason
    court.stop()


def test_a_checker_that_does_not_come_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkers, "START_S", 0.1)
    court = court_of("hang()")
    assert court.failure(0) == (Failure.DIED, "its process is not up after 0.1 s")
    court.stop()


def test_without_descriptors_it_is_said_and_tried_again(court: Court):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")), hard))
    try:
        failure, reason = court.failure({"pattern": "a"}, "a")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert failure is Failure.DIED
    assert reason.partition(": ")[2].startswith("Too many open files (raise ulimit -n")
    assert court.fault({"pattern": "a"}, "a") == ""


def test_open_checks_can_be_cancelled():
    court = court_of(HANGS_ON_ONE)
    checks = [court.ask(1, None, extension) for extension in ("a", "a", "b", "c")]
    court.checkers.cancel_pending("enough")
    assert {(check.failure, check.reason) for check in checks} == {(Failure.CANCELLED, "enough")}
    court.stop()
    assert court.ask(1, None).failure is Failure.CANCELLED, "no checker starts any more"


DOOMED = """
import sys; sys.path.insert(0, {root!r})
from supervisor.loop.loop import Loop
from supervisor.registry.checkers import Checkers
loop = Loop(); checkers = Checkers(loop, {argv!r})
check = checkers.check("a", b'{{"pattern": "a"}}', b'"a"')
loop.run_until(check.is_done)
checkers.check("a", {schema!r}, {args!r})
print(*loop.children, flush=True)
loop.run_until(lambda: False)
"""


def test_a_checker_ends_with_a_killed_host_also_in_the_middle_of_a_check():
    schema, value = (json.dumps(part).encode() for part in HOSTILE["references below an $id"])
    code = DOOMED.format(root=str(ROOT), argv=QUICK, schema=schema, args=value)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        found = read_process(pid)
        host.send_signal(signal.SIGKILL)
    assert found is not None
    loop = Loop()
    deadline = loop.clock() + PATIENCE_S
    while is_alive(found.identity):
        assert not loop.run_until(lambda: False, loop.clock() + 0.02)
        assert loop.clock() < deadline
    loop.close()


def test_the_limits_of_a_check_are_short():
    assert checker_main.CPU_S <= 1
    assert checker_main.MEMORY <= 512 * 1024 * 1024
