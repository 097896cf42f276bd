"""No process that a test starts outlives it: checked after every test and at the end of the session.

The process that runs the tests becomes a subreaper, so that whatever a child leaves behind comes back to it: it has
then a child exactly if any descendant is alive. With pytest-xdist each worker checks for itself.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from hypothesis import HealthCheck, settings

from supervisor.loop.loop import Loop
from supervisor.process.table import become_subreaper
from tests.support import long_tests, warm_start
from tests.support.child_pids import child_pids
from tests.support.expected_skips import ExpectedSkips

if TYPE_CHECKING:
    from collections.abc import Iterator

GRACE_S = 0.25
"""A process that was sent SIGKILL or has lost its pipes takes a moment to be gone; its parent may be gone before it."""
ALARM_AGAIN_S = 20
"""After a test has taken too long: the time for each step of its cleanup."""
OUTLIVED = pytest.StashKey[list[str]]()
# The machines are shared: a slow example is no finding. Each run tries other examples: `make test` few of each
# property, `make test-slow` more, `make fuzz` a million.
settings.register_profile("few", max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("more", settings.get_profile("few"), max_examples=40)
settings.load_profile("few")
# The tests start this program hundreds of times: as on most machines, its modules are compiled once and kept. This
# process passes it on to the workers of pytest-xdist and to all that they start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Many children are started as `python3`. That is this Python, and no program that looks for one first: some version
# managers take longer for that than most children for their work.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys._base_executable), os.environ.get("PATH", os.defpath)])
# Go programs of tests are built without network, and with a cache even if the home folder cannot be written to.
os.environ |= {"GOPROXY": "off", "GOTOOLCHAIN": "local"}
# The extensions of the one who runs the tests are no part of them.
os.environ["COPILOT_HOME"] = os.path.join(tempfile.gettempdir(), "no-copilot-home")
if not any(os.access(os.environ.get(name, ""), os.W_OK) for name in ("GOCACHE", "XDG_CACHE_HOME", "HOME")):
    os.environ["GOCACHE"] = os.path.join(tempfile.gettempdir(), f"zot-tests-go-{os.getuid()}")
# A shell starts background jobs with SIGINT ignored, nohup with SIGHUP, and children inherit that: the `zot` of a test
# could not be interrupted. A handler of this process is not inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)


def children_now() -> set[int]:
    """Direct children, dead or alive, of any thread; but for what all tests share."""
    return child_pids() - warm_start.own_children()


def is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pids_of_popen() -> set[int]:
    """Of each `Popen` that was not waited for: a zombie among them is one that the test forgot; others were left by
    a child of ours. Looks at every object of the process, which takes a tenth of a second."""
    objects = (*gc.get_objects(), *subprocess._active)
    started = (one for one in objects if issubclass(type(one), subprocess.Popen))
    return {process.pid for process in started if process.returncode is None}  # pids of others may be in use again


def leaked(before: set[int]) -> set[int]:
    """Pids of the children that were not there before and outlive a grace; adopted zombies are collected."""
    deadline = time.monotonic() + GRACE_S
    while True:
        is_last = time.monotonic() > deadline
        new = children_now() - before
        zombies = {pid for pid in new if is_zombie(pid)}
        if zombies and (forgotten := zombies & pids_of_popen()):
            return forgotten
        for pid in zombies:
            with suppress(ChildProcessError):  # a thread of the test collects it, too
                os.waitpid(pid, 0)
        if zombies and not is_last:
            continue  # what they leave has come to this process meanwhile
        new -= zombies
        if not new or is_last:
            return new
        wait_for_exit(min(new), deadline - time.monotonic())


def wait_for_exit(pid: int, seconds: float) -> None:
    if hasattr(os, "pidfd_open"):
        fd = os.pidfd_open(pid)
        select.select([fd], [], [], max(0.0, seconds))
        os.close(fd)
    else:
        psutil.wait_procs([psutil.Process(pid)], seconds)


def describe_and_end(pids: set[int]) -> str:
    """Names the leaked processes with all below them, and ends them so that other tests do not suffer. One that was
    left by a child of ours and has ended since it was looked at is no leak; of nothing but those there is no text."""
    lines = []
    late = {pid for pid in pids if is_zombie(pid)} - pids_of_popen()
    for pid in late:
        os.waitpid(pid, 0)
    for pid in sorted(pids - late):
        for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
            try:
                if process.status() == psutil.STATUS_ZOMBIE:
                    lines.append(f"{process.pid} ended, but was not waited for: {process.name()}")
                else:
                    lines.append(f"{process.pid} is alive: {' '.join(process.cmdline())[:200]}")
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:
            pass
    return "; ".join(lines)


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture(autouse=True)
def no_process_outlives_its_test():
    before = children_now()
    yield
    if children_now() - before and (left := leaked(before)) and (report := describe_and_end(left)):
        pytest.fail(f"processes outlive the test: {report}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings):
    """pytest-timeout fails a test that hangs once; a cleanup that hangs after it is to fail too."""
    is_set = yield
    if settings.method == "signal" and settings.timeout:
        signal.setitimer(signal.ITIMER_REAL, settings.timeout, min(settings.timeout, ALARM_AGAIN_S))
    return is_set


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    """No alarm while a report is written, which takes a busy machine its time: it would end the run, as no test could
    be blamed for it. Where pytest-timeout leaves the alarm on, the next step of the test has its time."""
    left_s, again_s = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        return (yield)
    finally:
        if left_s:
            signal.setitimer(signal.ITIMER_REAL, max(left_s, again_s), again_s)


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_report_to_serializable():
    """A worker of pytest-xdist that reports half a surrogate would end the run: it stands there as its number."""
    return in_unicode((yield))


def in_unicode(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {in_unicode(key): in_unicode(each) for key, each in value.items()}
    return type(value)(in_unicode(each) for each in value) if type(value) in (list, tuple) else value


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    long_tests.mark(items)


def pytest_configure(config: pytest.Config) -> None:
    if table := os.environ.get("ZOT_TEST_EXPECTED_SKIPS"):
        config.pluginmanager.register(ExpectedSkips(Path(table)))


def note_that_no_test_is_to_blame(config: pytest.Config) -> None:
    """Among what has failed, so that .ci/run does not take the run for one whose failed tests need only run again: it
    has an end of its own, maybe before most tests."""
    if cache := getattr(config, "cache", None):
        cache.set("cache/lastfailed", {**cache.get("cache/lastfailed", {}), "the run itself": True})


def pytest_sessionstart(session: pytest.Session) -> None:
    become_subreaper()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collects tests without garbage collection: all collected objects stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    warm_start.stop()
    is_controller = bool(session.config.getoption("numprocesses", None))
    left = set() if is_controller else leaked(set())  # the children of the controller are the workers
    report = describe_and_end(left)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["outlived"] = report
        return
    outlived = [*session.config.stash.get(OUTLIVED, []), *([report] if report else [])]
    if outlived:
        sys.stderr.write(f"\nprocesses outlive the tests: {'; '.join(outlived)}\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if outlived or session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        note_that_no_test_is_to_blame(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """Takes over the processes that a worker of pytest-xdist found at its end."""
    if outlived := getattr(node, "workeroutput", {}).get("outlived"):
        node.config.stash.setdefault(OUTLIVED, []).append(outlived)
