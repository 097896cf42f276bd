"""The lines that a recorder writes, and the files that it refuses to write."""

from __future__ import annotations

import json
import os
import stat

import pytest

from agent.cassette import CassetteError, CassettePlayer, CassetteRecorder
from tests.support.cassette_exchanges import CWD, params, record, reply


def test_the_file_is_private_and_one_line_per_exchange(tape) -> None:
    with CassetteRecorder(tape, cwd=CWD) as recorder:
        assert len(tape.read_bytes().splitlines()) == 1, "the header is written at once"
        recorder.add(params("a"), reply("x\ny"))
        assert len(tape.read_bytes().splitlines()) == 2, "each exchange as soon as it is complete"
    assert stat.S_IMODE(tape.stat().st_mode) == 0o600
    header, exchange = map(json.loads, tape.read_text().splitlines())
    assert header == {"type": "cassette", "version": 1}
    assert set(exchange) == {"type", "request", "reply"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(tmp_path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CassetteError, match="Permission denied"):
        CassetteRecorder(tmp_path / "x.jsonl", cwd=CWD)


def test_recording_replaces_a_cassette_and_nothing_else(tape) -> None:
    record(tape, (params("old"), reply("old")))
    record(tape, (params("new"), reply("new")))
    assert CassettePlayer.load(tape, cwd=CWD).next(params("new")) == reply("new")
    tape.write_text("my notes\n")
    with pytest.raises(CassetteError, match="not a cassette; remove it first"):
        CassetteRecorder(tape, cwd=CWD)
    assert tape.read_text() == "my notes\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_an_error(tape) -> None:
    recorder = CassetteRecorder(tape, cwd=CWD)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, recorder._fd)
    os.close(full)
    with pytest.raises(CassetteError, match="No space left on device"):
        recorder.add(params("a"), reply("x"))
    recorder.close()
