"""`zot host install` and `uninstall`: the file that makes a service manager start a host."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cli.os_errors import UnableError
from cli.service.host_flags import judge, written_flags
from cli.terminal import ask, is_attended, say
from supervisor.home.safe_files import make_folder, read_file, replace_file
from supervisor.home.zot_home import zot_home
from supervisor.service import launchd_plist, systemd_unit
from supervisor.service.systemd_unit import UNIT, Service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BOOTED = Path("/run/systemd/system")
"""A folder that is there if systemd has started this machine."""
OF_THE_SYSTEM = Path("/etc/systemd/system")
MODE = 0o644
AS_ROOT = "call it with sudo, or use --user, which needs no root"
LIMIT = 1024 * 1024
"""Maximum size of a unit in bytes."""


class Target(NamedTuple):
    """The file of a service, and how its manager is told of it."""

    path: Path
    text: Callable[[Service], str]
    is_ours: Callable[[str], bool]
    start: str
    """The command that makes the manager read the file and start the host."""
    stop: str
    """The command that stops the host, and makes the manager forget a file that is gone."""


def target(*, is_of_user: bool) -> Target:
    """Where this machine wants the file. Raises `UnableError` if there is no manager that we know, or the manager of
    root is not meant."""
    if is_of_user:
        _refuse_sudo_for_user()
    if sys.platform == "darwin":
        if not is_of_user:
            raise UnableError("on macOS only with --user: a host runs in your session (launchd, not tried)")
        path = Path.home() / "Library" / "LaunchAgents" / launchd_plist.FILE
        domain = f"gui/{os.getuid()}"
        start = f"launchctl bootstrap {domain} {path}"
        stop = f"launchctl bootout {domain}/{launchd_plist.LABEL}"
        return Target(path, launchd_plist.plist_text, launchd_plist.is_ours, start, stop)
    if shutil.which("systemctl") is None:
        raise UnableError("there is no systemd here; use zot host -d, or a container: docs/service.md")
    flag = " --user" if is_of_user else ""
    folder = _user_units() if is_of_user else OF_THE_SYSTEM
    return Target(
        folder / UNIT, systemd_unit.unit_text, systemd_unit.is_ours,
        f"systemctl{flag} daemon-reload && systemctl{flag} enable --now zot-host",
        f"systemctl{flag} stop zot-host; systemctl{flag} daemon-reload",
    )  # fmt: skip


def _refuse_sudo_for_user() -> None:
    """Raises `UnableError` under sudo: the manager would be that of root."""
    if os.geteuid() == 0 and (name := os.environ.get("SUDO_USER", "root")) != "root":
        raise UnableError(f"--user under sudo is about the services of root; call it as {name}, without sudo")


def _user_units() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME", "")
    config = Path(given) if os.path.isabs(given) else Path.home() / ".config"
    return config / "systemd" / "user"


def run_install(flags: Mapping[str, Any], *, is_of_user: bool, replaces: bool) -> int:
    """Writes the file; returns the exit status. Raises `CommandLineError`, `UnableError` and `OSError`."""
    place = target(is_of_user=is_of_user)
    account = "" if is_of_user else _act_for_account()
    judge(flags, may_ask=account in ("", pwd.getpwuid(os.geteuid()).pw_name))
    argv = (sys.executable, "-P", str(_entry()), "host", *written_flags(flags))
    service = Service(argv, os.path.abspath(flags["cwd"] or os.curdir), str(zot_home()), _search_path(), account)
    try:
        new = place.text(service)
    except ValueError as error:
        raise UnableError(f"{place.path} cannot be written: {error}") from None
    old = _read(place)
    if old == new:
        say(f"{place.path} is there already, with these flags")
    else:
        if old is not None and not replaces:
            _show_difference(place.path, old, new)
            if not (is_attended() and ask("Replace it?")):
                raise UnableError(f"{place.path} is there and differs; --yes replaces it")
        _write(place.path, new)
        say(f"{'wrote' if old is None else 'replaced'} {place.path}")
    if account == "root":
        say("its extensions run as root: with sudo from another account they run as that one")
    if flags["otel"] and (names := sorted(name for name in os.environ if name.startswith("OTEL_"))):
        say(f"{', '.join(names)}: not written, and a service does not have them by itself; docs/service.md has how")
    if sys.platform != "darwin" and not BOOTED.is_dir():
        say("systemd does not run here, so nothing starts it; zot host -d starts a host now")
    print(place.start)  # noqa: T201
    return 0


def run_uninstall(*, is_of_user: bool) -> int:
    """Removes the file and the link by which it was enabled; returns the exit status. Raises `UnableError` and
    `OSError`."""
    place = target(is_of_user=is_of_user)
    if _read(place) is None:
        other = "without --user it is about the system's" if is_of_user else "with --user it is about your own"
        raise UnableError(f"there is no {place.path}: nothing to remove; {other} manager")
    try:
        for path in (place.path, *place.path.parent.glob(f"*.wants/{place.path.name}")):
            if path == place.path or path.is_symlink():
                path.unlink()
                say(f"removed {path}")
    except PermissionError as error:
        raise UnableError(f"{error.filename}: {error.strerror}; {AS_ROOT}") from None
    say("if the host still runs:")
    print(place.stop)  # noqa: T201
    return 0


def _act_for_account() -> str:
    """The account as which the system's manager starts the host: under sudo the one that called it, whose home then
    counts here, too; else the present one."""
    name = os.environ.get("SUDO_USER", "") if os.geteuid() == 0 else ""
    try:
        account = pwd.getpwnam(name) if name else pwd.getpwuid(os.geteuid())
    except KeyError:
        raise UnableError(f"there is no account {name or os.geteuid()}, as which the host could run") from None
    if account.pw_uid != os.geteuid():
        os.environ["HOME"] = account.pw_dir
        for variable in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
            os.environ.pop(variable, None)
    return account.pw_name


def _entry() -> Path:
    """The program of `zot`, which runs in any folder and with any `sys.path`."""
    programs = Path(__file__).parents[2]
    package = programs.parent if programs.name == "_programs" else programs / "pyzot"
    return package / "__main__.py"


def _search_path() -> str:
    """The absolute folders of `$PATH`: a service manager's own has no npx and no uvx of yours."""
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    return os.pathsep.join(dict.fromkeys(folders)) or os.defpath


def _read(place: Target) -> str | None:
    """The text of our file; None if there is no file. Raises `UnableError` for a file of another's, and `OSError`."""
    path = place.path
    if path.is_symlink():
        raise UnableError(f"{path} is a link to {os.readlink(path)}, so it is not of zot host install; remove it first")
    try:
        text = read_file(path, LIMIT).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    if not place.is_ours(text):
        raise UnableError(f"{path} was not written by zot host install; move it away first")
    return text


def _show_difference(path: Path, old: str, new: str) -> None:
    lines = unified_diff(old.splitlines(), new.splitlines(), str(path), "with these flags", n=1, lineterm="")
    for line in lines:
        say(line)


def _write(path: Path, text: str) -> None:
    try:
        make_folder(path.parent)
        replace_file(path, text.encode("utf-8", "surrogateescape"), MODE)
    except PermissionError as error:
        raise UnableError(f"{path}: {error.strerror}; {AS_ROOT}") from None
