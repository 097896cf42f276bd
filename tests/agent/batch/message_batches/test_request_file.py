"""The file of a message batch: what is added can be read again, also by another process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent.batch.journal.errors import FolderError
from agent.batch.message_batches.request_file import AROUND, RequestFile, remove_others
from agent.batch.message_batches.words import sent_words

if TYPE_CHECKING:
    from pathlib import Path

NONCE = "0123456789abcdef"
PARAMS = b'{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":"\xc3\xa9"}]}'


@pytest.fixture
def rundir(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path


def filled(rundir: Path) -> RequestFile:
    file = RequestFile(rundir / "batches" / f"{NONCE}.jsonl", NONCE)
    for task in ("a", "b"):
        assert file.has_room(task, PARAMS)
        file.add(task, PARAMS, "claude-sonnet-4-5", 1000)
    file.make_safe()
    return file


def test_requests_come_back_by_their_numbers(rundir: Path) -> None:
    for file in (filled(rundir), RequestFile.read(rundir / "batches" / f"{NONCE}.jsonl", NONCE)):
        assert (file.count, file.size) == (2, file.path.stat().st_size)
        assert file.sent(1).messages == [{"role": "user", "content": "é"}]
        assert file.sent(2).messages == []
        reserved = file.reserved(0)
        assert (reserved.max_tokens, reserved.output_usd) == (1000, 1000 * 15 / 1e6 / 2)
        assert 0 < reserved.input_usd < 0.001
        file.close()


def test_each_line_is_a_request_of_the_api(rundir: Path) -> None:
    file = filled(rundir)
    lines = file.path.read_bytes().splitlines()
    assert [json.loads(line)["custom_id"] for line in lines] == [f"zot-{NONCE}-0", f"zot-{NONCE}-1"]
    assert [json.loads(line)["params"] for line in lines] == [json.loads(PARAMS)] * 2
    assert all(len(line) <= len(PARAMS) + AROUND for line in lines)
    file.close(remove=True)
    assert not file.path.exists()


def test_only_files_of_no_message_batch_are_removed(rundir: Path) -> None:
    filled(rundir).close()
    (rundir / "batches" / "ffff.jsonl").write_text("")
    (rundir / "batches" / "mine.txt").write_text("")
    remove_others(rundir / "batches", {NONCE})
    assert sorted(path.name for path in (rundir / "batches").iterdir()) == [f"{NONCE}.jsonl", "mine.txt"]
    remove_others(rundir / "none", ())


def test_a_link_in_the_place_of_the_file_is_refused(rundir: Path) -> None:
    (rundir / "batches").mkdir()
    (rundir / "batches" / f"{NONCE}.jsonl").symlink_to(rundir / "elsewhere")
    with pytest.raises(FolderError, match="is a link"):
        RequestFile(rundir / "batches" / f"{NONCE}.jsonl", NONCE)
    assert not (rundir / "elsewhere").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((412, 1000, "msgbatch_1", "in_progress", 0.0), "412 of 1,000 through message batch msgbatch_1 (in_progress)"),
        ((1, 1, "", "doubtful", 0.0), "1 of 1 through a message batch (whether it was created is being found out)"),
        ((1, 2, "m", "ended", 1e9), "1 of 2 through message batch m (ended, its results are being fetched)"),
        ((1, 2, "m", "canceling", 1e300), "1 of 2 through message batch m (canceling, ends by an unknown time)"),
    ],
)
def test_words(given: tuple[int, int, str, str, float], words: str) -> None:
    assert sent_words(*given) == words
