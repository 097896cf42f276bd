"""A session is removed unless a run writes to it; empty ones only if nobody can be about to write."""

from __future__ import annotations

import fcntl
import os
import time

import pytest

from agent.sessions.file import SessionBusyError
from agent.sessions.load import SessionError
from agent.sessions.remove import YOUNG_S, remove, remove_empty
from agent.sessions.rows import Meta, meta_line, usage_line
from agent.sessions.workspaces import workspace_of
from tests.support.session_files import ID, short_session, write_session
from wire.events import Totals

META = meta_line(Meta(id=ID, cwd="/one"))


def test_a_session_is_removed(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    remove(path, tmp_path)
    assert not path.exists()
    with pytest.raises(SessionError, match="cannot be removed: No such file"):
        remove(path, tmp_path)


def test_its_workspace_goes_with_it(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    for session in (ID, "another"):
        place = workspace_of(tmp_path, session)
        place.mkdir(parents=True)
        (place / "plan.md").write_text("plan")
    remove(path, tmp_path)
    assert [left.name for left in (tmp_path / "workspaces").iterdir()] == ["another"]


def test_the_workspace_of_an_empty_session_goes_with_it(tmp_path):
    path = write_session(tmp_path, "/one", [META])
    workspace_of(tmp_path, ID).mkdir(parents=True)
    removed, faults = remove_empty(tmp_path, None, time.time() + YOUNG_S + 1)
    assert (removed, faults) == ([path], [])
    assert not (tmp_path / "workspaces").exists()


def test_one_in_use_stays(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SessionBusyError, match="in use"):
            remove(path, tmp_path)
    assert path.exists()


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="Linux only")
def test_one_that_a_zot_has_open_without_a_lock_stays(tmp_path):
    path = write_session(tmp_path, "/one", [META])
    with path.open("ab"):
        with pytest.raises(SessionBusyError):
            remove(path, tmp_path)
        assert remove_empty(tmp_path, "/one", time.time() + YOUNG_S + 1) == ([], [])
    remove(path, tmp_path)


def test_of_a_link_only_the_link_goes_and_other_things_stay(tmp_path):
    path = short_session(tmp_path, "/one", "a", ID)
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    remove(link, tmp_path)
    assert path.exists()
    assert not os.path.lexists(link)
    os.mkfifo(tmp_path / "fifo")
    for other in (tmp_path / "fifo", tmp_path):
        with pytest.raises(SessionError, match="not a file"):
            remove(other, tmp_path)


@pytest.mark.parametrize(
    ("rows", "goes"),
    [
        ([], True),
        ([META], True),
        ([META, META, usage_line(Totals(0, 0, 0, 0, 0.0)), b"\n"], True),
        ([META, b'{"type":"message","message":{"ro'], False),
        ([META, b'{"type":"compaction","messages":[]}\n'], False),
        ([META, b'{"type":"future"}\n'], False),
        (None, False),
    ],
)
def test_only_what_has_no_message_is_empty(tmp_path, rows, goes):
    path = write_session(tmp_path, "/one", rows)
    later = time.time() + YOUNG_S + 1
    assert remove_empty(tmp_path, "/two", later) == ([], [])
    assert remove_empty(tmp_path, "/one") == ([], [])  # it is too young
    assert remove_empty(tmp_path, "/one", later) == ([path] if goes else [], [])
    assert path.exists() != goes


def test_an_empty_one_in_use_stays(tmp_path):
    path = write_session(tmp_path, "/one", [META])
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert remove_empty(tmp_path, None, time.time() + YOUNG_S + 1) == ([], [])
    assert path.exists()
