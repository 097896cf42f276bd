"""One row for each way in which files cannot be written: the user is told, and only these files are lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.extension_folder import extension
from tests.support.faulty_run import ECHO, SOON, is_back, observe, program
from tests.support.mounts import within, without_privileges
from tests.support.replay_script import Script, ok
from wire import stats
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot

ECHO_SAYS = "Returns its text."


def is_whole(metrics: Path) -> bool:
    """Whether the last family is there."""
    families = list(text_string_to_metric_families(metrics.read_text()))
    return families[-1].name == "zot_extension_answer_seconds"


def echo_script(zot: Zot) -> Script:
    script = Script(zot.cwd, extra={"echo": ECHO_SAYS})
    return script.call(("echo", {"text": "still here"}), results=[ok("still here")])


# --- full --------------------------------------------------------------------------------------------------------


def test_a_disk_that_fills_up_does_not_end_the_run(zot: Zot) -> None:
    """The run itself fills a real disk of 1 MiB. Then session, log, stats and metrics are incomplete, and the run
    goes on."""
    command = within(zot.home, "size=1m", zot.command)
    fill = f"cat /dev/zero > {zot.home}/filler 2> /dev/null; true"
    script = Script(zot.cwd, extra={"say": ""})
    script.call(("bash", {"command": fill}), results=[ok(f"$ {fill}\n\n[exit 0]  Took 0.0s")])
    script.call(*[("say", {"text": "still here"})] * 40, results=[ok("still here")] * 40)
    wordy = program(
        zot.folder,
        "wordy",
        'hello("say")\nsend(type="ready")\nfor frame in frames():\n'
        '    print("e" * 1000, file=sys.stderr)\n    result(frame, frame["args"]["text"])',
    )
    files = ["--stats", zot.home / "stats", "--metrics", zot.home / "metrics"]
    outcome = zot.replay(script.answer("Done."), "-e", wordy, *files, command=command).check(Status.OK)
    assert outcome.tool_texts()[1:] == ["still here"] * 40
    for about in (
        "the session is no longer recorded: ",
        f"extension wordy: cannot write {zot.home}/logs/ext-wordy.log: ",
        f"cannot write {zot.home}/stats: ",
        f"cannot write {zot.home}/metrics: ",
    ):
        told = [line for line in outcome.warnings if line.startswith(f"zot: {about}")]
        assert len(told) == 1, outcome.warnings
        assert "No space left on device" in told[0]
    assert len(outcome.warnings) == 4


@pytest.fixture
def full_log(tmp_path: Path) -> Path:
    """A home in which the logs of `lives` go to a device that is always full."""
    logs = tmp_path / "home" / "logs"
    logs.mkdir(parents=True)
    (logs / "ext-lives.log").symlink_to("/dev/full")
    return tmp_path / "home"


def test_a_log_on_a_full_disk_costs_only_itself(full_log: Path, tmp_path: Path) -> None:
    """The reason of its death still has its last stderr lines."""
    lives = extension(tmp_path, "lives", tmp_path / "mark", restart=SOON)
    seen = observe(
        tmp_path, lives, batches=[[("die", {})], [ECHO]], hold={2: is_back("lives")}, home=full_log, extension_wait=9.0
    )
    assert seen.result.status == "ok"
    assert seen.answer_of("t1.0") == ('extension lives/die failed: it ended (exit 1): "life 0"', True)
    assert seen.answer_of("t2.0") == ("still here", False)
    told = [line for line in seen.lines_about("lives") if "cannot write" in line]
    assert len(told) == 1
    assert f"cannot write {full_log}/logs/ext-lives.log: No space left on device" in told[0]


def test_stats_on_a_full_disk_cost_only_themselves(tmp_path: Path) -> None:
    seen = observe(tmp_path, batches=[[ECHO]], stats="/dev/full", metrics=str(tmp_path / "metrics"))
    assert seen.result.status == "ok"
    assert seen.stderr == [
        "zot: cannot write /dev/full: No space left on device; it misses what happens meanwhile",
    ]
    assert is_whole(tmp_path / "metrics")


def test_metrics_that_cannot_be_replaced_keep_their_last_version(tmp_path: Path) -> None:
    """Each new version is written beside the old one, here into a folder that is gone or full."""
    folder = tmp_path / "collected"
    folder.mkdir()
    away = tmp_path / "away"

    def moves_away(_supervisor: object) -> bool:
        if folder.exists():
            folder.rename(away)
        return True

    seen = observe(tmp_path, batches=[[ECHO]], metrics=str(folder / "metrics"), hold={1: moves_away})
    assert seen.result.status == "ok"
    assert seen.stderr == [f"zot: cannot write {folder}/metrics: No such file or directory"]
    assert [path.name for path in away.iterdir()] == ["metrics"], "no half of a file is left"
    assert is_whole(away / "metrics")


@pytest.mark.parametrize("flag", ["--stats", "--metrics"])
def test_a_file_that_cannot_be_created_is_an_error_before_the_start(zot: Zot, flag: str) -> None:
    outcome = zot.replay(echo_script(zot), "-e", extension(zot.folder, "echo"), flag, zot.folder / "no" / "file")
    assert outcome.status in (1, 2)
    assert outcome.stderr.splitlines() == [f"zot: {flag} {zot.folder}/no/file: No such file or directory"]
    assert not (zot.home / "logs").exists()


def test_metrics_replace_no_device_and_no_link(zot: Zot) -> None:
    """Metrics are written by renaming, which would replace `/dev/null` or a link by a file."""
    pipe, link = zot.folder / "pipe", zot.folder / "link"
    os.mkfifo(pipe)
    link.symlink_to(zot.folder / "metrics")
    echo = extension(zot.folder, "echo")
    refused = zot.replay(echo_script(zot), "-e", echo, "--metrics", pipe)
    assert refused.status == 2
    assert refused.stderr.startswith(f"zot: --metrics {pipe}: not a regular file")
    assert pipe.is_fifo()
    zot.replay(echo_script(zot).answer("Done."), "-e", echo, "--metrics", link).check(Status.OK)
    assert link.is_symlink()
    assert is_whole(zot.folder / "metrics")


def test_a_stats_line_that_was_cut_spoils_no_other_line(zot: Zot) -> None:
    """With a limit on the size of files, each line is whole or missing."""
    script = echo_script(zot)
    for _ in range(40):
        script.call(("echo", {"text": "x"}), results=[ok("x")])
    outcome = zot.replay(
        script.answer("Done."),
        "-e",
        extension(zot.folder, "echo"),
        "--stats",
        zot.folder / "stats",
        command=zot.with_file_limit(8),
    ).check(Status.OK)
    lines = (zot.folder / "stats").read_bytes()
    assert lines.endswith(b"\n")
    assert [stats.decode(line) for line in lines.splitlines()]
    told = [line for line in outcome.warnings if f"cannot write {zot.folder}/stats: " in line]
    assert len(told) == 1
    assert "File too large" in told[0]


# --- not to be written at all ------------------------------------------------------------------------------------

HOMES = ("a file", "below /proc", "read-only", "closed")


@pytest.fixture(params=HOMES)
def unusable(request: pytest.FixtureRequest, zot: Zot) -> Zot:
    """A home in which nothing can be created."""
    if request.param == "a file":
        zot.home.write_text("")
    elif request.param == "below /proc":
        zot.env["ZOT_HOME"] = "/proc/zot"
    elif request.param == "read-only":
        zot.command = within(zot.home, "ro", zot.command)
    else:
        zot.home.mkdir(mode=0o555)
        if os.geteuid() == 0:
            zot.command = without_privileges(zot.command)
    return zot


def test_a_home_that_cannot_be_written_costs_its_files_only(unusable: Zot) -> None:
    echo = extension(unusable.folder, "echo")
    outcome = unusable.replay(echo_script(unusable).answer("Done."), "-e", echo).check(Status.OK)
    assert outcome.tool_texts() == ["still here"]
    told = outcome.stderr
    for what in (
        "no control socket: ", "the session is no longer recorded: ", "extension echo: cannot write ",
        "no trace of this run: ",
    ):  # fmt: skip
        assert told.count(what) == 1, told
    assert "Traceback" not in told
    assert len(outcome.warnings) <= 6


def test_a_host_without_a_usable_socket_path_says_what_to_set(unusable: Zot) -> None:
    outcome = unusable.run("host", "-e", extension(unusable.folder, "echo"))
    assert (outcome.status, outcome.stdout, outcome.leftovers) == (1, b"", [])
    assert len(outcome.warnings) == 1
    assert " error   failed     no control socket: cannot " in outcome.stderr
    assert "set XDG_RUNTIME_DIR or ZOT_HOME" in outcome.stderr
