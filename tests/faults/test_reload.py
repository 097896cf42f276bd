"""New versions of extensions during a run: a version that does not start changes nothing, and no call is lost."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.reload.reloader import Reloader
from tests.support.faulty_run import ECHO, HEALTHY, observe
from tests.support.host import PRELUDE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.supervisor import Supervisor

SAY = """
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, VERSION)
"""


def version(folder: Path, code: str, **manifest: Any) -> Path:
    """Writes a version into the folder of the extension `one`."""
    (folder / "x.py").write_text(PRELUDE + code)
    fields = {"name": "one", "exec": sys.executable, "args": ["-I", "-S", str(folder / "x.py")], **manifest}
    (folder / "extension.json").write_text(json.dumps({"timeouts": {"hello": 10}, **fields}))
    return folder


def good(name: str, *tools: str) -> str:
    return f"VERSION = {name!r}\nhello(*{tools!r})\nsend(type='ready')\n{SAY}"


def reloading(change: Callable[[], object]) -> Callable[[Supervisor], bool]:
    """For `hold`: changes files, reloads, and goes on when the reload has ended."""
    got: list[Any] = []
    begun: list[bool] = []

    def has_ended(supervisor: Supervisor) -> bool:
        if not begun:
            begun.append(True)
            change()
            Reloader(supervisor).begin("one", got.append)
        return bool(got)

    return has_ended


BAD = {
    "crashes": ("print('cannot find my configuration', file=sys.stderr); sys.exit(3)", "it exited before its hello"),
    "hangs": ("time.sleep(600)", "said no hello within 0.5 s"),
    "is killed once it has said hello": ("hello('which'); os.kill(os.getpid(), 9)", "it ended (signal SIGKILL)"),
    "leaves a daemon and fails": (
        "if not os.fork():\n    os.setsid()\n    if os.fork(): os._exit(0)\n    time.sleep(600)\n"
        "os.wait(); sys.exit(4)",
        "it exited before its hello (exit 4)",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_new_version_that_does_not_start_changes_nothing_in_a_run(tmp_path: Path, bad: str) -> None:
    code, reason = BAD[bad]
    folder = tmp_path / "ext-one"
    folder.mkdir()
    version(folder, good("v1", "which"))
    seen = observe(
        tmp_path,
        folder,
        batches=[[("which", {})], [("which", {}), ECHO]],
        hold={2: reloading(lambda: version(folder, code, **({"timeouts": {"hello": 0.5}} if bad == "hangs" else {})))},
        extension_wait=10.0,
    )
    assert (seen.result.status, seen.answer_of("t2.0"), seen.answer_of("t2.1")) == (
        "ok",
        ("v1", False),
        ("still here", False),
    ), seen.stderr
    (line,) = [line for line in seen.lines_about("one") if "reload failed" in line]
    assert reason in line
    assert "the running version stays" in line
    assert not seen.lines_about(HEALTHY)
    assert seen.result.extensions["one"].exit_status == "exit 0"


def test_a_new_version_has_its_tools_in_the_next_turn(tmp_path: Path) -> None:
    folder = tmp_path / "ext-one"
    folder.mkdir()
    version(folder, good("v1", "which", "old"))
    seen = observe(
        tmp_path,
        folder,
        batches=[[("which", {})], [("which", {}), ("old", {})], [("new", {})]],
        hold={2: reloading(lambda: version(folder, good("v2", "which", "new"), priority=3))},
        extension_wait=10.0,
    )
    assert seen.result.status == "ok", seen.stderr
    assert (seen.answer_of("t1.0"), seen.answer_of("t2.0"), seen.answer_of("t3.0")) == (
        ("v1", False),
        ("v2", False),
        ("v2", False),
    )
    assert seen.answer_of("t2.1")[1], "a tool that it no longer has fails at once"
    assert {"which", "new"} <= seen.offered(3)
    assert "old" not in seen.offered(3)
    assert seen.events_of("one") == ["started", "reloaded"]
    assert seen.result.extensions["one"].restarts == 0
