"""One row for each resource that an extension can use too much of: its limits end it, and others work on.

Every hog stops by itself before it could hurt the machine.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import extension
from tests.support.faulty_run import ECHO, HEALTHY, SOON, Observed, is_back, is_given_up, observe, program

if TYPE_CHECKING:
    from pathlib import Path

STOP = {"breaches": 1, "action": "stop"}


def check(seen: Observed, hog: str, figures: str, end: str) -> None:
    """The run succeeds, one line and one record name the limit and its consequence, the healthy extension worked."""
    assert (seen.result.status, seen.result.text) == ("ok", "all done"), seen.stderr
    said = [line for line in seen.lines_about(hog) if "limits" in line]
    assert len(said) == 1, seen.stderr
    assert re.search(rf"it is over its limits: {figures}", said[0]), said
    assert end in said[0]
    assert re.search(r"\(log: \S+\)$", said[0])
    assert seen.events_of(hog).count("limit") == 1
    assert not seen.lines_about(HEALTHY)
    assert seen.result.extensions[HEALTHY].exit_status == "exit 0"
    answers = [seen.answer_of(f"t{turn}.0") for turn, request in enumerate(seen.requests[:-1], 1) if request]
    assert ("still here", False) in answers


# --- memory, processes, descriptors, processor time ------------------------------------------------------------


def test_a_memory_hog_is_ended_and_restarted(tmp_path: Path) -> None:
    hog = extension(tmp_path, "memory_hog", limits={"rss_mb": 60}, restart=SOON)
    seen = observe(
        tmp_path, hog, batches=[[("eat", {"mb": 100})], [ECHO], [("eat", {"mb": 1})]], hold={2: is_back("memory_hog")}
    )
    check(seen, "memory_hog", r"rss \d+ MiB over rss_mb 60, in 3 samples in a row", "restarting it in 0.1 s")
    assert "eat" in seen.offered(3), "the model gets its tool again"
    assert seen.answer_of("t3.0") == ("yum", False)
    cost = seen.result.extensions["memory_hog"]
    assert (cost.state, cost.restarts) == ("exited", 1)
    assert cost.rss_peak_bytes > 60 * 2**20, "what it used is still to be seen"


def test_the_kernel_refuses_a_process_more_descriptors_than_it_may_have(tmp_path: Path) -> None:
    leak = program(
        tmp_path,
        "leak",
        'hello("leak")\nsend(type="ready")\nfor frame in frames():\n'
        "    kept = [os.open(os.devnull, 0) for _ in range(1000)]",
        limits={"open_files": 40},
        restart=SOON,
    )
    seen = observe(tmp_path, leak, batches=[[("leak", {})], [ECHO]], hold={2: is_back("leak")})
    assert seen.result.status == "ok", seen.stderr
    text, is_error = seen.answer_of("t1.0")
    assert is_error
    assert "it ended (exit 1): \"OSError: [Errno 24] Too many open files: '/dev/null'\" at " in text
    assert seen.answer_of("t2.0") == ("still here", False)


def test_the_kernel_refuses_files_that_are_larger_than_they_may_be(tmp_path: Path) -> None:
    """The extension gets an error, as from a full disk. The limit does not hold for the host's log."""
    file = tmp_path / "file"
    writer = program(
        tmp_path,
        "writer",
        'print("e" * 3_000_000, file=sys.stderr)\n'
        'hello("pour")\nsend(type="ready")\n'
        'for frame in frames():\n    open(sys.argv[1], "wb").write(b"x" * 3_000_000)',
        file,
        limits={"file_mb": 1},
        restart=SOON,
    )
    seen = observe(tmp_path, writer, batches=[[("pour", {})], [ECHO]], hold={2: is_back("writer")})
    assert seen.result.status == "ok", seen.stderr
    text, is_error = seen.answer_of("t1.0")
    assert is_error
    assert 'it ended (exit 1): "OSError: [Errno 27] File too large"' in text
    assert file.stat().st_size == 2**20
    assert sum(path.stat().st_size for path in (tmp_path / "home" / "logs").glob("ext-writer.log*")) > 3_000_000


# --- what it says ----------------------------------------------------------------------------------------------


# --- who sets limits, and what comes of breaking them again and again --------------------------------------------


@pytest.mark.parametrize("own", [{}, {"rss_mb": 1000}])
def test_limits_of_the_config_hold_for_all_and_a_manifest_overrides_them(own: dict[str, int], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.json").write_text(json.dumps({"limits": {"rss_mb": 60, **STOP}}))
    hog = extension(tmp_path, "memory_hog", limits=own)
    goes_on = (lambda s: s.sampler.samples > 3) if own else is_given_up("memory_hog")
    seen = observe(tmp_path, hog, batches=[[("eat", {"mb": 100})], [ECHO]], hold={2: goes_on})
    if own:
        assert not seen.lines_about("memory_hog")
        assert seen.result.status == "ok"
    else:
        check(seen, "memory_hog", r"rss \d+ MiB over rss_mb 60, in 1 sample", "its limits say stop")
