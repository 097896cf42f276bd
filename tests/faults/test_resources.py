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
    check(seen, "memory_hog", r"rss \d+ MiB over rss_mb 60, in 3 samples in a row", "starting it again in 0.1 s")
    assert "eat" in seen.offered(3), "the model gets its tool again"
    assert seen.answer_of("t3.0") == ("yum", False)
    cost = seen.result.extensions["memory_hog"]
    assert (cost.state, cost.restarts) == ("exited", 1)
    assert cost.rss_peak_bytes > 60 * 2**20, "what it used is still to be seen"


def test_a_fork_bomb_is_ended_whole(tmp_path: Path) -> None:
    """Half of its processes leave their session, and all ignore SIGTERM. A process that survives fails this test."""
    bomb = extension(tmp_path, "fork_bomb", limits={"processes": 10}, restart=SOON)
    seen = observe(tmp_path, bomb, batches=[[("fork", {})], [ECHO]], hold={2: is_back("fork_bomb")})
    check(seen, "fork_bomb", r"\d+ processes over processes 10", "starting it again in 0.1 s")
    assert "fork" in seen.offered(3)
    assert seen.result.extensions["fork_bomb"].restarts == 1
    assert seen.result.extensions["fork_bomb"].processes_peak > 10


def test_a_breach_of_the_process_limit_counts_after_two_samples(tmp_path: Path) -> None:
    crowd = program(
        tmp_path,
        "crowd",
        'for _ in range(3): subprocess.Popen(["sleep", "600"])\n'
        'hello("gather")\nsend(type="ready")\nfor frame in frames(): result(frame, "here")',
        limits={"processes": 3, "breaches": 2},
        restart={"policy": "temporary"},
    )
    seen = observe(tmp_path, crowd, batches=[[ECHO]], hold={1: is_given_up("crowd")})
    check(seen, "crowd", "4 processes over processes 3, in 2 samples in a row", "(log: ")
    assert seen.result.extensions["crowd"].state == "failed"


def test_an_extension_that_computes_without_end_is_stopped_by_its_limit(tmp_path: Path) -> None:
    hog = extension(tmp_path, "cpu_hog", limits={"cpu_percent": 5, **STOP})
    seen = observe(tmp_path, hog, batches=[[("burn", {})], [ECHO], [("burn", {})]], hold={2: is_given_up("cpu_hog")})
    check(seen, "cpu_hog", r"cpu \d+ % over cpu_percent 5, in 1 sample", "not started again: its limits say stop")
    assert "burn" not in seen.offered(3)
    text, is_error = seen.answer_of("t3.0")
    assert is_error
    assert "over its limits: cpu" in text, "a later call fails at once with the reason"
    assert seen.result.extensions["cpu_hog"].state == "failed"


def test_processor_time_is_counted_for_each_start(tmp_path: Path) -> None:
    hog = extension(tmp_path, "cpu_hog", limits={"cpu_seconds": 0.4, "breaches": 1}, restart=SOON)
    seen = observe(tmp_path, hog, batches=[[("burn", {})], [ECHO]], hold={2: is_back("cpu_hog")})
    check(seen, "cpu_hog", r"cpu \d\.\d s over cpu_seconds 0.4", "starting it again in 0.1 s")
    assert seen.result.extensions["cpu_hog"].cpu_ms > 400


def test_descriptors_are_counted_over_the_whole_tree(tmp_path: Path) -> None:
    """No process reaches the limit; all processes together exceed it."""
    leak = extension(tmp_path, "fd_leak", limits={"open_files": 64, **STOP})
    seen = observe(tmp_path, leak, batches=[[("open", {"count": 80})], [ECHO]], hold={2: is_given_up("fd_leak")})
    check(seen, "fd_leak", r"\d+ open files over open_files 64, in 1 sample", "its limits say stop")


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


def test_an_extension_that_talks_without_end_is_stopped_by_its_rate_limit(tmp_path: Path) -> None:
    flood = extension(tmp_path, "flood_notify", limits={"frames_per_s": 200, **STOP})
    seen = observe(tmp_path, flood, batches=[[ECHO], [ECHO]], hold={2: is_given_up("flood_notify")})
    check(seen, "flood_notify", r"\d+ frames/s over frames_per_s 200", "its limits say stop")


def test_an_answer_that_is_longer_than_allowed_costs_only_its_call(tmp_path: Path) -> None:
    verbose = program(
        tmp_path,
        "verbose",
        'hello("say")\nsend(type="ready")\nfor frame in frames(): result(frame, "x" * frame["args"]["n"])',
        limits={"output_bytes": 4096},
    )
    calls = [[("say", {"n": n})] for n in (3_000_000, 4000)]
    seen = observe(tmp_path, verbose, batches=[*calls, [ECHO]])
    text, is_error = seen.answer_of("t1.0")
    assert is_error
    assert "3000" in text
    assert "over the limit of 4096 bytes" in text
    assert seen.answer_of("t2.0") == ("x" * 4000, False)
    assert seen.answer_of("t3.0") == ("still here", False)
    assert seen.result.extensions["verbose"].state == "exited", "it was never ended for that"


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


def test_an_extension_that_breaks_its_limits_after_every_start_is_given_up(tmp_path: Path) -> None:
    greedy = program(
        tmp_path,
        "greedy",
        'held = b"m" * (60 << 20)\nhello("t")\nsend(type="ready")\nfor frame in frames(): result(frame, "")',
        limits={"rss_mb": 40, "breaches": 1},
        restart={**SOON, "max": 2},
    )
    seen = observe(tmp_path, greedy, batches=[[ECHO], [ECHO]], hold={2: is_given_up("greedy")})
    assert seen.result.status == "ok"
    first, *_, last = seen.lines_about("greedy")
    assert "it is over its limits: rss " in first
    assert "starting it again in 0.1 s" in first
    assert re.search(r"2 exits in \d+ s, last .*over its limits: rss \d+ MiB over rss_mb 40", last)
    assert "given up: zot ext restart greedy tries again" in last
    assert seen.result.extensions["greedy"].state == "failed"
