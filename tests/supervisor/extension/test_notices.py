"""Log frames of an extension become lines of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.host import Host


def test_a_log_frame_is_a_line_of_the_log(host: Host):
    host.write(
        "x",
        r"""
hello()
send(type="log", level="warn", message="disk\nis full\x1b[2J", fields={"free": 0, "path": "/tmp", "why": "a b"})
send(type="log", message="plain")
send(type="log", level="fanfare", message="odd")
send(type="log", level="error")
send(type="ready")
for frame in frames(): pass
""",
    )
    host.start()
    lines = [line for line in host.log("x").splitlines() if not line.startswith("[zot]")]
    assert lines == ['[warn] disk is full free=0 path=/tmp why="a b"', "[info] plain", "[info] odd"]
    assert "bad log frame" in host.log("x")
