"""The text of the launchd property list that keeps a host running on macOS. Pure, and not tried on macOS."""

from __future__ import annotations

import plistlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from supervisor.service.systemd_unit import Service

LABEL = "pyzot.host"
FILE = f"{LABEL}.plist"
MARK = "<!-- Written by zot host install (not tried on macOS); zot host uninstall removes it. -->"


def plist_text(service: Service) -> str:
    """The property list, for the user's own launchd. Raises `ValueError` if a text of it cannot be in XML."""
    settings = {
        "Label": LABEL,
        "ProgramArguments": list(service.argv),
        "EnvironmentVariables": {"ZOT_HOME": service.home, "PATH": service.path},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": 30,
        "StandardErrorPath": f"{service.home}/logs/host-launchd.log",
    }
    try:
        head, _, rest = plistlib.dumps(settings, sort_keys=False).decode().partition("\n")
    except UnicodeEncodeError:
        raise ValueError("a path is not UTF-8") from None
    return f"{head}\n{MARK}\n{rest}"


def is_ours(text: str) -> bool:
    """Whether the file was written by `zot host install`."""
    return text.split("\n")[1:2] == [MARK]
