"""The end of a worker is told with the cause of its crash, wherever its end is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.host import LATER, SOON

if TYPE_CHECKING:
    from tests.support.host import Host

pytestmark = pytest.mark.usefixtures("healthy")

CRASHES = """
import atexit
atexit.register(print, "closing", file=sys.stderr)
hello("open")
send(type="ready")
for frame in frames():
    {}[frame["args"]["desk"]]
"""
SURVIVES = """
import traceback
hello("open")
send(type="ready")
try:
    {}["red"]
except KeyError:
    traceback.print_exc()
for frame in frames():
    print("open since noon", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
CRASHES_AND_THEN_SAYS_NOTHING = """
hello("open")
send(type="ready")
for frame in frames():
    if os.path.exists(MARK):
        os._exit(3)
    open(MARK, "w").close()
    {}["red"]
"""


def test_a_crash_in_a_call_is_told_to_the_model_and_to_the_user(host: Host):
    host.write("desk", CRASHES, restart=LATER)
    host.start()
    answer = host.call("open", desk="red")
    place = host.extension("desk").lead.last_words.error
    assert (answer.failure, answer.reason) == (Failure.DIED, f"it ended (exit 1): {place}")
    assert place.startswith(f"\"KeyError: 'red'\" at {host.folder}/desk.py:")
    assert place.endswith('; after that "closing"')
    (_, line) = host.said_of("desk")[-1]
    assert line.startswith(f"it ended (exit 1) with 1 call pending: {place}; restarting it in ")
    later = host.call_of("desk", "open", desk="red")
    assert later.reason.startswith(f"it ended (exit 1): {place}; it is restarted in ")
    assert host.extension("desk").failure == later.reason


def test_a_crash_before_the_hello_has_its_cause(host: Host):
    host.write("desk", "import desk_that_is_not_installed")
    host.start()
    (_, line) = host.said_of("desk")[-1]
    found = f"\"ModuleNotFoundError: No module named 'desk_that_is_not_installed'\" at {host.folder}/desk.py:"
    assert line.startswith(f"it exited before its hello (exit 1): {found}")


def test_an_error_that_was_survived_is_not_the_cause_of_a_kill(host: Host):
    host.write("desk", SURVIVES, restart=LATER)
    host.start()
    assert host.call("open").reason == 'it ended (signal SIGKILL): "KeyError: \'red\'", "open since noon"'


def test_the_next_worker_does_not_repeat_what_the_last_one_wrote(host: Host, tmp_path):
    host.write("desk", f"MARK = {str(tmp_path / 'mark')!r}{CRASHES_AND_THEN_SAYS_NOTHING}", restart=SOON)
    host.start()
    assert "KeyError: 'red'" in host.call("open").reason
    host.until(lambda: host.is_restarted("desk") and host.state("desk") is WorkerState.READY)
    assert host.call("open").reason == "it ended (exit 3)"
