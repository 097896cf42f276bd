"""Extensions that do what real ones do live with all that the units of `zot host install` take away.

A real systemd runs both units: the manager of root as a user, which applies the lines of the system's unit, too. The
kernel says for each process of the service that they are in force. Not tried: the manager of the system itself, and
`npx` and `uvx`, which fetch what they start.
"""

from __future__ import annotations

import pwd
import re
import shutil
import socket
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from cli.service import install
from tests.support.extension_folder import extension
from tests.support.mcp_servers import server_argv, server_folder
from tests.support.patience import PATIENCE_S
from tests.support.systemd import HOST_FLAGS
from tests.support.user_manager import NAME, Manager, started
from tests.support.zot_process import Zot

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = "data project temporary child loopback"
CAP_SYS_MODULE = 16
OF_A_USER = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "HOME", "TMPDIR", "PYTHONPATH")
"""Variables that the system's manager would not pass on."""
DROP_IN = f"""\
[Service]
UnsetEnvironment={" ".join(OF_A_USER)}
AmbientCapabilities=CAP_DAC_READ_SEARCH
ExecStart=
ExecStart=:/usr/bin/env """
"""As the system's manager would, without the variables of a session; and any account may read the Python of root, which
holds for what env starts."""
SANDBOX = ["unshare", "-rpf", "--mount-proc", "true"]
pytestmark = pytest.mark.slow


@pytest.fixture
def zot() -> Iterator[Zot]:
    """In a folder that every account may enter."""
    with TemporaryDirectory(prefix="zot-hardening-") as folder:
        Path(folder).chmod(0o755)
        yield Zot(Path(folder))


@pytest.fixture
def manager(zot: Zot) -> Iterator[Manager]:
    with started(zot) as made:
        yield made


def need_node() -> None:
    """At the end: the other extensions have done their work by then."""
    if not shutil.which("node"):
        pytest.skip("no node here: the others did their work")


def become(account: str) -> list[str]:
    """The words before a command that runs as this account, which may read the Python of root."""
    ids = pwd.getpwnam(account)
    rights = [] if account == "root" else [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
    return ["setpriv", f"--reuid={ids.pw_uid}", f"--regid={ids.pw_gid}", "--clear-groups", *rights]


class Place:
    """Extensions, and calls of their tools as the account of the service."""

    def __init__(self, zot: Zot, account: str) -> None:
        self.zot, self.account = zot, account
        runners = {"py": "python", "sh": "sh"} | ({"js": "node"} if shutil.which("node") else {})
        self.extensions = [extension(zot.folder, f"errands.{end}", name, name=name) for end, name in runners.items()]
        self.names = [*runners.values()]
        server = server_folder(zot.folder, "launched", "launcher.sh", *server_argv("reference.py"))
        self.extensions.append(server)
        self.popen: dict[str, Any] = {}
        if account != "root":
            zot.home.mkdir()
            for folder in (zot.home, zot.cwd):
                shutil.chown(folder, account)
            self.popen = {"command": [*become(account), *zot.command], "cold": True, "cwd": "/"}

    def call(self, name: str, tool: str, args: str = "{}") -> str:
        done = self.zot.run("ext", "call", name, tool, args, **self.popen)
        assert done.status == 0, done.stderr
        return done.text.strip()

    def check_errands(self) -> None:
        argv = [*become(self.account), *SANDBOX]
        can_sandbox = not subprocess.run(argv, capture_output=True, check=False).returncode
        more = {"python": " jit", "node": " jit", "sh": " sandbox" * can_sandbox}
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(PATIENCE_S)
            args = f'{{"port":{listener.getsockname()[1]},"sandbox":{str(can_sandbox).lower()}}}'
            for name in self.names:
                assert self.call(name, f"{name}_errands", args) == WORK + more[name]
                with listener.accept()[0] as connection:
                    assert connection.recv(100).decode() == f"{name}\n"
        assert self.call("launched", "echo", '{"text": "hello"}') == "hello"


def taken_away(pid: int | str) -> tuple[bool, bool]:
    """Whether /usr is read-only for a process, and whether it can never load a module of the kernel."""
    proc = Path("/proc", str(pid))
    rights = int(status(pid)["CapBnd"], 16)
    return re.search(r" /usr ro\b", (proc / "mountinfo").read_text()) is not None, not rights >> CAP_SYS_MODULE & 1


def status(pid: int | str) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())


def check_in_force(host: int, taken: tuple[bool, bool]) -> None:
    """For the host and all that it has started."""
    process = psutil.Process(host)
    pids = [each.pid for each in (process, *process.children(recursive=True))]
    assert len(pids) > 4
    for pid in pids:
        assert (status(pid)["NoNewPrivs"], status(pid)["Seccomp"], taken_away(pid)) == ("1", "2", taken)


def test_extensions_do_their_work_by_the_unit_of_a_user(zot, manager):
    place = Place(zot, "root")
    flags = [word for folder in place.extensions for word in ("-e", folder)]
    assert zot.run("host", "install", "--user", *flags).status == 0
    manager.systemctl("daemon-reload")

    manager.systemctl("start", NAME)
    place.check_errands()
    assert place.call("python", "trespass") == "realtime personality"
    check_in_force(manager.host, taken_away("self"))
    manager.systemctl("stop", NAME)
    need_node()


@pytest.mark.parametrize("account", ["root", "nobody"])
def test_extensions_do_their_work_by_the_unit_of_the_system(zot, manager, account, monkeypatch):
    place = Place(zot, account)
    for name in OF_A_USER:
        zot.env.pop(name, None)
    monkeypatch.setattr(install, "OF_THE_SYSTEM", manager.units)
    monkeypatch.setenv("ZOT_HOME", str(zot.home))
    monkeypatch.setenv("SUDO_USER", account)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):  # the installer changes them
        monkeypatch.delenv(name, raising=False)
    flags = {**HOST_FLAGS, "no_ext": False, "ext": tuple(map(str, place.extensions)), "cwd": str(zot.cwd)}
    assert install.run_install(flags, is_of_user=False, replaces=False) == 0
    start = re.search(r"^ExecStart=:(.*\n)", (manager.units / f"{NAME}.service").read_text(), re.MULTILINE)
    assert start is not None
    (manager.units / f"{NAME}.service.d").mkdir()
    (manager.units / f"{NAME}.service.d" / "system.conf").write_text(DROP_IN + start[1])
    manager.systemctl("daemon-reload")
    manager.let_all_notify()

    manager.systemctl("start", NAME)
    place.check_errands()
    assert place.call("python", "trespass") == "realtime personality"
    check_in_force(manager.host, (True, True))
    assert psutil.Process(manager.host).username() == account
    manager.systemctl("stop", NAME)
    need_node()
