"""A run and a host trust each other only if they are of the same user; a host serves a bounded number of runs."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from supervisor.control import unix_socket
from supervisor.sharing.attach_server import AttachServer
from supervisor.sharing.find_host import NoHostError, attach_to

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.host import Host


class Serving:
    """An attach server, and a run that attaches to it from a thread, as another process would."""

    def __init__(self, host: Host, home: Path) -> None:
        self._host = host
        self._home = home
        self.uid = os.geteuid()
        self.server = AttachServer(
            host.loop, host.supervisor, version="1.0", cwd=str(home), folder=home / "run", shared=(),
            peer_uid=lambda _sock: self.uid,
        )  # fmt: skip
        assert self.server.start() is None

    def attach(self, session_id: str = "s") -> str:
        """The end of an attempt: the host's version, or the complaint."""
        ends: list[str] = []

        def run() -> None:
            try:
                sock, attached = attach_to(
                    str(os.getpid()), self._home, cwd=str(self._home), session_id=session_id, version="2.0"
                )
            except NoHostError as error:
                ends.append(str(error))
            else:
                sock.close()
                ends.append(attached.version)

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            self._host.run_for(0.01)
        thread.join()
        return ends[0]


@pytest.fixture
def serving(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    made = Serving(host, tmp_path)
    yield made
    made.server.close()


def test_a_run_of_the_same_user_attaches(serving: Serving) -> None:
    assert serving.attach() == "1.0"
    assert serving.server.path is not None
    assert oct(serving.server.path.stat().st_mode & 0o777) == "0o600"


def test_a_run_of_another_user_is_refused_by_the_host(serving: Serving) -> None:
    serving.uid += 1
    assert serving.attach() == (
        f"host {os.getpid()} refuses this run: this host belongs to user {os.geteuid()}, and serves no other user"
    )
    assert serving.server.runs == {}


def test_a_run_does_not_trust_the_host_of_another_user(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unix_socket, "peer_uid", lambda _sock: os.geteuid() + 1)
    said = (
        f"host {os.getpid()} belongs to another user (uid {os.geteuid() + 1}); a run trusts only hosts of its own user"
    )
    assert serving.attach() == said


def test_a_host_serves_a_bounded_number_of_runs(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving.server._listener, "_limit", 0)
    assert "refuses this run: this host has 0 clients, the maximum" in serving.attach()


def test_the_session_of_a_run_that_has_gone_may_be_attached_again(serving: Serving) -> None:
    assert [serving.attach("one") for _ in range(3)] == ["1.0"] * 3
