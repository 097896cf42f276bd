"""A test that hangs or that a worker can hardly report fails, and shows where; fixtures clean up, and the next runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.nested_pytest import run_pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow  # each starts a pytest of its own

HANGING = """
import select, signal, subprocess
from pathlib import Path
import pytest
from supervisor.loop.loop import Loop

@pytest.fixture
def cleaned():
    yield
    Path("cleaned").touch()

def test_in_a_loop(cleaned):
    loop = Loop()
    with loop.signals([signal.SIGTERM], print):
        loop.run_until(lambda: False)

def test_in_the_kernel():
    select.select([], [], [])

def test_in_its_cleanup_too():
    with subprocess.Popen(["sleep", "600"]) as child:
        child.wait()

@pytest.fixture
def endless():
    yield
    select.select([], [], [])

def test_in_a_fixture(endless): ...

class Told(Exception):
    def __str__(self):
        return f"the alarm is {'on' if signal.getitimer(signal.ITIMER_REAL)[0] else 'off'}"

def test_while_a_report_is_written():
    raise Told

def test_with_half_a_surrogate():
    assert "\\ud800" == "x"

def test_next(): ...
"""


FAILED = ".pytest_cache/v/cache/lastfailed"
BREAKS = """
def pytest_runtest_logfinish(nodeid):
    if "next" in nodeid:
        raise SystemError("the run breaks off")
"""


def test_a_run_that_breaks_off_is_no_run_with_failed_tests(tmp_path: Path):
    """.ci/run lets failed tests run again, and must not take them for all that there is to run."""
    (tmp_path / "breaks.py").write_text(BREAKS)
    tests = "def test_fails():\n    assert False\ndef test_next(): ...\ndef test_last(): ...\n"
    ran = run_pytest(tmp_path, tests, "-p", "breaks")
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert failed(tmp_path) == {"test_x.py::test_fails": True, "the run itself": True}
    (tmp_path / FAILED).unlink()
    assert run_pytest(tmp_path, tests).returncode == 1
    assert failed(tmp_path) == {"test_x.py::test_fails": True}


def failed(folder: Path) -> dict[str, bool]:
    found: dict[str, bool] = json.loads((folder / FAILED).read_text())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_one_that_hangs_fails_and_the_others_run(tmp_path: Path, flags: tuple[str, ...]):
    # Long enough that the second alarm does not come while a busy machine still writes the report of the first.
    ini = "timeout = 1.0\ntimeout_method = signal\n"
    ran = run_pytest(tmp_path, HANGING, *flags, ini=ini)
    said = ran.stdout + ran.stderr
    assert ran.returncode == 1, said
    for line in (
        "FAILED test_x.py::test_in_a_loop - Failed: Timeout",
        "FAILED test_x.py::test_in_the_kernel - Failed: Timeout",
        "FAILED test_x.py::test_in_its_cleanup_too - Failed: Timeout",
        "ERROR test_x.py::test_in_a_fixture - Failed: Timeout",
        "FAILED test_x.py::test_while_a_report_is_written - test_x.Told: the alarm is off",
        "FAILED test_x.py::test_with_half_a_surrogate - AssertionError",
    ):
        assert line in said, said
    assert "loop.run_until(lambda: False)" in said
    assert (tmp_path / "cleaned").exists()
    # the child of the third outlives it, which is an error of its own
    assert ran.stdout.splitlines()[-1].startswith("5 failed, 2 passed, 2 errors in "), said
