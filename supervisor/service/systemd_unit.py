"""The text of the systemd unit that keeps a host running. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

UNIT = "zot-host.service"
MARK = "# Written by zot host install; zot host uninstall removes it."
"""The first line of a file of ours."""
_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
_SPECIAL = {"\\": "\\\\", '"': '\\"', "%": "%%"}


class Service(NamedTuple):
    """A host that a service manager is to keep running."""

    argv: tuple[str, ...]
    """The program, an absolute path, and its arguments; all paths in them are absolute."""
    project: str
    """The project's folder, for people."""
    home: str
    """`$ZOT_HOME`: the socket of the host is there, or in the runtime folder of its user."""
    path: str
    """`$PATH` of the host and its extensions."""
    account: str = ""
    """The user as whom the system's manager starts it; empty for a unit of the user's own manager."""


COMMON = """\
Type=notify
{start}
ExecReload=/bin/kill -HUP $MAINPID
{environment}
WatchdogSec=30
TimeoutStartSec=120
TimeoutStopSec=30
SyslogIdentifier=zot-host
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=2
SuccessExitStatus=130
KillMode=mixed
Delegate=yes
OOMPolicy=continue
NoNewPrivileges=yes
RestrictRealtime=yes
LockPersonality=yes
"""
OF_THE_SYSTEM = """\
User={account}
ProtectSystem=full
ProtectKernelModules=yes
"""
"""Settings that only the system's manager can give: they need a mount namespace, or a capability to drop.

Extensions need what others take away: `ProtectKernelTunables` and `ProtectKernelLogs` (with them a sandbox of an
extension cannot mount its own /proc), `ProtectClock` (no devices but the standard ones), `ProtectControlGroups` (the
delegated cgroup would be read-only), `MemoryDenyWriteExecute` (Node compiles at run time), `PrivateTmp`, `ProtectHome`,
`RestrictSUIDSGID` (git could not write to a repository that a group shares).
"""


def unit_text(service: Service) -> str:
    """The unit, for the system's manager or for that of a user."""
    is_of_user = not service.account
    start = " ".join([quoted(":" + service.argv[0]), *map(quoted, service.argv[1:])])
    environment = [f"Environment={quoted(f'{name}={value}')}" for name, value in _variables(service)]
    ordering = "" if is_of_user else "Wants=network-online.target\nAfter=network-online.target\n"
    own = "" if is_of_user else OF_THE_SYSTEM.format(account=quoted(service.account))
    return (
        f"{MARK}\n"
        f"[Unit]\nDescription={_specifier_free('zot host in ' + service.project)}\n{ordering}"
        "StartLimitIntervalSec=300\nStartLimitBurst=10\n\n"
        f"[Service]\n{COMMON.format(start=f'ExecStart={start}', environment=chr(10).join(environment))}{own}\n"
        f"[Install]\nWantedBy={'default' if is_of_user else 'multi-user'}.target\n"
    )


def _variables(service: Service) -> tuple[tuple[str, str], ...]:
    return ("ZOT_HOME", service.home), ("PATH", service.path)


def quoted(text: str) -> str:
    """The text as one word of a unit. A byte that is no UTF-8, given as a lone surrogate, stays that byte. `$` stays as
    it is: `ExecStart` begins with a colon, which turns variables off."""
    if _PLAIN.fullmatch(text):
        return text
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return _SPECIAL.get(character, character)


def _specifier_free(text: str) -> str:
    """A line for people: on one line, and without specifiers."""
    line = "".join(character if character.isprintable() else "?" for character in text)
    return line.removesuffix("\\").replace("%", "%%")


def is_ours(text: str) -> bool:
    """Whether the file was written by `zot host install`."""
    return text.startswith(MARK)
