"""A torn end is told from damage, whatever a crash leaves."""

from __future__ import annotations

import os

import pytest

from agent.batch.journal.errors import DamagedError, JournalError, NewerError
from agent.batch.journal.reader import read_journal
from agent.batch.journal.rundir_files import LINE_LIMIT
from tests.support.batch_journal import outcome, write_lines
from wire.batch.journal_lines import Finished, Opened, Started, encode_line


def lines(commits=((1,), (2,), (3,), (4, 5, 6))):
    """Six lines; the last three were written together."""
    first = {seq: commit[0] for commit in commits for seq in commit}
    made = [Opened(seq=1, commit=1, t=1.0, version="1", pid=7, tasks=2, jobs=1)]
    for seq, task in ((2, "a"), (4, "b")):
        made.append(Started(seq=seq, commit=first[seq], t=2.0, task=task, attempt=1))
        finished = Finished(
            seq=seq + 1, commit=first[seq + 1], t=3.0, task=task, attempt=1, final=True, outcome=outcome(task)
        )
        made.append(finished)
    return [*made, Started(seq=6, commit=first[6], t=4.0, task="c", attempt=1)]


@pytest.fixture
def path(tmp_path):
    return write_lines(tmp_path, lines())


def test_a_whole_journal(path):
    contents = read_journal(path)
    assert (contents.lines, contents.end, contents.torn) == (6, path.stat().st_size, None)
    assert contents.state.statuses() == {"ok": 2}
    assert list(contents.state.interrupted()) == ["c"]


def test_an_empty_journal(tmp_path):
    (tmp_path / "journal.jsonl").touch()
    contents = read_journal(tmp_path / "journal.jsonl")
    assert (contents.lines, contents.end, contents.torn, contents.state.tasks) == (0, 0, None, {})


def test_a_journal_that_is_cut_at_any_byte_ends_with_a_torn_line(path):
    whole = path.read_bytes()
    ends = [0]
    for line in whole.splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        contents = read_journal(path)
        assert contents.end == max(end for end in ends if end <= size)
        assert contents.lines == ends.index(contents.end)
        torn = contents.torn and (contents.torn.offset, contents.torn.size, contents.torn.line)
        assert torn == ((contents.end, size - contents.end, contents.lines + 1) if size not in ends else None)


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"\n", b"\0\n\0\n", b"hello\nworld", b'{"state":"started"}\n'])
def test_what_is_no_line_at_the_end_is_torn(path, tail):
    size = path.stat().st_size
    with open(path, "ab") as file:
        file.write(tail)
    contents = read_journal(path)
    assert (contents.lines, contents.torn.offset, contents.torn.size, contents.torn.line) == (6, size, len(tail), 7)


@pytest.mark.parametrize("lost", [4, 5, 6])
def test_a_commit_that_came_to_the_disk_in_pieces_is_torn(path, lost):
    """After a power cut any page of the last write may be missing, also its first."""
    texts = path.read_bytes().splitlines(keepends=True)
    for instead in (b"", b"\0" * len(texts[lost - 1]), b"\0" * (len(texts[lost - 1]) - 1) + b"\n"):
        path.write_bytes(b"".join([*texts[: lost - 1], instead, *texts[lost:]]))
        contents = read_journal(path)
        assert contents.lines == lost - 1
        assert (contents.torn is None) == (lost == 6 and not instead)


@pytest.mark.parametrize("bad", [1, 2, 3])
@pytest.mark.parametrize("how", ["lost", "flipped", "cut", "zeroed", "twice"])
def test_a_bad_line_before_later_commits_is_damage(path, bad, how):
    texts = path.read_bytes().splitlines(keepends=True)
    text = texts[bad - 1]
    instead = {
        "lost": b"",
        "flipped": text[:20] + bytes([text[20] ^ 1]) + text[21:],
        "cut": text[:-8] + b"\n",
        "zeroed": b"\0" * len(text),
        "twice": text + text,
    }[how]
    path.write_bytes(b"".join([*texts[: bad - 1], instead, *texts[bad:]]))
    with pytest.raises(DamagedError) as raised:
        read_journal(path)
    number = bad + (how == "twice")
    assert raised.value.line == number
    assert f"{path}, line {number} is damaged" in str(raised.value)
    assert f"head -n {number - 1}" in str(raised.value)


def test_lines_of_two_writers_are_damage_also_at_the_end(path):
    with open(path, "ab") as file:
        file.write(encode_line(Started(seq=6, commit=6, t=9.0, task="d", attempt=1)))
    with pytest.raises(DamagedError, match="line 7 is damaged: its seq is 6, and that of the line before is 6"):
        read_journal(path)


def test_a_newer_version_is_refused_and_not_cut(path):
    with open(path, "ab") as file:
        file.write(encode_line(Started(v=2, seq=7, commit=7, t=9.0, task="d", attempt=1)))
    with pytest.raises(NewerError, match=r"line 7: .* a newer one has written it \(version 2\)"):
        read_journal(path)


def test_an_endless_line_is_not_kept_in_memory(path):
    size = path.stat().st_size
    os.truncate(path, size + 2 * LINE_LIMIT)
    contents = read_journal(path)
    assert (contents.lines, contents.torn.size) == (6, 2 * LINE_LIMIT)


def test_a_missing_journal_is_said(tmp_path):
    with pytest.raises(JournalError, match=r"journal.jsonl: cannot be read: No such file"):
        read_journal(tmp_path / "journal.jsonl")


@pytest.mark.slow
def test_a_hundred_thousand_lines(tmp_path):
    count = 100_000
    made = (
        Finished(seq=seq, t=1.0, task=str(seq), attempt=1, final=True, outcome=outcome(str(seq), text="x" * 500))
        for seq in range(1, count + 1)
    )
    path = write_lines(tmp_path, made)
    state = read_journal(path).state
    assert (len(state.tasks), state.statuses()) == (count, {"ok": count})
    assert state.known_cost_usd == count * 0.5
