"""A checkpoint saves time, and changes nothing of what a journal says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.journal import checkpoint, writer
from agent.batch.journal.checkpoint import Prefix, checkpoint_file, read_checkpoint, write_checkpoint
from agent.batch.journal.errors import DamagedError, JournalError
from agent.batch.journal.reader import read_journal
from agent.batch.journal.writer import JOURNAL
from supervisor.loop.steps import run_in_steps
from tests.support.batch_journal import open_journal, outcome, write_lines
from wire.batch.journal_lines import (
    BatchCreated,
    BatchPlanned,
    Changed,
    Closed,
    Finished,
    Opened,
    Paused,
    PlannedRequest,
    Reopened,
    Scored,
    Started,
    encode_line,
)
from wire.batch.outcome import Lost, Score, TaskStatus

if TYPE_CHECKING:
    from pathlib import Path


COUNT = 30


def lines(count=COUNT):
    """Lines of all kinds, of three tasks."""
    made = []
    for seq in range(1, count + 1):
        task, attempt = "abc"[seq % 3], 1 + seq // 6
        one = outcome(task, attempt, TaskStatus.ERROR if seq % 5 else TaskStatus.OK, cost_usd=None, lost=Lost(1, 0.5))
        kinds = [
            Opened(seq=seq, t=1.0, version="1", pid=7, tasks=3, jobs=1),
            Started(seq=seq, t=2.0, task=task, attempt=attempt, digest="d", node=f"n{seq % 2}"),
            Finished(seq=seq, t=3.0, task=task, attempt=attempt, final=seq % 4 == 0, outcome=one),
            Paused(seq=seq, t=4.0, task=task, attempt=attempt, reason="429"),
            Reopened(seq=seq, t=5.0, task=task),
            Closed(seq=seq, t=6.0, reason="done"),
            Scored(seq=seq, t=7.0, task=task, attempt=attempt, score=Score(value=0.5)),
            Changed(seq=seq, t=8.0, what="requeue" if seq % 2 else "pause", task=task, before=1.0),
            BatchPlanned(seq=seq, t=9.0, nonce=task, requests=(PlannedRequest(task, attempt), PlannedRequest("d", 1))),
            BatchCreated(seq=seq, t=9.5, nonce=task, id="msgbatch_1", expires=99.0),
        ]
        made.append(kinds[seq % len(kinds)])
    return made


def keep(path: Path, text: bytes) -> None:
    """Writes a journal with this text, and its checkpoint."""
    path.write_bytes(text)
    contents = read_journal(path)
    assert contents.torn is None
    prefix = Prefix()
    with open(path, "rb") as file:
        while prefix.grow(file.fileno(), contents.end):
            pass
    write_checkpoint(path, contents.state, prefix)


def said(path: Path):
    """All that a reader learns, an error included."""
    try:
        contents = read_journal(path)
    except JournalError as error:
        return type(error), str(error)
    return contents.state, contents.lines, contents.end, contents.torn


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    return tmp_path_factory.mktemp("checkpoint") / JOURNAL


@given(
    kept=st.integers(1, COUNT),
    end=st.integers(1, COUNT),
    change=st.none() | st.tuples(st.integers(0, 5000), st.integers(0, 255)),
    cut=st.integers(0, 60),
)
def test_a_journal_says_the_same_with_a_checkpoint_and_without(journal, kept, end, change, cut):
    written = [encode_line(line) for line in lines()]
    keep(journal, b"".join(written[:kept]))
    text = bytearray(b"".join(written[:end]))
    if change is not None:
        text[change[0] % len(text)] = change[1]
    journal.write_bytes(text[: len(text) - cut % len(text)])
    found = said(journal)
    checkpoint_file(journal).unlink()
    assert found == said(journal)


def test_the_lines_of_a_checkpoint_are_not_decoded_again(tmp_path, monkeypatch):
    path = tmp_path / JOURNAL
    text = b"".join(encode_line(line) for line in lines())
    keep(path, text)
    path.write_bytes(text + encode_line(Started(seq=COUNT + 1, t=7.0, task="new", attempt=1)))
    taken = []
    real = checkpoint.BatchState.take
    monkeypatch.setattr(checkpoint.BatchState, "take", lambda *given: (taken.append(given[1]), real(*given)))
    assert read_journal(path).state.history("new").running == 1
    assert [line.task for line in taken] == ["new"]


def test_damage_in_the_lines_of_a_checkpoint_is_told(tmp_path):
    path = write_lines(tmp_path, lines())
    keep(path, path.read_bytes())
    text = bytearray(path.read_bytes())
    text[text.index(b'"digest":"d"') + 10] ^= 1
    path.write_bytes(text)
    with pytest.raises(DamagedError, match="line 1 is damaged: its checksum is wrong"):
        read_journal(path)


@pytest.mark.parametrize("end", [0, 1, 100, -1])
def test_a_checkpoint_that_was_cut_or_changed_does_not_count(tmp_path, end):
    path = write_lines(tmp_path, lines())
    before = said(path)
    keep(path, path.read_bytes())
    text = checkpoint_file(path).read_bytes()
    for broken in (text[:end], text[:end] + b"\xff" + text[end:][1:], b"[]\n" + text):
        checkpoint_file(path).write_bytes(broken)
        assert said(path) == before


@given(at=st.integers(0, 5000), byte=st.integers(0, 255))
def test_a_checkpoint_with_a_changed_byte_changes_nothing(journal, at, byte):
    text = b"".join(encode_line(line) for line in lines())
    keep(journal, text)
    found = bytearray(checkpoint_file(journal).read_bytes())
    found[at % len(found)] = byte
    checkpoint_file(journal).write_bytes(found)
    journal.write_bytes(text + encode_line(Started(seq=COUNT + 1, t=7.0, task="new", attempt=1)))
    before = said(journal)
    checkpoint_file(journal).unlink()
    assert before == said(journal)


def test_a_checkpoint_of_other_fields_does_not_count(tmp_path, monkeypatch):
    path = write_lines(tmp_path, lines())
    keep(path, path.read_bytes())
    with open(path, "rb") as file:
        assert read_checkpoint(path, file.fileno()) is not None
        monkeypatch.setattr(checkpoint, "SHAPE", (*checkpoint.SHAPE, "later"))
        assert read_checkpoint(path, file.fileno()) is None


def test_a_link_is_no_checkpoint(tmp_path):
    path = write_lines(tmp_path, lines())
    keep(path, path.read_bytes())
    elsewhere = tmp_path / "elsewhere"
    os.rename(checkpoint_file(path), elsewhere)
    checkpoint_file(path).symlink_to(elsewhere)
    with open(path, "rb") as file:
        assert read_checkpoint(path, file.fileno()) is None


def test_a_journal_keeps_checkpoints_while_it_grows_and_at_its_end(tmp_path, loop, monkeypatch):
    monkeypatch.setattr(writer, "CHECKPOINT_BYTES", 2000)
    monkeypatch.setattr(writer, "LEAST_BYTES", 1)
    journal = open_journal(tmp_path, loop)
    journal.opened(version="1", tasks=2, jobs=1)
    for task in "abcdefgh":
        journal.started(task, 1)
        journal.finished(outcome(task), final=True)
        journal.sync()
    loop.run_until(checkpoint_file(journal.path).exists)  # in the midst of the batch
    journal.started("i", 1)
    journal.sync()
    run_in_steps(loop, journal.checkpoint())
    with open(journal.path, "rb") as file:
        kept = read_checkpoint(journal.path, file.fileno())
    assert kept is not None
    assert (kept.size, kept.lines) == (journal.path.stat().st_size, 18)
    assert kept.state == journal.state
    journal.close()
    again = open_journal(tmp_path, loop)
    assert again.state == kept.state
    again.started("j", 1)
    again.close()
    assert read_journal(journal.path).lines == 19


def test_a_journal_goes_on_where_no_checkpoint_can_be_written(tmp_path, loop, monkeypatch):
    monkeypatch.setattr(writer, "LEAST_BYTES", 1)
    checkpoint_file(tmp_path / JOURNAL).with_name(".journal.checkpoint.new").mkdir()
    journal = open_journal(tmp_path, loop)
    journal.started("a", 1)
    journal.sync()
    run_in_steps(loop, journal.checkpoint())
    journal.started("b", 1)
    assert journal.sync()
    journal.close()
