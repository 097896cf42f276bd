"""Where the control socket is, who may reach it, and how sockets of dead hosts are removed."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from supervisor.control import unix_socket
from supervisor.control.client import ControlClient, ControlError, Endpoint, GoneError, endpoints, hosts
from supervisor.control.unix_socket import LONGEST_PATH, connect, has_listener, listen, peer_uid, sweep
from supervisor.home.runtime_dir import prepare, runtime_dir, runtime_dirs
from tests.support.control_peer import Serving
from wire import control

UNUSED_PID = 2**22 + 1
"""Linux gives out no such pid."""


@pytest.fixture
def dead_socket(tmp_path):
    """Makes sockets without a listener, as a killed host leaves them."""

    def make(name: str) -> Path:
        path = tmp_path / "run" / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(path))
        return path

    return make


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- the folder ------------------------------------------------------------------------------------------------


def test_the_place_follows_the_environment(tmp_path):
    home, given = tmp_path / "home", tmp_path / "xdg"
    given.mkdir()
    assert runtime_dir(home, {"XDG_RUNTIME_DIR": str(given)}) == given / "zot"
    assert runtime_dirs(home, {"XDG_RUNTIME_DIR": str(given)}) == [given / "zot", home / "run"]
    for useless in ({}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": "xdg"}, {"XDG_RUNTIME_DIR": str(tmp_path / "no")}):
        assert runtime_dirs(home, useless) == [home / "run"]


def test_another_users_runtime_folder_is_not_used(tmp_path, monkeypatch):
    given = tmp_path / "xdg"
    given.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert runtime_dir(tmp_path, {"XDG_RUNTIME_DIR": str(given)}) == tmp_path / "run"


def test_the_folder_and_the_socket_are_for_their_owner_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        listener, path = listen(tmp_path / "home" / "run", os.getpid())
    finally:
        os.umask(before)
    listener.close()
    assert [mode(folder) for folder in (path.parent.parent, path.parent, path)] == [0o700, 0o700, 0o600]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_folder_that_others_may_enter_is_closed(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(0o777)
    prepare(folder)
    assert mode(folder) == 0o700


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda folder: folder.write_text(""), "cannot make {}: File exists; set XDG_RUNTIME_DIR or ZOT_HOME"),
        (lambda folder: folder.symlink_to("/tmp"), "{} is no folder; remove it"),
        (lambda folder: folder.parent.rmdir() or folder.parent.write_text(""), "cannot make {}: Not a directory"),
    ],
)
def test_a_folder_that_cannot_be_used_is_reported(tmp_path, make, complaint):
    folder = tmp_path / "deeper" / "run"
    folder.parent.mkdir()
    make(folder)
    serving = Serving(folder)
    said = serving.server.start()
    assert said is not None
    assert said.startswith("no control socket: " + complaint.format(folder))
    assert "\n" not in said
    serving.server.close()
    serving.loop.close()


def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(OSError, match="belongs to another user"):
        prepare(folder)


def test_a_home_that_cannot_be_written_is_reported(tmp_path):
    if os.geteuid() == 0:
        folder = Path("/proc/nowhere/run")  # root may write everywhere else
    else:
        tmp_path.chmod(0o500)
        folder = tmp_path / "run"
    with pytest.raises(OSError, match="set XDG_RUNTIME_DIR or ZOT_HOME"):
        listen(folder, 1)


# --- long paths ------------------------------------------------------------------------------------------------


def test_a_path_of_any_length_can_be_used(tmp_path):
    folder = tmp_path / ("x" * 120) / "run"
    listener, path = listen(folder, os.getpid())
    assert len(str(path)) > LONGEST_PATH
    assert has_listener(path)
    connect(path, 1.0).close()
    listener.close()
    assert not has_listener(path)


def test_a_path_that_is_too_long_for_the_system_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(unix_socket, "_OWN_DESCRIPTORS", "/nowhere")
    with pytest.raises(OSError, match="set XDG_RUNTIME_DIR to a folder with a shorter one"):
        listen(tmp_path / ("x" * 120), 1)


# --- who is there ----------------------------------------------------------------------------------------------


def test_the_kernel_says_who_connects(tmp_path):
    listener, path = listen(tmp_path, os.getpid())
    client = connect(path, 1.0)
    server, _ = listener.accept()
    assert peer_uid(server) == os.geteuid()
    for end in (listener, client, server):
        end.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_real_other_user_is_refused_even_where_the_folder_lets_them_in(tmp_path):
    program = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX);"
        "s.connect(sys.argv[1]); print(s.makefile().read())"
    )
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, Serving(Path(folder) / "run") as serving:
        path = serving.server.path
        for opened in (path, path.parent, path.parent.parent):
            opened.chmod(0o777)
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program, str(path)], stdout=subprocess.PIPE, cwd="/"
        ) as process:
            serving.until(lambda: process.poll() is not None, poll_s=0.01)
            said = process.stdout.read().decode()
    assert '"type":"error"' in said, said
    assert "serves no other user" in said


# --- what dead hosts leave -------------------------------------------------------------------------------------


def test_dead_sockets_are_swept_when_a_host_starts(tmp_path, dead_socket):
    dead = dead_socket(f"{UNUSED_PID}.sock")
    unfinished = dead_socket(f".{UNUSED_PID}.new")
    starting = dead_socket(f".{os.getppid()}.new")
    other = tmp_path / "run" / "notes.txt"
    other.write_text("mine")
    listener, path = listen(tmp_path / "run", os.getpid())
    assert not dead.exists()
    assert not unfinished.exists()
    assert {file.name for file in path.parent.iterdir()} == {path.name, starting.name, other.name}
    listener.close()


def test_a_live_host_of_another_container_is_not_swept(tmp_path):
    """Its pid means nothing here, but the socket has a listener."""
    listener, path = listen(tmp_path, UNUSED_PID)
    sweep(tmp_path)
    assert path.exists()
    with pytest.raises(OSError, match="another host listens on"):
        listen(tmp_path, UNUSED_PID)
    assert has_listener(path)
    listener.close()


def test_a_dead_socket_with_a_reused_pid_is_replaced_or_removed(tmp_path, dead_socket):
    ours = dead_socket(f"{os.getpid()}.sock")
    parents = dead_socket(f"{os.getppid()}.sock")
    listener, path = listen(tmp_path / "run", os.getpid())
    assert path == ours
    assert parents.exists()
    assert endpoints([tmp_path / "run"]) == [
        Endpoint(pid, parents.with_name(f"{pid}.sock")) for pid in sorted((os.getpid(), os.getppid()))
    ]
    found = hosts([tmp_path / "run"])
    assert [endpoint.pid for endpoint, _ in found] == [os.getpid()]
    assert not parents.exists()
    found[0][1].close()
    listener.close()


def test_a_host_removes_its_own_socket_and_no_other(tmp_path):
    with Serving(tmp_path / "run") as serving:
        path = serving.server.path
    assert not path.exists()
    with Serving(tmp_path / "run") as serving:
        path.unlink()
        path.write_text("another one's")
    assert path.read_text() == "another one's"


# --- the client ------------------------------------------------------------------------------------------------


def test_a_client_says_that_the_host_is_not_there(tmp_path, dead_socket):
    with pytest.raises(GoneError, match=f"host {UNUSED_PID} no longer runs"):
        ControlClient(Endpoint(UNUSED_PID, tmp_path / "none.sock"))
    path = dead_socket(f"{UNUSED_PID}.sock")
    with pytest.raises(GoneError):
        ControlClient(Endpoint(UNUSED_PID, path))
    assert not path.exists()


def test_a_client_says_that_the_host_does_not_answer(tmp_path):
    listener, path = listen(tmp_path, os.getpid())
    with ControlClient(Endpoint(7, path), 0.05) as client, pytest.raises(ControlError, match="host 7 does not answer"):
        client.ask(control.Info("1"), control.HostInfoReply)
    listener.close()


def test_a_client_says_that_the_host_takes_no_more_clients(tmp_path):
    listener, path = listen(tmp_path, os.getpid())
    waiting = [connect(path, 1.0) for _ in range(unix_socket.BACKLOG + 1)]
    with pytest.raises(ControlError, match=r"host 7 cannot be reached: it has accepted no new client for 0.05 s"):
        ControlClient(Endpoint(7, path), 0.05)
    for client in waiting:
        client.close()
    listener.close()


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (b'{"type":"ok","id":"1"}\n', "host 7 answered with ok"),
        (b'{"type":"error","id":"1","message":"not today"}\n', "host 7: not today"),
        (b'{"type":"error","message":"not you"}\n', "host 7: not you"),
        (b'{"type":"new_thing"}\n', "host 7 speaks another version of the protocol"),
        (b"junk\n", "host 7 speaks another version of the protocol"),
        (b"", "host 7 has closed the connection"),
    ],
)
def test_an_answer_that_is_no_reply_is_an_error(tmp_path, said, complaint):
    listener, path = listen(tmp_path, os.getpid())
    with ControlClient(Endpoint(7, path)) as client:
        server, _ = listener.accept()
        server.sendall(said)
        server.shutdown(socket.SHUT_WR)
        with pytest.raises(ControlError, match=complaint):
            client.ask(control.Info("1"), control.HostInfoReply)
        server.close()
    listener.close()


def test_what_comes_between_question_and_answer_is_kept(tmp_path):
    listener, path = listen(tmp_path, os.getpid())
    with ControlClient(Endpoint(7, path)) as client:
        server, _ = listener.accept()
        notice = b'{"type":"extension","extension":"a","event":"failed","message":"%d"}\n'
        server.sendall(notice % 1 + b'{"type":"ok","id":"1"}\n' + notice % 2)
        server.close()
        client.ask(control.Watch("1", notices=True), control.Ok)
        assert [notice.message for notice in client.stream()] == ["1", "2"]
    listener.close()
