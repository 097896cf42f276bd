"""A whole profile: the process is chosen, sampled, and its file kept."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from supervisor.process.table import is_alive
from supervisor.profile import inspector, profiler, py_spy
from supervisor.profile.errors import ProfileError
from supervisor.profile.outcome import Outcome, ProfileOrder
from supervisor.profile.place import Place
from supervisor.profile.profile_child import PROGRAM, ProfileChild
from supervisor.profile.profiler import make, order_for
from supervisor.profile.speedscope import decode
from tests.support.profile_targets import BUSY_NODE, SPIN, needs_node, needs_py_spy, node, python, running
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.process.table import Identity
    from tests.support.host import Host


def order(target: Identity, folder: Path, seconds: float = 1) -> ProfileOrder:
    return order_for((target.pid,), seconds, Place(path=str(folder / "p.json")))


@needs_py_spy
def test_the_python_below_a_shell_is_profiled(tmp_path: Path):
    script = tmp_path / "spin.py"
    script.write_text(SPIN)
    begun = []
    with running(["sh", "-c", f"{sys.executable} {script}; true"]) as target:
        made = make(order(target, tmp_path), begun.append)
    assert made.pid == begun[0].identity.pid != target.pid
    assert (made.kind, made.program[:6], made.file) == ("python", "python", str(tmp_path / "p.json"))
    assert made.hot_spots[0].function == "count_the_stars"
    assert made.hot_spots[0].place.startswith(f"{tmp_path.name}/spin.py:")
    assert made.cpu_s > 0
    assert "count_the_stars" in [frame.name for frame in decode((tmp_path / "p.json").read_bytes()).shared.frames]


@needs_node
def test_a_node_process_is_profiled_into_the_same_kind_of_file(tmp_path: Path):
    with running(node(BUSY_NODE, "--inspect-port=0")) as target:
        made = make(order(target, tmp_path))
    assert (made.kind, made.program, made.warning) == ("node", "node", "")
    assert "countTheStars" in [frame.name for frame in decode((tmp_path / "p.json").read_bytes()).shared.frames]


def test_a_shell_is_refused(tmp_path: Path):
    refused = pytest.raises(ProfileError, match=r"cannot be profiled: it is neither Python nor Node: .*sh")
    with running(["sh", "-c", "echo up; read line"]) as target, refused:
        make(order(target, tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_without_py_spy_the_line_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(py_spy, "find_py_spy", lambda: None)
    refused = pytest.raises(ProfileError, match=r"pip install 'pyzot\[profile\]'")
    with running(python(SPIN)) as target, refused:
        make(order(target, tmp_path))


def test_processes_that_have_ended_are_told(tmp_path: Path):
    with running(["sh", "-c", "echo up; read line"]) as target:
        late = order(target, tmp_path)
    with pytest.raises(ProfileError, match="has ended"):
        make(late)
    with pytest.raises(ProfileError, match="no process"):
        order_for((), 1, Place())
    assert profiler._cpu_by_thread(target.pid) == {}


@needs_node
def test_a_child_that_is_stopped_closes_the_inspector(host: Host, tmp_path: Path):
    outcomes: list[Outcome] = []
    with running(node(BUSY_NODE, "--inspect-port=0")) as target:
        child = ProfileChild(host.loop, order(target, tmp_path, 600), {}, within_s=600, on_outcome=outcomes.append)
        wait_until(lambda: bool(inspector._ports(target.pid)))
        child.stop("it is not wanted")
        host.until(lambda: not child.child.is_running)
        assert inspector._ports(target.pid) == set()
        assert is_alive(target)
    assert outcomes == [Outcome(error="it is not wanted")]
    assert list(tmp_path.glob("*.json")) == []


def test_the_child_says_its_outcome_in_one_line(tmp_path: Path):
    with running(["sh", "-c", "echo up; read line"]) as target:
        asked = msgspec.json.encode(order(target, tmp_path)).decode()
        made = subprocess.run([*PROGRAM, asked], capture_output=True, check=False)
    assert made.returncode == 1
    assert "neither Python nor Node" in msgspec.json.decode(made.stdout, type=Outcome).error
    assert made.stderr == b""


def test_a_child_that_breaks_says_so(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.profile.profile_child.PROGRAM", ("sh", "-c", "echo broken >&2; exit 3"))
    outcomes: list[Outcome] = []
    ProfileChild(host.loop, ProfileOrder((), 1, Place()), {}, within_s=60, on_outcome=outcomes.append)
    host.until(lambda: outcomes)
    assert outcomes == [Outcome(error="the profiler ended (exit 3) broken")]


def test_a_child_that_takes_too_long_is_ended(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.profile.profile_child.PROGRAM", ("sh", "-c", "exec sleep 600"))
    outcomes: list[Outcome] = []
    child = ProfileChild(host.loop, ProfileOrder((), 1, Place()), {}, within_s=0.1, on_outcome=outcomes.append)
    host.until(lambda: not child.child.is_running)
    assert outcomes == [Outcome(error="it was not made within 0.1 s")]
    assert child.child.exit.code == -signal.SIGTERM
